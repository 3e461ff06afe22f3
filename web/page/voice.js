/** Where the user's voice comes from, as a choice. */

import { openMicrophone } from "./capture.js";
import { playRecording } from "./recording.js";

/** @typedef {"microphone" | Float32Array | null} Voice the microphone, a recording, or nobody: typing only */

/**
 * Begin to take it. Rejects as `openMicrophone` does.
 * @param {Voice} voice
 * @param {import("./capture.js").OnFrame} onFrame
 * @param {{lost: () => void, ended: () => void}} on the microphone went away; the recording came to its end
 * @returns {Promise<import("./capture.js").Source | null>}
 */
export async function openVoice(voice, onFrame, on) {
  if (voice === "microphone") return openMicrophone(onFrame, on.lost);
  return voice && playRecording(voice, onFrame, on.ended);
}
