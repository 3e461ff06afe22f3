/** What may be chosen in the settings: the protocol, the voice, how the echo is guarded against; and what may be tried. */

import { Opening } from "./opening.js";

/** @typedef {import("./opening.js").Dialect} Dialect */

export class Choices {
  #dialect;
  #voice;
  #tries;

  /**
   * @param {(id: string) => HTMLElement} find
   * @param {import("./guard.js").EchoGuard} guard
   * @param {{drop: () => void, takeOver: () => void}} on
   */
  constructor(find, guard, on) {
    const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (find(id));
    this.#dialect = input("dialect");
    this.#voice = input("voice");
    this.#tries = [find("drop"), find("take-over")].map((one) => /** @type {HTMLButtonElement} */ (one));
    this.#tries[0].addEventListener("click", on.drop);
    this.#tries[1].addEventListener("click", on.takeOver);
    onChange(input("guard-ms"), (value) => void (guard.forMs = value));
    onChange(input("guard-db"), (value) => void (guard.marginDb = value));
  }

  /** As chosen; or as an earlier life of the page had it. @param {Dialect} [dialect] */
  opening(dialect = /** @type {Dialect} */ (this.#dialect.value)) {
    return new Opening(dialect, this.#voice.value.trim());
  }

  /** Whether there is a conversation with which something can be tried. @param {boolean} is */
  offer(is) {
    for (const one of this.#tries) one.disabled = !is;
  }
}

/** @type {(input: HTMLInputElement, set: (value: number) => void) => void} */
function onChange(input, set) {
  input.addEventListener("change", () => input.checkValidity() && set(input.valueAsNumber));
}
