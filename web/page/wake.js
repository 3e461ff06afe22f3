/** Browsers keep a page silent with which nobody has done anything yet, as after a reload. */

/** An audio context that is allowed to run does so by then. */
const SOON_MS = 1000;

/**
 * Let a context be heard: now, or when somebody clicks or presses a key.
 * @param {AudioContext} context
 * @param {(silenced: boolean) => void} on told if the browser waits for that, and when it no longer does
 */
export function wake(context, on) {
  const heard = new AbortController();
  const resume = () => void context.resume();
  const timer = setTimeout(() => {
    if (context.state !== "suspended") return;
    heard.signal.addEventListener("abort", () => on(false));
    on(true);
  }, SOON_MS);
  context.addEventListener("statechange", () => {
    if (context.state === "suspended") return;
    clearTimeout(timer);
    heard.abort();
  });
  for (const kind of ["click", "keydown"]) document.addEventListener(kind, resume, { signal: heard.signal });
  resume();
}
