/** How turns are taken: both at once, or one after the other; then there are settings for that. */

import { CallSettings } from "./call-settings.js";

export class Manner {
  /**
   * @param {HTMLInputElement} takesTurns one of the choices
   * @param {{panel: HTMLElement, notes: HTMLElement}} settings
   * @param {(id: string) => HTMLInputElement} input finds an element
   */
  constructor(takesTurns, settings, input) {
    this.choice = takesTurns;
    this.settings = settings;
    this.call = new CallSettings(input);
    for (const one of document.getElementsByName(takesTurns.name)) one.addEventListener("change", () => this.#show());
    this.#show();
  }

  get takesTurns() {
    return this.choice.checked;
  }

  /** What of a call's settings the server cannot do. @param {string[]} notes */
  note(notes) {
    this.settings.notes.textContent = notes.join(" ");
  }

  #show() {
    this.settings.panel.hidden = !this.takesTurns;
    document.body.dataset.manner = this.takesTurns ? "turns" : "both";
  }
}
