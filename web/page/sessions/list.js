/** The list of sessions: newest first, searched by ids and words, brought up to date as sessions come and go. */

import { ask } from "./api.js";
import { child, element, Gate } from "./gate.js";
import { day, lasted } from "./times.js";

/**
 * @typedef {object} Row
 * @property {string} session
 * @property {string | null} began
 * @property {number} seconds
 * @property {string[]} dialects
 * @property {number} responses
 * @property {number} interruptions
 * @property {number} faults
 * @property {boolean} live
 * @property {boolean} damaged
 * @property {boolean} erased
 * @property {string | null} ended
 * @property {string} said
 */

const AGAIN_MS = 3000;

const body = element("sessions", HTMLTableSectionElement);
const search = element("search", HTMLInputElement);
const state = element("state", HTMLElement);
const more = element("more", HTMLButtonElement);
const gate = new Gate(() => void load());
/** Where older ones begin; null: there are none. @type {string | null} */
let next = null;
/** Whether nothing but the newest is shown: only that is brought up to date. */
let isNewest = true;
let asking = new AbortController();
/** @type {number | undefined} */
let again;

/** @param {string} before empty: from the newest on */
async function load(before = "") {
  clearTimeout(again);
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const query = new URLSearchParams({ search: search.value.trim(), before: before || "0" });
  try {
    const found = await ask(`?${query}`, signal);
    gate.clear();
    if (!before) body.replaceChildren();
    isNewest = !before;
    for (const row of found.sessions) show(row);
    next = found.next;
    more.hidden = next === null;
    state.textContent = summary(found.looked);
  } catch (error) {
    gate.tell(error);
  }
  if (!signal.aborted) again = setTimeout(bringUpToDate, AGAIN_MS);
}

/** Only between two answers: what somebody has asked for is not thrown away for it. */
function bringUpToDate() {
  const isRead = body.contains(document.activeElement) || gate.isAsking;
  if (isNewest && !search.value && !document.hidden && !isRead) void load();
  else again = setTimeout(bringUpToDate, AGAIN_MS);
}

/** @param {number} looked */
function summary(looked) {
  const shown = body.rows.length;
  if (shown) return search.value ? `${shown} found` : "";
  if (next !== null) return `Nothing among the latest ${looked}; older ones were not looked at yet.`;
  return search.value ? "Nothing was found." : "There are no sessions yet.";
}

/** @param {Row} row */
function show(row) {
  const line = document.createElement("tr");
  line.dataset.session = row.session;
  const name = child(line, "th", "");
  name.setAttribute("scope", "row");
  const link = /** @type {HTMLAnchorElement} */ (child(name, "a", row.session));
  link.href = `/sessions/session.html?id=${encodeURIComponent(row.session)}`;
  child(name, "span", row.said, "said");
  child(line, "td", day(row.began));
  child(line, "td", lasted(row.seconds), "number");
  child(line, "td", String(row.responses), "number");
  child(line, "td", String(row.interruptions), "number");
  child(line, "td", String(row.faults), row.faults ? "number faulty" : "number");
  child(line, "td", row.live ? "goes on" : (row.ended ?? "open"), row.damaged ? "faulty" : row.live ? "live" : "");
  body.append(line);
}

element("search-form", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void load();
});
search.addEventListener("input", () => search.value || void load());
more.addEventListener("click", () => next !== null && void load(next));
void load();
