/** What a page says when it may not look in, and where a key is asked for. */

import { keepKey, Refusal, told } from "./api.js";

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new TypeError(`#${id} is not a ${kind.name}`);
  return found;
}

/**
 * @param {HTMLElement} parent
 * @param {string} tag
 * @param {string} text
 * @param {string} [className]
 */
export function child(parent, tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
}

export class Gate {
  #form = element("key-form", HTMLFormElement);
  #key = element("key", HTMLInputElement);
  #trouble = element("trouble", HTMLElement);

  /** @param {() => void} again what to do once there is a key */
  constructor(again) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      keepKey(this.#key.value.trim());
      this.clear();
      again();
    });
  }

  clear() {
    this.#trouble.textContent = "";
    this.#form.hidden = true;
  }

  /** @param {unknown} error */
  tell(error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    this.#trouble.textContent = told(error);
    const wantsKey = error instanceof Refusal && error.status === 401;
    if (!wantsKey) return;
    this.#form.hidden = false;
    this.#key.focus();
  }

  /** @param {string} text */
  say(text) {
    this.#trouble.textContent = text;
  }
}
