/** On the audio thread: what the microphone gives becomes mono frames at the wire's rate. */

import { RATE } from "./pcm.js";
import { Resampler } from "./resample.js";

class Capture extends AudioWorkletProcessor {
  #resampler = new Resampler(sampleRate, RATE);
  #frame;
  #filled = 0;

  /** @param {{processorOptions: {samples: number}}} options length of a frame at the wire's rate */
  constructor(options) {
    super();
    this.#frame = new Float32Array(options.processorOptions.samples);
  }

  /** @param {Float32Array[][]} inputs */
  process([channels]) {
    if (channels.length > 0) this.#take(this.#resampler.push(mixed(channels)));
    return true;
  }

  /** @param {Float32Array} samples */
  #take(samples) {
    for (const sample of samples) {
      this.#frame[this.#filled++] = sample;
      if (this.#filled === this.#frame.length) {
        this.port.postMessage(this.#frame);
        this.#filled = 0;
      }
    }
  }
}

/** @param {Float32Array[]} channels */
function mixed(channels) {
  if (channels.length === 1) return channels[0];
  return channels[0].map((_, k) => channels.reduce((sum, one) => sum + one[k], 0) / channels.length);
}

registerProcessor("capture", Capture);
