/** The choice of where the user's voice comes from: the microphone, a sound file, or nowhere. */

import { RATE } from "./pcm.js";
import { readRecording } from "./recording.js";
import { NOT_SOUND } from "./words.js";

/** @typedef {"microphone" | "recording" | "typing"} Choice */

export class Sources {
  /** @type {Float32Array | null} */
  #recording = null;

  /**
   * @param {NodeListOf<HTMLInputElement>} choices
   * @param {{row: HTMLElement, file: HTMLInputElement, state: HTMLElement}} recording
   * @param {{chosen: () => void, trouble: (trouble: import("./words.js").Trouble) => void}} on
   */
  constructor(choices, recording, on) {
    this.choices = choices;
    this.recording = recording;
    this.on = on;
    for (const one of choices) one.addEventListener("change", () => this.#chosen());
    const { file } = recording;
    file.addEventListener("change", () => void (file.files?.[0] && this.#take(file.files[0])));
    document.addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      const dropped = event.dataTransfer?.files[0];
      if (dropped) void this.#take(dropped);
    });
  }

  /** @returns {Choice} */
  get choice() {
    const checked = Array.from(this.choices).find((one) => one.checked);
    return /** @type {Choice} */ (checked?.value ?? "typing");
  }

  /** @param {Choice} choice */
  choose(choice) {
    for (const one of this.choices) one.checked = one.value === choice;
    this.#chosen();
  }

  /** @returns {import("./voice.js").Voice} */
  get voice() {
    return this.choice === "microphone" ? "microphone" : this.choice === "recording" ? this.#recording : null;
  }

  recordingEnded() {
    this.recording.state.textContent = "played to its end";
  }

  /** @param {File} chosen */
  async #take(chosen) {
    try {
      this.#recording = await readRecording(chosen);
    } catch {
      return this.on.trouble(NOT_SOUND);
    }
    this.recording.state.textContent = `${chosen.name}, ${(this.#recording.length / RATE).toFixed(1)} s`;
    this.choose("recording");
  }

  #chosen() {
    this.recording.row.hidden = this.choice !== "recording";
    this.on.chosen();
  }
}
