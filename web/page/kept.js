/**
 * What a reload needs to go on with the conversation: kept in this tab only, and only while it lasts. Whoever
 * has the token can take the conversation over.
 */

/**
 * @typedef {object} Kept
 * @property {import("./connection.js").Place} place its last frame is the last that need not be told again
 * @property {[string, number][]} heard of the answers told again: item, and how many ms of it were heard
 * @property {boolean} muted
 * @property {boolean} speaks the microphone is in use
 * @property {import("./transcript.js").Written[]} lines
 */

const NAME = "antiphon.conversation";

/** @param {Kept | null} kept nothing to go on with: what was kept before is gone */
export function keep(kept) {
  if (kept) sessionStorage.setItem(NAME, JSON.stringify(kept));
  else sessionStorage.removeItem(NAME);
}

/**
 * A conversation that the page's address names (`antiphon replay fork` prints such addresses). The token does
 * not stay there. @returns {Kept | null}
 */
export function invited() {
  const named = new URLSearchParams(location.hash.slice(1));
  const session = named.get("session_id");
  const token = named.get("resume_token");
  if (!session || !token) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return { place: { session, token, last: -1 }, heard: [], muted: false, speaks: false, lines: [] };
}

/** @returns {Kept | null} */
export function kept() {
  const text = sessionStorage.getItem(NAME);
  return text === null ? null : JSON.parse(text);
}
