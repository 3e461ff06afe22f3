/** Frames put together to pieces of one length. */

export class Pieces {
  #samples;
  /** @type {Float32Array} */
  #held = new Float32Array(0);

  /** @param {number} samples how long a piece is */
  constructor(samples) {
    this.#samples = samples;
  }

  /** The pieces that are whole now. @param {Float32Array} frame @returns {Float32Array[]} */
  push(frame) {
    const held = new Float32Array(this.#held.length + frame.length);
    held.set(this.#held);
    held.set(frame, this.#held.length);
    const whole = Math.floor(held.length / this.#samples);
    this.#held = held.slice(whole * this.#samples);
    return Array.from({ length: whole }, (_, k) => held.slice(k * this.#samples, (k + 1) * this.#samples));
  }
}
