/** The part of the timeline that is seen. */

const SHORTEST_MS = 500;
/** Room behind the end, so that what comes can be seen coming. */
const MARGIN = 1.02;

export class Range {
  fromMs = 0;
  toMs = 1000;
  #untilMs = 1000;
  /** All of it is shown, and will be. */
  isWhole = true;

  get lengthMs() {
    return this.toMs - this.fromMs;
  }

  /** The timeline has become longer. @type {(untilMs: number, follows: boolean) => void} */
  grow(untilMs, follows) {
    this.#untilMs = Math.max(untilMs, SHORTEST_MS);
    if (this.isWhole) this.whole();
    else if (follows && this.toMs < this.#untilMs) this.move(this.#untilMs - this.toMs);
  }

  whole() {
    this.isWhole = true;
    this.fromMs = 0;
    this.toMs = this.#untilMs * MARGIN;
  }

  /** The last of it. @param {number} ms */
  last(ms) {
    this.isWhole = false;
    this.#set(this.#untilMs - ms, ms);
  }

  /** @param {number} byMs */
  move(byMs) {
    this.isWhole = false;
    this.#set(this.fromMs + byMs, this.lengthMs);
  }

  /**
   * Closer where `factor` is below 1; what is at `aroundMs` stays where it is.
   * @type {(factor: number, aroundMs: number) => void}
   */
  zoom(factor, aroundMs) {
    const length = Math.min(Math.max(this.lengthMs * factor, SHORTEST_MS), this.#untilMs * MARGIN);
    const share = (aroundMs - this.fromMs) / this.lengthMs;
    this.isWhole = length >= this.#untilMs * MARGIN;
    this.#set(aroundMs - share * length, length);
  }

  /** See to it that a moment is seen. @param {number} ms */
  show(ms) {
    if (ms < this.fromMs || ms > this.toMs) this.move(ms - this.fromMs - this.lengthMs / 3);
  }

  /** @type {(fromMs: number, lengthMs: number) => void} */
  #set(fromMs, lengthMs) {
    this.fromMs = Math.max(0, Math.min(fromMs, this.#untilMs * MARGIN - lengthMs));
    this.toMs = this.fromMs + lengthMs;
  }
}
