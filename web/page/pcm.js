/**
 * Audio as the wire has it: mono signed 16-bit little-endian at 24 kHz, in base64.
 * Inside the page audio is Float32Array in -1..1 at the same rate.
 */

export const RATE = 24000;

/** @param {number} samples */
export const toMs = (samples) => Math.round((samples * 1000) / RATE);

/** @param {number} ms */
export const toSamples = (ms) => Math.round((ms * RATE) / 1000);

/**
 * @param {Float32Array} samples
 * @returns {Uint8Array}
 */
export function encode(samples) {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  samples.forEach((sample, k) => {
    const clipped = Math.max(-1, Math.min(1, sample));
    view.setInt16(2 * k, Math.round(clipped * (clipped < 0 ? 0x8000 : 0x7fff)), true);
  });
  return bytes;
}

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
  let text = "";
  // In slices: the arguments of one call are limited.
  for (let k = 0; k < bytes.length; k += 0x2000) {
    text += String.fromCharCode(...bytes.subarray(k, k + 0x2000));
  }
  return btoa(text);
}

/**
 * One stream of incoming audio. A piece may end in the middle of a sample: the odd byte waits for the next
 * piece, so that what follows is not read shifted by a byte (which sounds as noise).
 */
export class Decoder {
  /** @type {number | null} */
  #odd = null;

  /**
   * @param {string} base64
   * @returns {Float32Array<ArrayBuffer>}
   */
  decode(base64) {
    const text = atob(base64);
    const held = this.#odd === null ? 0 : 1;
    const bytes = new Uint8Array(held + text.length);
    if (this.#odd !== null) bytes[0] = this.#odd;
    for (let k = 0; k < text.length; k++) bytes[held + k] = text.charCodeAt(k);
    this.#odd = bytes.length % 2 ? bytes[bytes.length - 1] : null;
    const view = new DataView(bytes.buffer);
    return Float32Array.from({ length: bytes.length >> 1 }, (_, k) => view.getInt16(2 * k, true) / 0x8000);
  }
}

/** A moment of the page's timeline. */
export const BLOCK_SAMPLES = (RATE * 50) / 1000;

/** How loud each moment of a piece is. @param {Float32Array} samples @returns {number[]} */
export function levels(samples) {
  const count = Math.ceil(samples.length / BLOCK_SAMPLES);
  return Array.from({ length: count }, (_, k) => loudness(samples.subarray(k * BLOCK_SAMPLES, (k + 1) * BLOCK_SAMPLES)));
}

/**
 * Root mean square: how loud a piece is, 0..1.
 * @param {Float32Array} samples
 */
export function loudness(samples) {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return samples.length ? Math.sqrt(sum / samples.length) : 0;
}
