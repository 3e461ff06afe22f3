/** The socket of a half-duplex call. What is heard goes to it in pieces of 16 kHz, while somebody listens. */

import { audioChunk, CALL_RATE, newName } from "./call-protocol.js";
import { RATE } from "./pcm.js";
import { Resampler } from "./resample.js";

/** @typedef {import("./call-protocol.js").CallEvent} CallEvent */
/** @typedef {import("./call-protocol.js").CallFrame} CallFrame */

/** As the demo's page sends it: half a second. */
const CHUNK_SAMPLES = CALL_RATE / 2;
const MOST_WAITING_BYTES = 512 * 1024;

/**
 * @typedef {object} Handlers
 * @property {() => void} opened
 * @property {(frame: CallFrame) => void} frame
 * @property {(ending: import("./connection.js").Ending) => void} ended not after `close`
 */

export class CallLine {
  #socket;
  #opened = false;
  #resampler = new Resampler(RATE, CALL_RATE);
  /** @type {number[]} */
  #heard = [];

  /**
   * Throws SyntaxError for a key that cannot be sent.
   * @param {string} key empty for none
   * @param {Handlers} on
   */
  constructor(key, on) {
    const url = new URL(`/ws/half_duplex/${newName()}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.#socket = new WebSocket(url, key ? ["half_duplex", `openai-insecure-api-key.${key}`] : []);
    this.#socket.onopen = () => {
      this.#opened = true;
      on.opened();
    };
    this.#socket.onmessage = ({ data }) => on.frame(JSON.parse(data));
    this.#socket.onclose = ({ code, reason }) => on.ended({ opened: this.#opened, code, reason });
  }

  /** @param {CallEvent} event */
  send(event) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  /** Whether so much is waiting to be sent that more would only come late. */
  get congested() {
    return this.#socket.bufferedAmount > MOST_WAITING_BYTES;
  }

  /** A frame of the user's voice at the page's rate. @param {Float32Array} frame */
  hear(frame) {
    for (const sample of this.#resampler.push(frame)) this.#heard.push(sample);
    while (this.#heard.length >= CHUNK_SAMPLES) {
      this.send(audioChunk(Float32Array.from(this.#heard.splice(0, CHUNK_SAMPLES))));
    }
  }

  /** What was collected is not to be sent: nobody listens just now. */
  forget() {
    this.#heard = [];
  }

  close() {
    this.#socket.onclose = this.#socket.onmessage = this.#socket.onopen = null;
    this.#socket.close(1000);
  }
}
