/**
 * Both sides in writing. What is still to be heard is pale; what an interruption took away is struck out.
 * Everything goes into the document as text.
 */

/** @typedef {{line: HTMLLIElement, heard: HTMLElement, rest: HTMLElement, note: HTMLElement}} Line */

/** A line to be kept. @typedef {{item: string, side: Side, state: string, heard: string, rest: string, note: string}} Written */
/** @typedef {"you" | "it"} Side */

/** @type {(ms: number) => string} */
const seconds = (ms) => (ms / 1000).toFixed(1);

export class Transcript {
  #list;
  #scroller;
  /** Whoever scrolls back to read is not pulled to the end by what comes. */
  #isAtEnd = true;
  #top = 0;
  /** @type {Map<string, Line>} */
  #lines = new Map();

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} scroller
   */
  constructor(list, scroller) {
    this.#list = list;
    this.#scroller = scroller;
    scroller.addEventListener("scroll", () => {
      const isAtEnd = scroller.scrollTop + scroller.clientHeight > scroller.scrollHeight - 32;
      // What comes while it scrolls moves the end away; only who scrolls up wants to read.
      if (isAtEnd || scroller.scrollTop < this.#top) this.#isAtEnd = isAtEnd;
      this.#top = scroller.scrollTop;
    });
    new ResizeObserver(() => this.#follow()).observe(scroller);
  }

  clear() {
    this.#lines.clear();
    this.#list.replaceChildren();
  }

  /** All of it. @returns {Written[]} */
  written() {
    return [...this.#lines].map(([item, { line, heard, rest, note }]) => ({
      item,
      side: line.classList.contains("you") ? "you" : "it",
      state: line.dataset.state ?? "done",
      heard: heard.textContent ?? "",
      rest: rest.textContent ?? "",
      note: note.textContent ?? "",
    }));
  }

  /** Write again what was kept. @param {Written[]} lines */
  restore(lines) {
    for (const { item, side, state, ...texts } of lines) {
      const { line, heard, rest, note } = this.#line(item, side);
      line.dataset.state = state;
      heard.textContent = texts.heard;
      rest.textContent = texts.rest;
      note.textContent = texts.note;
    }
    this.#follow();
  }

  /** Nothing more will be written. */
  close() {
    for (const { line } of this.#lines.values()) {
      if (line.dataset.state === "open") line.dataset.state = "done";
      line.removeAttribute("aria-busy");
    }
  }

  /** @param {string} item */
  userBegan(item) {
    const { line } = this.#line(item, "you");
    line.dataset.state = "open";
  }

  /** @param {string} item */
  userStopped(item) {
    const { line, heard, note } = this.#line(item, "you");
    line.dataset.state = "done";
    if (!heard.textContent) note.textContent = "spoken";
  }

  /**
   * @param {string} item
   * @param {string} text empty when nothing was understood
   */
  userSaid(item, text) {
    const { line, heard, note } = this.#line(item, "you");
    line.dataset.state = "done";
    heard.textContent = text.trim();
    note.textContent = text.trim() ? "" : "nothing understood";
    this.#follow();
  }

  /** @param {string} item */
  answerBegan(item) {
    const { line } = this.#line(item, "it");
    line.dataset.state = "open";
    line.setAttribute("aria-busy", "true");
  }

  /**
   * @param {string} item
   * @param {boolean} hasWords
   * @param {number} receivedMs
   */
  answerEnded(item, hasWords, receivedMs) {
    const { line, note } = this.#line(item, "it");
    line.removeAttribute("aria-busy");
    if (line.dataset.state === "open") line.dataset.state = "done";
    if (hasWords || note.textContent) return;
    note.textContent = receivedMs > 0 ? `spoken without words, ${seconds(receivedMs)} s` : "no answer";
  }

  /**
   * @param {string} item
   * @param {string} text
   * @param {number} characters how much of it was heard
   */
  show(item, text, characters) {
    const { heard, rest } = this.#line(item, "it");
    while (text[characters] === " ") characters++; // a line through the space before a word looks untidy
    const isNew = text.length !== heard.textContent.length + rest.textContent.length;
    if (!isNew && heard.textContent.length === characters) return;
    heard.textContent = text.slice(0, characters);
    rest.textContent = text.slice(characters);
    if (isNew) this.#follow();
  }

  /**
   * @param {string} item
   * @param {number} heardMs
   * @param {number} receivedMs
   */
  interrupted(item, heardMs, receivedMs) {
    const { line, note } = this.#line(item, "it");
    line.dataset.state = "cut";
    note.textContent = `interrupted; heard ${seconds(heardMs)} of ${seconds(receivedMs)} s`;
  }

  /**
   * @param {string} item
   * @param {Side} side
   * @returns {Line}
   */
  #line(item, side) {
    const known = this.#lines.get(item);
    if (known) return known;
    const line = document.createElement("li");
    line.className = side;
    const name = child(line, "span", "speaker");
    name.textContent = side === "you" ? "You" : "Antiphon";
    const words = child(line, "p", "words");
    const [heard, rest] = [child(words, "span", "heard"), child(words, "span", "rest")];
    const made = { line, heard, rest, note: child(line, "small", "note") };
    this.#lines.set(item, made);
    this.#list.append(line);
    this.#follow();
    return made;
  }

  #follow() {
    if (this.#isAtEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }
}

/**
 * @param {HTMLElement} parent
 * @param {string} tag
 * @param {string} className
 */
function child(parent, tag, className) {
  const made = document.createElement(tag);
  made.className = className;
  parent.append(made);
  return made;
}
