/** Whether the server can take a conversation, and what it is still loading. */

/**
 * @typedef {object} Health
 * @property {string} [status]
 * @property {string} [notice] what people should know about the model
 * @property {Record<string, {state: string, progress?: string | null}>} [stages]
 */

const AGAIN_MS = 1000;

/**
 * One look. Rejects with TypeError when nobody answers.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ready: boolean, health: Health}>}
 */
export async function look(signal) {
  const answer = await fetch("/health", { cache: "no-store", signal });
  const isJson = answer.headers.get("content-type")?.includes("json");
  // Only 503 means "wait": a health page that is closed to us must not keep us from trying.
  return { ready: answer.status !== 503, health: isJson ? await answer.json() : {} };
}

/**
 * Look until the server is ready. Rejects as `look` does, and with AbortError.
 * @param {(health: Health) => void} waiting told of every look in vain
 * @param {AbortSignal} signal
 * @returns {Promise<Health>}
 */
export async function untilReady(waiting, signal) {
  for (;;) {
    const { ready, health } = await look(signal);
    if (ready) return health;
    waiting(health);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    signal.throwIfAborted();
  }
}
