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
 * @param {ParentNode} parent
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

/** Stands in the page's <main>, behind the first of what is there. */
export class Gate {
  #trouble;
  #form;
  #key = document.createElement("input");

  /** @param {() => void} again what to do once there is a key */
  constructor(again) {
    const place = document.createDocumentFragment();
    this.#trouble = child(place, "p", "", "trouble");
    this.#trouble.id = "trouble";
    this.#trouble.setAttribute("role", "alert");
    this.#form = child(place, "form", "", "key");
    Object.assign(this.#form, { id: "key-form", autocomplete: "off", hidden: true });
    this.#ask();
    document.querySelector("main > :first-child")?.after(place);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      keepKey(this.#key.value.trim());
      this.clear();
      again();
    });
  }

  #ask() {
    child(this.#form, "label", "Operator key").setAttribute("for", "key");
    Object.assign(this.#key, { id: "key", type: "password", autocomplete: "off", spellcheck: false });
    this.#key.setAttribute("aria-describedby", "key-note");
    this.#form.append(this.#key);
    child(this.#form, "button", "Open").setAttribute("type", "submit");
    child(this.#form, "small", "Kept in this tab only.").id = "key-note";
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
