/** The table of events: as long as the session has events, with only those rows in the page that are seen. */

import { ask } from "./api.js";
import { child } from "./gate.js";
import { clock } from "./times.js";

/** @typedef {{seq: number, at_ms: number, type: string, cause: number | null, facts: string, quiet: boolean}} Row */

/** As in the style sheet. */
const ROW_PX = 30;
/** Rows that are asked for together. */
const WINDOW = 100;
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
  /** @type {Map<number, Row[] | null>} null: on its way */
  #windows = new Map();
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
    if (anew) this.#windows.clear();
    for (const [first, rows] of this.#windows) {
      const hasGrown = rows !== null && rows.length < Math.min(WINDOW, this.count - first);
      if (hasGrown) this.#windows.delete(first);
    }
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

  /** @param {number} index @returns {Row | undefined} */
  #row(index) {
    const first = index - (index % WINDOW);
    if (!this.#windows.has(first)) void this.#ask(first);
    return this.#windows.get(first)?.[index - first];
  }

  /** @param {number} first */
  async #ask(first) {
    this.#windows.set(first, null);
    const last = Math.min(first + WINDOW, this.count) - 1;
    const [from, to] = this.everything ? [first, last] : [first, last].map((index) => this.#known.notable[index]);
    const query = new URLSearchParams({
      from: String(from),
      to: String(to),
      limit: String(WINDOW),
      all: this.everything ? "1" : "0",
    });
    try {
      this.#windows.set(first, await ask(`/${this.#session}/events?${query}`));
      this.show();
      const awaited = this.#awaited === null ? undefined : this.#row(this.#awaited);
      if (awaited) this.#awaited = null;
      if (awaited) this.#on.chose(awaited);
    } catch (error) {
      this.#windows.delete(first);
      this.#on.trouble(error);
    }
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
