/** A sound file as a source of frames: played into the session in real time, then silence. */

import { FRAME_SAMPLES } from "./capture.js";
import { RATE } from "./pcm.js";

/** @typedef {import("./capture.js").Source} Source */

const FRAME_MS = (FRAME_SAMPLES * 1000) / RATE;

/**
 * Any format the browser can read, as mono at the wire's rate. Rejects when it is not sound.
 * @param {File} file
 * @returns {Promise<Float32Array>}
 */
export async function readRecording(file) {
  const decoder = new OfflineAudioContext(1, 1, RATE);
  const sound = await decoder.decodeAudioData(await file.arrayBuffer());
  const mono = new Float32Array(sound.length);
  for (let channel = 0; channel < sound.numberOfChannels; channel++) {
    const samples = sound.getChannelData(channel);
    for (let k = 0; k < mono.length; k++) mono[k] += samples[k] / sound.numberOfChannels;
  }
  return mono;
}

/**
 * The silence after the end goes on until the source is closed: without it nobody could tell that the
 * speaker has finished.
 * @param {Float32Array} samples
 * @param {import("./capture.js").OnFrame} onFrame
 * @param {() => void} onEnd
 * @returns {Source}
 */
export function playRecording(samples, onFrame, onEnd) {
  const began = performance.now();
  const last = Math.ceil(samples.length / FRAME_SAMPLES);
  let sent = 0;
  // Timers come late in hidden tabs: whatever is due is sent, so that the audio clock keeps up.
  const timer = setInterval(() => {
    const due = Math.floor((performance.now() - began) / FRAME_MS);
    for (; sent < due; sent++) {
      const frame = new Float32Array(FRAME_SAMPLES);
      frame.set(samples.subarray(sent * FRAME_SAMPLES, (sent + 1) * FRAME_SAMPLES));
      onFrame(frame);
      if (sent + 1 === last) onEnd();
    }
  }, FRAME_MS / 3);
  return { echoes: false, mute: () => {}, close: () => clearInterval(timer) };
}
