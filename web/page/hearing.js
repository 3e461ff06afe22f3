/** The user's side: from the chosen source, past the guard, to the server. */

import { loudness } from "./pcm.js";
import { openVoice } from "./voice.js";
import { MICROPHONE_LOST, microphoneTrouble, slowNetwork } from "./words.js";

/** @typedef {import("./capture.js").Source} Source */
/** @typedef {import("./voice.js").Voice} Voice */

/** @template {{congested: boolean}} L where frames go */
export class Hearing {
  /** Loudness of what the source gave last. */
  level = 0;
  muted = false;
  /** Where the voice comes from, or will as soon as somebody can be heard. @type {Voice} */
  voice = null;
  /** @type {Source | null} */
  #source = null;
  /** Frames that were not sent because the network was too slow. */
  #dropped = 0;

  /** Until it is there frames go nowhere. @type {L | null} */
  line = null;

  /**
   * @param {import("./hooks.js").Hooks} hooks
   * @param {import("./playback.js").Playback} playback
   * @param {(line: L, frame: Float32Array) => unknown} give how a frame is given to the line
   */
  constructor(hooks, playback, give) {
    this.hooks = hooks;
    this.playback = playback;
    this.give = give;
  }

  /**
   * Take another voice, or none; whether it could be. Why not is told.
   * @param {Voice} voice
   */
  async listenTo(voice) {
    const on = { lost: () => this.hooks.trouble(MICROPHONE_LOST), ended: this.hooks.recordingEnded };
    this.voice = voice;
    this.#use(null);
    try {
      const source = await openVoice(voice, (frame) => this.#take(frame), on);
      // The choice may have changed while the browser asked for the microphone.
      if (this.voice === voice) this.#use(source);
      else source?.close();
      return true;
    } catch (error) {
      this.hooks.trouble(microphoneTrouble(error));
      return false;
    }
  }

  /** Nobody is listened to any more. */
  close() {
    this.voice = null;
    this.#use(null);
  }

  /** @param {Source | null} source */
  #use(source) {
    this.#source?.close();
    this.#source = source;
    this.level = 0;
    source?.mute(this.muted);
  }

  /** Whether somebody may be speaking. */
  get listens() {
    return this.#source !== null && !this.muted;
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
  #take(frame) {
    const heard = this.muted ? 0 : loudness(frame);
    this.level = heard;
    if (!this.line) return;
    if (this.line.congested) {
      this.hooks.trouble(slowNetwork((this.#dropped += 1)));
      return;
    }
    const passes = !this.muted && this.#admitted(heard);
    this.give(this.line, passes ? frame : new Float32Array(frame.length));
  }

  /** @param {number} heard */
  #admitted(heard) {
    return !this.#source?.echoes || this.hooks.guard.admits(performance.now(), heard, this.playback.level());
  }
}
