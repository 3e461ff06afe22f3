/** The waveforms of what is seen, as the server makes them: they are drawn as they come. */

import { request } from "./api.js";

const SOON_MS = 60;

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
  #wanted = "";
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

  /** What will be seen. @type {(fromMs: number, toMs: number, columns: number, untilMs: number) => void} */
  want(fromMs, toMs, columns, untilMs) {
    const [from, to] = [Math.floor(fromMs), Math.ceil(toMs)];
    const query = new URLSearchParams({ from_ms: String(from), to_ms: String(to), columns: String(columns) });
    // What lies behind the end so far is asked for again once there is more.
    const wanted = `${query} ${Math.min(untilMs, to)}`;
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(String(query), from, to, columns), SOON_MS);
  }

  /** The bytes of a column of the canvas, or nothing yet. @type {(fromMs: number, toMs: number) => Uint8Array | null} */
  at(fromMs, toMs) {
    for (const wave of this.waves) {
      const column = Math.floor((((fromMs + toMs) / 2 - wave.fromMs) / (wave.toMs - wave.fromMs)) * (wave.bytes.length / 3));
      if (column >= 0 && 3 * column + 3 <= wave.filled) return wave.bytes.subarray(3 * column, 3 * column + 3);
    }
    return null;
  }

  /** @type {(query: string, fromMs: number, toMs: number, columns: number) => Promise<void>} */
  async #ask(query, fromMs, toMs, columns) {
    this.#asking.abort();
    this.#asking = new AbortController();
    const wave = { fromMs, toMs, bytes: new Uint8Array(3 * columns), filled: 0 };
    try {
      const { body } = await request(`/${this.#session}/peaks?${query}`, { signal: this.#asking.signal });
      const reader = body?.getReader();
      this.waves = [wave, ...this.waves.filter((one) => one.filled === one.bytes.length)].slice(0, 3);
      for (let got = await reader?.read(); got && !got.done; got = await reader?.read()) {
        wave.bytes.set(got.value, wave.filled);
        wave.filled += got.value.length;
        this.#on.drawn();
      }
    } catch (error) {
      this.#on.trouble(error);
    }
  }
}
