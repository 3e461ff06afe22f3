/** The part of the timeline that is seen. */

const SHORTEST_MS = 500;
/** Room behind the end, so that what comes can be seen coming. */
const MARGIN = 1.02;

export class Range {
  fromMs = 0;
  toMs = 1000;
  /** How often somebody has chosen another part; what only grows is still the same. */
  choices = 0;
  #untilMs = 1000;
  /** All of it is shown, and will be. */
  isWhole = true;

  get lengthMs() {
    return this.toMs - this.fromMs;
  }

  /** The timeline has become longer. @type {(untilMs: number, follows: boolean) => void} */
  grow(untilMs, follows) {
    this.#untilMs = Math.max(untilMs, SHORTEST_MS);
    if (this.isWhole) this.#setWhole();
    else if (follows && this.toMs < this.#untilMs) this.#set(this.#untilMs - this.lengthMs, this.lengthMs);
  }

  whole() {
    this.isWhole = true;
    this.choices += 1;
    this.#setWhole();
  }

  /** The last of it. @param {number} ms */
  last(ms) {
    this.#choose(this.#untilMs - ms, ms);
  }

  /** @param {number} byMs */
  move(byMs) {
    this.#choose(this.fromMs + byMs, this.lengthMs);
  }

  /**
   * Closer where `factor` is below 1; what is at `aroundMs` stays where it is.
   * @type {(factor: number, aroundMs: number) => void}
   */
  zoom(factor, aroundMs) {
    const length = Math.min(Math.max(this.lengthMs * factor, SHORTEST_MS), this.#untilMs * MARGIN);
    const share = (aroundMs - this.fromMs) / this.lengthMs;
    this.#choose(aroundMs - share * length, length);
    this.isWhole = length >= this.#untilMs * MARGIN;
  }

  /** See to it that a moment is seen. @param {number} ms */
  show(ms) {
    if (ms < this.fromMs || ms > this.toMs) this.move(ms - this.fromMs - this.lengthMs / 3);
  }

  #setWhole() {
    this.fromMs = 0;
    this.toMs = this.#untilMs * MARGIN;
  }

  /** @type {(fromMs: number, lengthMs: number) => void} */
  #choose(fromMs, lengthMs) {
    this.isWhole = false;
    this.choices += 1;
    this.#set(fromMs, lengthMs);
  }

  /** @type {(fromMs: number, lengthMs: number) => void} */
  #set(fromMs, lengthMs) {
    this.fromMs = Math.max(0, Math.min(fromMs, this.#untilMs * MARGIN - lengthMs));
    this.toMs = this.fromMs + lengthMs;
  }
}
