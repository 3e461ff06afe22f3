/**
 * How a session is asked for, in the protocol that was chosen, and who decides about turns in it.
 *
 * The plain protocol greets first, and is then configured. The duplex dialect opens with what is wanted; where
 * its model hears all the time, turns are the model's: nothing is detected, and nothing is ever committed.
 */

import { answerUnasked, configure, detect } from "./protocol.js";

/** @typedef {"realtime" | "duplex"} Dialect */
/** @typedef {import("./protocol.js").ClientEvent} ClientEvent */

/** A model that hears all the time is given its sound in pieces of this length. */
export const OWNED_MS = 200;

export class Opening {
  dialect;
  /** The server notices when the user begins and ends to speak. */
  detectsTurns = true;
  /** The model decides. */
  isOwned = false;
  #voice;

  /**
   * @param {Dialect} dialect
   * @param {string} voice empty: the server's own
   */
  constructor(dialect, voice) {
    this.dialect = dialect;
    this.#voice = voice;
  }

  get isDuplex() {
    return this.dialect === "duplex";
  }

  /** What is said as soon as there is a socket; null: the server speaks first. @returns {ClientEvent | null} */
  get first() {
    return this.isDuplex ? configure(false, this.#voice) : null;
  }

  /** What is said to the greeting, if anything. @param {import("./protocol.js").Session} session */
  answer(session) {
    if (!this.isDuplex) {
      this.detectsTurns = session.audio?.input?.turn_detection !== null;
      return configure(this.detectsTurns, this.#voice);
    }
    this.take(session);
    if (this.isOwned) return answerUnasked();
    return this.detectsTurns ? detect() : null;
  }

  /** What a session of the duplex dialect is. @param {import("./protocol.js").Session} session */
  take({ capabilities = {} }) {
    this.isOwned = capabilities.supports_model_native_turn_policy ?? false;
    this.detectsTurns = !this.isOwned && (capabilities.supports_server_vad ?? false);
  }
}
