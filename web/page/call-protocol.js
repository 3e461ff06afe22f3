/** The half-duplex protocol as far as the page speaks it. Audio is mono float32, little-endian, in base64. */

import { toBase64 } from "./pcm.js";

/** What a call takes from the microphone. */
export const CALL_RATE = 16000;

/**
 * @typedef {object} CallFrame a frame from the server; each type has only some of the members
 * @property {string} type
 * @property {number} position
 * @property {number} estimated_wait_s
 * @property {boolean} speaking
 * @property {string | null} text_delta
 * @property {string | null} audio_data
 * @property {boolean} is_final
 * @property {number} timeout_s
 * @property {string} error
 * @property {string} code
 * @property {{parameter: string, message: string}[]} [not_applied]
 */

/** @typedef {{type: string, [member: string]: unknown}} CallEvent */

/** A name that nobody else has. */
export const newName = () => `hdx_${crypto.getRandomValues(new Uint32Array(2)).reduce((name, n) => name + n.toString(36), "")}`;

/** @type {(config: object) => CallEvent} */
export const prepare = (config) => ({ type: "prepare", config });

/** @type {(samples: Float32Array) => CallEvent} */
export const audioChunk = (samples) => ({ type: "audio_chunk", audio_base64: toBase64(floats(samples)) });

/** @returns {CallEvent} */
export const stop = () => ({ type: "stop" });

/** @param {Float32Array} samples */
function floats(samples) {
  const view = new DataView(new ArrayBuffer(samples.length * 4));
  samples.forEach((sample, k) => view.setFloat32(4 * k, sample, true));
  return new Uint8Array(view.buffer);
}

/** @type {(base64: string) => Float32Array<ArrayBuffer>} */
export function toFloats(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length >> 2 }, (_, k) => view.getFloat32(4 * k, true));
}
