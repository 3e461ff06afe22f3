/** The user's side: from the chosen source, past the guard, to the server. */

import { loudness } from "./pcm.js";
import { append } from "./protocol.js";

/** @typedef {import("./capture.js").Source} Source */

export class Hearing {
  /** Loudness of what the source gave last. */
  level = 0;
  muted = false;
  /** @type {Source | null} */
  #source = null;
  /** Frames that were not sent because the network was too slow. */
  #dropped = 0;

  /** Where frames go; until it is there they go nowhere. @type {import("./connection.js").Connection | null} */
  connection = null;

  /**
   * @param {import("./guard.js").EchoGuard} guard
   * @param {import("./playback.js").Playback} playback
   * @param {(frames: number) => void} onDropped told the number of frames that could not be sent so far
   */
  constructor(guard, playback, onDropped) {
    this.guard = guard;
    this.playback = playback;
    this.onDropped = onDropped;
  }

  /**
   * Listen to another source, or to none.
   * @param {Source | null} source
   */
  use(source) {
    this.#source?.close();
    this.#source = source;
    this.level = 0;
    source?.mute(this.muted);
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.muted = muted;
    this.#source?.mute(muted);
  }

  /**
   * One frame of the source. What is held back is sent as silence: the server counts time by samples.
   * @param {Float32Array} frame
   */
  take(frame) {
    const heard = this.muted ? 0 : loudness(frame);
    this.level = heard;
    if (!this.connection) return;
    if (this.connection.congested) {
      this.onDropped((this.#dropped += 1));
      return;
    }
    const passes = !this.muted && this.#admitted(heard);
    this.connection.send(append(passes ? frame : new Float32Array(frame.length)));
  }

  /** @param {number} heard */
  #admitted(heard) {
    return !this.#source?.echoes || this.guard.admits(performance.now(), heard, this.playback.level());
  }
}
