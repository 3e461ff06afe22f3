/** Asking the server about sessions: with the operator's key, which is kept in this tab only. */

const KEY = "antiphon.operator";

/** The server said no, or could not be asked. `status` 0: it does not answer. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const key = () => sessionStorage.getItem(KEY) ?? "";

/** @param {string} given */
export function keepKey(given) {
  if (given) sessionStorage.setItem(KEY, given);
  else sessionStorage.removeItem(KEY);
}

/**
 * Rejects with Refusal, and with AbortError.
 * @param {string} path below /api/logs
 * @param {{method?: string, signal?: AbortSignal}} [options]
 */
export async function request(path, options = {}) {
  const headers = key() ? { authorization: `Bearer ${key()}` } : undefined;
  let answer;
  try {
    answer = await fetch(`/api/logs${path}`, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal(0, "unreachable", "The server does not answer.");
  }
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw new Refusal(answer.status, error?.code ?? "", error?.message ?? answer.statusText);
}

/** @param {string} path @param {AbortSignal} [signal] */
export const ask = async (path, signal) => (await request(path, { signal })).json();

/**
 * Every line of a stream of JSON lines, as it comes.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(line: any) => void} take
 */
export async function follow(path, signal, take) {
  const { body } = await request(path, { signal });
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (held + value).split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) if (line) take(JSON.parse(line));
  }
}

/** What a person is told. @param {unknown} error */
export function told(error) {
  if (!(error instanceof Refusal)) return `This page failed: ${error}`;
  if (error.code === "no_operators") {
    return "Nobody may look into sessions here: the server has no operator keys (ANTIPHON_OPERATOR_KEYS).";
  }
  if (error.status === 401) return "Looking into sessions takes an operator's key.";
  if (error.code === "locked") return "Somebody is talking in this session: its audio cannot be erased now.";
  if (error.code === "erased") return "The audio of this session was erased.";
  if (error.status === 404) return "There is no such session here, or not any more.";
  return error.message;
}
