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

  /** It may be another answer the next time. */
  get isPassing() {
    return this.status === 0 || this.status >= 500;
  }
}

export const key = () => sessionStorage.getItem(KEY) ?? "";

/** @param {string} given */
export function keepKey(given) {
  if (given) sessionStorage.setItem(KEY, given);
  else sessionStorage.removeItem(KEY);
}

/** Which life of the session is shown: of another nothing is wanted. @type {number | null} */
let life = null;

/** @param {number} shown */
export function keepLife(shown) {
  life = shown;
}

/** @param {string} path below /api/logs */
export function address(path) {
  const url = new URL(`/api/logs${path}`, location.href);
  if (life !== null) url.searchParams.set("life", String(life));
  return url.href;
}

/**
 * What comes of an answer. Rejects with Refusal when the connection breaks meanwhile, and with AbortError.
 * @template T
 * @param {Promise<T>} coming
 * @param {AbortSignal} [signal]
 */
export async function arrived(coming, signal) {
  try {
    return await coming;
  } catch {
    signal?.throwIfAborted();
    throw new Refusal(0, "unreachable", "The server does not answer.");
  }
}

/**
 * Rejects with Refusal, and with AbortError.
 * @param {string} path below /api/logs
 * @param {{method?: string, signal?: AbortSignal}} [options]
 */
export async function request(path, options = {}) {
  const headers = key() ? { authorization: `Bearer ${key()}` } : undefined;
  const answer = await arrived(fetch(address(path), { ...options, headers, cache: "no-store" }), options.signal);
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  options.signal?.throwIfAborted();
  throw new Refusal(answer.status, error?.code ?? "", error?.message ?? answer.statusText);
}

/** @param {string} path @param {AbortSignal} [signal] */
export const ask = async (path, signal) => arrived((await request(path, { signal })).json(), signal);

/**
 * What an answer brings, as it comes. Rejects as `arrived` does.
 * @template T
 * @param {ReadableStream<T> | null} body
 * @param {AbortSignal} signal
 */
export async function* pieces(body, signal) {
  const reader = body?.getReader();
  while (reader) {
    const { done, value } = await arrived(reader.read(), signal);
    signal.throwIfAborted();
    if (done) return;
    yield value;
  }
}

/**
 * Every line of a stream of JSON lines, as it comes.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(line: any) => void} take
 */
export async function follow(path, signal, take) {
  const { body } = await request(path, { signal });
  let held = "";
  for await (const text of pieces(body?.pipeThrough(new TextDecoderStream()) ?? null, signal)) {
    const lines = (held + text).split("\n");
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
  if (error.code === "other_life") return "The id of this session has been used again since: reload the page to see what for.";
  if (error.status === 404) return "There is no such session here, or not any more.";
  return error.message;
}
