/** One event whole: what it says, what led to it, what came of it, what the server knew then, and what was seen. */

import { arrived, ask, request } from "./api.js";
import { child } from "./gate.js";
import { clock } from "./times.js";

/** @typedef {import("./table.js").Row} Row */

export class Detail {
  #session;
  #panel;
  #on;
  #asking = new AbortController();

  /**
   * @param {string} session
   * @param {HTMLElement} panel
   * @param {{chose: (row: Row) => void, trouble: (error: unknown) => void}} on
   */
  constructor(session, panel, on) {
    this.#session = session;
    this.#panel = panel;
    this.#on = on;
  }

  /** @param {number} seq */
  async show(seq) {
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    try {
      const { event, causes, effects } = await ask(`/${this.#session}/events/${seq}`, signal);
      this.#panel.replaceChildren();
      this.#panel.dataset.seq = String(seq);
      child(this.#panel, "h2", `${event.seq} ${event.type}`);
      child(this.#panel, "p", event.at, "soft small");
      if (event.blob && /^image\//.test(event.event.media_type ?? "")) void this.#image(seq, signal);
      child(this.#panel, "pre", JSON.stringify(event.event, null, 2));
      this.#family("What led to it", causes, "Nothing: it came from outside.");
      this.#family("What came of it", effects, "Nothing that names it, soon after.");
      this.#offerState(seq);
    } catch (error) {
      this.#on.trouble(error);
    }
  }

  /** @type {(title: string, rows: Row[], none: string) => void} */
  #family(title, rows, none) {
    child(this.#panel, "h3", title);
    if (!rows.length) return void child(this.#panel, "p", none, "soft small");
    const list = child(this.#panel, "ul", "", "family");
    for (const row of rows) {
      const button = child(child(list, "li", ""), "button", `${row.seq}  ${clock(row.at_ms)}  ${row.type}`);
      button.setAttribute("type", "button");
      button.addEventListener("click", () => this.#on.chose(row));
    }
  }

  /** @param {number} seq */
  #offerState(seq) {
    const more = /** @type {HTMLDetailsElement} */ (child(this.#panel, "details", ""));
    child(more, "summary", "What the server knew after it");
    const shown = child(more, "div", "", "state");
    more.addEventListener("toggle", () => more.open && !shown.hasChildNodes() && void this.#state(seq, shown));
  }

  /** @type {(seq: number, shown: HTMLElement) => Promise<void>} */
  async #state(seq, shown) {
    try {
      const { conversation, state } = await ask(`/${this.#session}/state?at=${seq}`, this.#asking.signal);
      shown.replaceChildren();
      child(shown, "h3", "What a model is told now");
      const list = child(shown, "ul", "", "told");
      for (const { role, text } of conversation) child(list, "li", `${role}: ${text}`);
      if (!conversation.length) child(list, "li", "Nothing yet.", "soft");
      child(shown, "h3", "State, but for what is as usual");
      child(shown, "pre", JSON.stringify(state, null, 2));
    } catch (error) {
      this.#on.trouble(error);
    }
  }

  /** @type {(seq: number, signal: AbortSignal) => Promise<void>} */
  async #image(seq, signal) {
    const image = document.createElement("img");
    image.alt = `The image of event ${seq}`;
    this.#panel.append(image);
    try {
      const answer = await request(`/${this.#session}/images/${seq}`, { signal });
      image.src = URL.createObjectURL(await arrived(answer.blob(), signal));
      image.onload = () => URL.revokeObjectURL(image.src);
    } catch (error) {
      image.remove();
      this.#on.trouble(error);
    }
  }
}
