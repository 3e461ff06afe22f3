/**
 * Against interrupting ourselves: in the first moments of playback the browser's echo canceller has not
 * settled, and the loudspeaker comes back through the microphone as if somebody spoke.
 *
 * While guarding, the microphone counts as silent unless it is clearly louder than the echo should be. How
 * much comes back is measured, from the frames that are held back; the very first of every playback always
 * are. Somebody who does speak up keeps the line open over the soft parts of their words.
 */

/** Begin of a playback in which everything is held back and measured. */
const MEASURE_MS = 200;
/** How long the line stays open after a frame that passed. */
const HOLD_MS = 500;
/** What comes back before anything was measured: a tenth. */
const FIRST_GAIN = 0.1;
/** Below this a frame is not speech, however quiet the playback is. */
const FLOOR = 0.01;
/** The echo arrives later than the playback's level is read; a falling peak covers the delay. */
const PEAK_FALL = 0.85;

export class EchoGuard {
  /** How long a playback is guarded; 0 turns the guard off. */
  forMs = 1500;
  /** How much louder than the echo speech must be. */
  marginDb = 6;

  #gain = FIRST_GAIN;
  #peak = 0;
  #beganMs = -Infinity;
  #openUntilMs = -Infinity;

  /** @param {number} atMs */
  playbackBegan(atMs) {
    this.#beganMs = atMs;
    this.#peak = 0;
  }

  /** What comes back of what is played, as measured. */
  get gain() {
    return this.#gain;
  }

  /**
   * Whether a frame of the microphone may be heard by the server.
   * @param {number} atMs
   * @param {number} heard loudness of the frame
   * @param {number} playing loudness of the playback at this moment
   */
  admits(atMs, heard, playing) {
    const age = atMs - this.#beganMs;
    this.#peak = Math.max(playing, this.#peak * PEAK_FALL);
    if (age >= this.forMs || atMs < this.#openUntilMs) return true;
    if (age >= MEASURE_MS && heard > this.#threshold()) {
      this.#openUntilMs = atMs + HOLD_MS;
      return true;
    }
    this.#measure(heard);
    return false;
  }

  #threshold() {
    return Math.max(FLOOR, this.#peak * this.#gain * 10 ** (this.marginDb / 20));
  }

  /**
   * Rises fast, falls slowly: an echo that is underestimated interrupts.
   * @param {number} heard
   */
  #measure(heard) {
    if (this.#peak < FLOOR) return;
    const gain = Math.min(1, heard / this.#peak);
    this.#gain += (gain - this.#gain) * (gain > this.#gain ? 0.5 : 0.1);
  }
}
