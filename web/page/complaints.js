/** What the server complained of, and whether that was the end. */

import { HARMLESS } from "./protocol.js";
import { closingTrouble, errorTrouble, failedTrouble } from "./words.js";

/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */
/** @typedef {import("./protocol.js").ServerError} ServerError */
/** @typedef {import("./words.js").Trouble} Trouble */

export class Complaints {
  /** The last one, unless the server went on. @type {Trouble | null} */
  #last = null;

  /** @param {(trouble: Trouble) => void} tell */
  constructor(tell) {
    this.tell = tell;
  }

  /** @param {ServerEvent} event */
  receive({ type, error, response }) {
    if (type !== "error") this.#last = null;
    else if (!error.code || !HARMLESS.has(error.code)) this.tell((this.#last = errorTrouble(error)));
    if (type === "response.done" && response.status === "failed") this.tell(failedTrouble(response));
  }

  /**
   * Why it is over.
   * @param {import("./connection.js").Ending} ending
   * @param {ServerError | null} refusal what the server said against coming back
   * @param {boolean} hadKey
   * @returns {Trouble}
   */
  about(ending, refusal, hadKey) {
    return this.#last ?? (refusal ? errorTrouble(refusal) : closingTrouble(ending, hadKey));
  }
}
