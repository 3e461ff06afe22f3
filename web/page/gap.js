/** A gap in the connection: what is seen of it, and what is told again after it. */

import { RESTORING, unheard } from "./words.js";

/** A gap that is shorter than this is only seen in the phase. */
const NOTABLE_MS = 1000;

export class Gap {
  /** @type {number | undefined} */
  #timer;

  /**
   * @param {import("./hooks.js").Hooks} hooks
   * @param {import("./hearing.js").Hearing<import("./line.js").Line>} hearing
   * @param {import("./turns.js").Turns} turns
   * @param {import("./answers.js").Answers} answers
   */
  constructor(hooks, hearing, turns, answers) {
    this.hooks = hooks;
    this.hearing = hearing;
    this.turns = turns;
    this.answers = answers;
  }

  began() {
    this.hooks.step("lost");
    this.turns.lost();
    this.#timer = setTimeout(() => this.hooks.trouble(RESTORING), NOTABLE_MS);
  }

  /** @param {number} lastedMs */
  ended(lastedMs) {
    this.forget();
    if (lastedMs > NOTABLE_MS) this.hooks.trouble(this.hearing.listens ? unheard(lastedMs) : { says: "" });
    this.turns.restored();
    this.answers.restored();
  }

  /** Nothing more is told of it. */
  forget() {
    clearTimeout(this.#timer);
  }
}
