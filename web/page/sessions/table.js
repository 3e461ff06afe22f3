/** The table of events: as long as the session has events, with only those rows in the page that are seen. */

import { ask } from "./api.js";
import { child } from "./gate.js";
import { clock } from "./times.js";

/** @typedef {{seq: number, at_ms: number, type: string, cause: number | null, facts: string}} Row */

/**
 * Rows that are asked for together. They are shown until others have come in their place. `isDue`: they are to be
 * asked for (again).
 * @typedef {{rows: Row[], isDue: boolean, isAsked: boolean}} Stretch
 */

/** As in the style sheet. */
const ROW_PX = 30;
/** How many they are. */
const STRETCH = 100;
const AROUND = 8;

export class Table {
  /** Whether the events that come many times a second are among them. */
  everything = false;
  #session;
  #grid;
  #known;
  #on;
  #rows = document.createElement("div");
  #space = document.createElement("div");
  /** By the index of their first. @type {Map<number, Stretch>} */
  #stretches = new Map();
  /** @type {number | null} */
  #chosen = null;
  /** The index of an event that was chosen before it was here. @type {number | null} */
  #awaited = null;

  /**
   * @param {string} session
   * @param {HTMLElement} grid
   * @param {import("./known.js").Known} known
   * @param {{chose: (row: Row) => void, trouble: (error: unknown) => void}} on
   */
  constructor(session, grid, known, on) {
    this.#session = session;
    this.#grid = grid;
    this.#known = known;
    this.#on = on;
    this.#space.className = "space";
    this.#rows.className = "rows";
    this.#rows.setAttribute("role", "rowgroup");
    grid.append(this.#space, this.#rows);
    grid.addEventListener("scroll", () => this.show());
    grid.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.show()).observe(grid);
  }

  get count() {
    return this.everything ? this.#known.nextSeq : this.#known.notable.length;
  }

  /** More is known, or others are wanted. */
  refresh(anew = false) {
    if (anew) this.#stretches.clear();
    for (const [first, held] of this.#stretches) held.isDue ||= held.rows.length < this.#lengthOf(first);
    this.show();
  }

  /** Bring an event into sight and mark it. @param {number} seq */
  choose(seq) {
    if (!this.everything && this.#known.notable[this.#known.place(seq)] !== seq) return this.#mark(null);
    const index = this.everything ? seq : this.#known.place(seq);
    const top = index * ROW_PX;
    const { scrollTop, clientHeight } = this.#grid;
    if (top < scrollTop || top > scrollTop + clientHeight - ROW_PX) this.#grid.scrollTop = top - clientHeight / 2;
    this.#mark(seq);
  }

  show() {
    const { count } = this;
    this.#space.style.height = `${count * ROW_PX}px`;
    this.#grid.setAttribute("aria-rowcount", String(count));
    const first = Math.max(Math.floor(this.#grid.scrollTop / ROW_PX) - AROUND, 0);
    const last = Math.min(Math.ceil((this.#grid.scrollTop + this.#grid.clientHeight) / ROW_PX) + AROUND, count);
    this.#rows.style.transform = `translateY(${first * ROW_PX}px)`;
    const lines = [];
    for (let index = first; index < last; index++) lines.push(this.#line(index));
    this.#rows.replaceChildren(...lines);
  }

  /** @param {number | null} seq */
  #mark(seq) {
    this.#chosen = seq;
    this.show();
  }

  /** @param {number} index */
  #line(index) {
    const line = document.createElement("div");
    line.className = "row";
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(index + 1));
    const row = this.#row(index);
    if (!row) return line;
    line.id = `event-${row.seq}`;
    line.dataset.type = row.type;
    line.setAttribute("aria-selected", String(row.seq === this.#chosen));
    if (row.seq === this.#chosen) this.#grid.setAttribute("aria-activedescendant", line.id);
    cell(line, String(row.seq), "number");
    cell(line, clock(row.at_ms), "number");
    cell(line, row.type, "type");
    cell(line, row.facts, "facts").title = row.facts;
    cell(line, row.cause === null ? "" : `← ${row.cause}`, "number");
    line.addEventListener("click", () => this.#on.chose(row));
    return line;
  }

  /** How many rows a window has by now. @param {number} first */
  #lengthOf(first) {
    return Math.min(STRETCH, this.count - first);
  }

  /** @param {number} index @returns {Row | undefined} */
  #row(index) {
    const first = index - (index % STRETCH);
    /** @type {Stretch} */
    const held = this.#stretches.get(first) ?? { rows: [], isDue: true, isAsked: false };
    this.#stretches.set(first, held);
    if (held.isDue && !held.isAsked) void this.#ask(first, held);
    return held.rows[index - first];
  }

  /** @type {(first: number, held: Stretch) => Promise<void>} */
  async #ask(first, held) {
    held.isAsked = true;
    held.isDue = false;
    const last = first + this.#lengthOf(first) - 1;
    const [from, to] = this.everything ? [first, last] : [first, last].map((index) => this.#known.notable[index]);
    const query = new URLSearchParams({
      from: String(from),
      to: String(to),
      limit: String(STRETCH),
      all: this.everything ? "1" : "0",
    });
    try {
      held.rows = await ask(`/${this.#session}/events?${query}`);
      held.isDue &&= held.rows.length < this.#lengthOf(first);
    } catch (error) {
      held.isDue = true;
      return void this.#on.trouble(error);
    } finally {
      held.isAsked = false;
    }
    if (this.#stretches.get(first) === held) this.#came();
  }

  #came() {
    this.show();
    const awaited = this.#awaited === null ? undefined : this.#row(this.#awaited);
    if (!awaited) return;
    this.#awaited = null;
    this.#on.chose(awaited);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || !this.count) return;
    event.preventDefault();
    const now = this.#chosen === null ? -1 : this.everything ? this.#chosen : this.#known.place(this.#chosen);
    const index = Math.max(0, Math.min(now + step, this.count - 1));
    const row = this.#row(index);
    if (row) return this.#on.chose(row);
    this.#awaited = index;
    this.choose(this.everything ? index : this.#known.notable[index]);
  }
}

/** @type {(line: HTMLElement, text: string, className: string) => HTMLElement} */
function cell(line, text, className) {
  const made = child(line, "span", text, className);
  made.setAttribute("role", "gridcell");
  return made;
}
