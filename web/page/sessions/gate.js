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

const BUILT = `
  <p id="trouble" class="trouble" role="alert"></p>
  <form id="key-form" class="key" autocomplete="off" hidden>
    <label for="key">Operator key</label>
    <input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-note">
    <button type="submit">Open</button>
    <small id="key-note">Kept in this tab only.</small>
  </form>`;

/** Stands in the page's <main>, behind the first of what is there. */
export class Gate {
  #form;
  #key;
  #trouble;

  /** @param {() => void} again what to do once there is a key */
  constructor(again) {
    document.querySelector("main > :first-child")?.insertAdjacentHTML("afterend", BUILT);
    this.#form = element("key-form", HTMLFormElement);
    this.#key = element("key", HTMLInputElement);
    this.#trouble = element("trouble", HTMLElement);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      keepKey(this.#key.value.trim());
      this.clear();
      again();
    });
  }

  /** Whether a key is waited for. */
  get isAsking() {
    return !this.#form.hidden;
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
