/** One answer of the assistant, as far as the page knows it. */

import { Words } from "./heard.js";
import { Decoder } from "./pcm.js";

/**
 * @typedef {object} Answer
 * @property {string} response
 * @property {number} before number of the last frame that is not of its response
 * @property {Words} words
 * @property {Decoder} decoder
 * @property {number | null} cutMs what was heard when it was interrupted
 * @property {number | null} kept characters that the server keeps, once it has said so
 * @property {boolean} told the server knows `cutMs`
 * @property {boolean} silent it is given as text only
 */

/** @type {(response: string, before: number) => Answer} */
export function begun(response, before) {
  const words = new Words();
  return { response, before, words, decoder: new Decoder(), cutMs: null, kept: null, told: false, silent: false };
}
