/** The waveforms of what is seen, as the server makes them: they are drawn as they come. */

import { pieces, request } from "./api.js";

const SOON_MS = 60;
/** While a session goes on, what has come is asked for when it is as much. */
const GROWN_MS = 1000;

/**
 * Three bytes a column: the user, the answers, the probability of speech.
 * @typedef {{fromMs: number, toMs: number, bytes: Uint8Array, filled: number}} Wave
 */

export class Waves {
  #session;
  #on;
  #asking = new AbortController();
  /** @type {number | undefined} */
  #timer;
  /** Something is asked for, or about to be. */
  #isBusy = false;
  #hasFailed = false;
  /** What part was asked for last, and how far it went. */
  #part = "";
  #untilMs = 0;
  /** What is being drawn, and what was before it. @type {Wave[]} */
  waves = [];

  /**
   * @param {string} session
   * @param {{drawn: () => void, trouble: (error: unknown) => void}} on
   */
  constructor(session, on) {
    this.#session = session;
    this.#on = on;
  }

  /**
   * What is seen. Another part takes the place of what is being asked for; the same, grown, waits for it.
   * @type {(range: import("./range.js").Range, columns: number, known: import("./known.js").Known) => void}
   */
  want(range, columns, { untilMs, isOver }) {
    const part = `${range.choices} ${columns}`;
    const endMs = Math.min(untilMs, range.toMs);
    const wantedMs = isOver ? endMs : endMs - (endMs % GROWN_MS);
    const hasGrown = wantedMs !== this.#untilMs && !this.#isBusy && !this.#hasFailed;
    if (part === this.#part && !hasGrown) return;
    this.#part = part;
    this.#untilMs = wantedMs;
    this.#isBusy = true;
    this.#hasFailed = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(range, columns), SOON_MS);
  }

  /** What has failed may be asked for again. */
  retry() {
    if (this.#hasFailed) this.#part = "";
  }

  /** The bytes of a column of the canvas, or nothing yet. @type {(fromMs: number, toMs: number) => Uint8Array | null} */
  at(fromMs, toMs) {
    for (const wave of this.waves) {
      const column = Math.floor((((fromMs + toMs) / 2 - wave.fromMs) / (wave.toMs - wave.fromMs)) * (wave.bytes.length / 3));
      if (column >= 0 && 3 * column + 3 <= wave.filled) return wave.bytes.subarray(3 * column, 3 * column + 3);
    }
    return null;
  }

  /** @type {(range: import("./range.js").Range, columns: number) => Promise<void>} */
  async #ask(range, columns) {
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    const wave = { fromMs: Math.floor(range.fromMs), toMs: Math.ceil(range.toMs), bytes: new Uint8Array(3 * columns), filled: 0 };
    const query = new URLSearchParams({ from_ms: String(wave.fromMs), to_ms: String(wave.toMs), columns: String(columns) });
    try {
      const { body } = await request(`/${this.#session}/peaks?${query}`, { signal });
      this.waves = [wave, ...this.waves.filter((one) => one.filled === one.bytes.length)].slice(0, 3);
      for await (const bytes of pieces(body, signal)) {
        wave.bytes.set(bytes, wave.filled);
        wave.filled += bytes.length;
        this.#on.drawn();
      }
    } catch (error) {
      this.#hasFailed = !signal.aborted;
      this.#on.trouble(error);
    }
    if (signal.aborted) return;
    this.#isBusy = false;
    this.#on.drawn();
  }
}
