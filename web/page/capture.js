/** The microphone as a source of frames. */

import { RATE } from "./pcm.js";

/** 60 ms: short enough not to be felt, long enough not to flood the socket. */
export const FRAME_SAMPLES = (RATE * 60) / 1000;

/**
 * Where the user's voice comes from: calls back with one frame after the other, in real time.
 * @typedef {object} Source
 * @property {boolean} echoes whether it may hear what the page itself plays
 * @property {(muted: boolean) => void} mute
 * @property {() => void} close
 */

/** @typedef {(frame: Float32Array) => void} OnFrame */

const WANTED = {
  audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
};

/**
 * Ask for the microphone and begin. Rejects with the browser's DOMException, or with SecurityError where
 * browsers give no microphone at all.
 * @param {OnFrame} onFrame
 * @param {() => void} onLost the device went away
 * @returns {Promise<Source>}
 */
export async function openMicrophone(onFrame, onLost) {
  if (!window.isSecureContext || !navigator.mediaDevices) {
    throw new DOMException("the page's origin is not secure", "SecurityError");
  }
  const stream = await navigator.mediaDevices.getUserMedia(WANTED);
  const [track] = stream.getAudioTracks();
  // At the device's own rate: not every browser connects a microphone to a context of another rate.
  const context = new AudioContext({ latencyHint: "interactive" });
  const close = () => {
    track.stop();
    if (context.state !== "closed") void context.close();
  };
  try {
    await context.audioWorklet.addModule(new URL("./capture-worklet.js", import.meta.url));
    await context.resume();
  } catch (error) {
    close();
    throw error;
  }
  const node = new AudioWorkletNode(context, "capture", { processorOptions: { samples: FRAME_SAMPLES } });
  node.port.onmessage = ({ data }) => onFrame(data);
  // It plays silence, but browsers run only what leads to the loudspeaker.
  context.createMediaStreamSource(stream).connect(node).connect(context.destination);
  track.addEventListener("ended", onLost);
  return { echoes: true, mute: (muted) => void (track.enabled = !muted), close };
}
