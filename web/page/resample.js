/**
 * A stream at one rate becomes a stream at another, without aliasing: a windowed sinc with one filter per
 * phase. How the stream is cut into pieces does not change what comes out.
 */

/** Zero crossings of the sinc on each side: about 70 dB of rejection with a Blackman window. */
const CROSSINGS = 16;
/** The pass band ends a little before the lower Nyquist frequency, to leave room for the slope. */
const PASS = 0.92;

/** @type {(a: number, b: number) => number} */
const gcd = (a, b) => (b === 0 ? a : gcd(b, a % b));

export class Resampler {
  #up;
  #down;
  #taps;
  #filters;
  /** @type {Float32Array} */
  #held;
  /** Position of the next output in the held samples, counted in 1/up of an input sample. */
  #at = 0;

  /**
   * @param {number} from
   * @param {number} to both in Hz, whole numbers
   */
  constructor(from, to) {
    const common = gcd(from, to);
    this.#up = to / common;
    this.#down = from / common;
    const half = Math.ceil(CROSSINGS * Math.max(1, from / to));
    this.#taps = 2 * half;
    const cutoff = PASS * Math.min(1, to / from);
    this.#filters = Array.from({ length: this.#up }, (_, phase) => filter(half, cutoff, phase / this.#up));
    this.#held = new Float32Array(half - 1);
  }

  /**
   * @param {Float32Array} input
   * @returns {Float32Array}
   */
  push(input) {
    if (this.#up === this.#down) return input;
    const held = new Float32Array(this.#held.length + input.length);
    held.set(this.#held);
    held.set(input, this.#held.length);
    const output = [];
    let first = Math.floor(this.#at / this.#up);
    while (first + this.#taps <= held.length) {
      const taps = this.#filters[this.#at % this.#up];
      let sum = 0;
      for (let k = 0; k < taps.length; k++) sum += taps[k] * held[first + k];
      output.push(sum);
      this.#at += this.#down;
      first = Math.floor(this.#at / this.#up);
    }
    const used = Math.min(first, held.length);
    this.#held = held.slice(used);
    this.#at -= used * this.#up;
    return Float32Array.from(output);
  }
}

/**
 * The taps that give the value `fraction` of a sample after the middle, with unity gain at 0 Hz.
 * @param {number} half
 * @param {number} cutoff
 * @param {number} fraction
 */
function filter(half, cutoff, fraction) {
  const taps = Float32Array.from({ length: 2 * half }, (_, k) => {
    const x = k - (half - 1) - fraction;
    const turn = (Math.PI * x) / half;
    const blackman = 0.42 + 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn);
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * cutoff * x) / (Math.PI * cutoff * x);
    return cutoff * sinc * blackman;
  });
  const sum = taps.reduce((a, b) => a + b, 0);
  return taps.map((tap) => tap / sum);
}
