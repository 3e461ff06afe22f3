/**
 * The user's turns: spoken ones as the server notices them, and typed ones. Both interrupt an answer.
 *
 * A typed message that was on its way when the connection was lost may have arrived or not, and so may the wish
 * to have it answered. The server is asked, and what is missing is sent again.
 */

import { cancel, message, NO_SUCH_ITEM, respond, retrieve } from "./protocol.js";

/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */
/** @typedef {{text: string, isTaken: boolean, isDoubtful: boolean}} Typed the server has it; nobody knows whether it has all */

export class Turns {
  /** Ids of messages are those of this life of the page: an earlier one may have typed into the same conversation. */
  #life = Math.random().toString(36).slice(2, 10);
  #typed = 0;
  /** What was typed and is not known to be answered, by item. @type {Map<string, Typed>} */
  #unanswered = new Map();

  /**
   * @param {import("./answers.js").Answers} answers
   * @param {import("./transcript.js").Transcript} transcript
   * @param {(step: import("./phases.js").Step) => void} step
   * @param {(event: import("./protocol.js").ClientEvent) => void} send
   * @param {import("./opening.js").Opening} opening
   */
  constructor(answers, transcript, step, send, opening) {
    this.answers = answers;
    this.transcript = transcript;
    this.step = step;
    this.send = send;
    this.opening = opening;
  }

  /** What concerns the user's turns; other events do nothing. @param {ServerEvent} event */
  receive(event) {
    this.#reactions[event.type]?.(event);
  }

  /** @param {string} text */
  say(text) {
    this.interrupt();
    const item = `typed_${this.#life}_${++this.#typed}`;
    this.#unanswered.set(item, { text, isTaken: false, isDoubtful: false });
    this.transcript.userSaid(item, text);
    this.send(message(item, text));
    this.send(respond());
  }

  /** By hand. The server does not know of it, unlike when it hears speech. */
  interrupt() {
    if (this.answers.active) this.send(cancel(this.answers.active));
    this.answers.interrupt();
  }

  /** The connection is lost; what is said from now on is not lost with it. */
  lost() {
    for (const typed of this.#unanswered.values()) typed.isDoubtful = true;
  }

  /** There is a connection again. The server answers this after everything that was missed. */
  restored() {
    for (const [item, { isDoubtful }] of this.#unanswered) if (isDoubtful) this.send(retrieve(item));
  }

  /** @type {Record<string, (event: ServerEvent) => void>} */
  #reactions = {
    "input_audio_buffer.speech_started": ({ item_id }) => {
      // In the duplex dialect an overlap is decided about first: "yes" need not interrupt.
      if (!this.opening.isDuplex) this.answers.interrupt();
      this.transcript.userBegan(item_id);
      this.step("speechStarted");
    },
    "input_audio_buffer.speech_stopped": ({ item_id }) => {
      this.transcript.userStopped(item_id);
      this.step("speechStopped");
    },
    "output_audio_buffer.cleared": ({ response_id }) => this.answers.interrupt(response_id),
    "conversation.item.input_audio_transcription.completed": ({ item_id, transcript }) =>
      this.transcript.userSaid(item_id, transcript),
    "conversation.item.added": ({ item }) => {
      const typed = this.#unanswered.get(item.id);
      if (typed) typed.isTaken = true;
    },
    "response.created": () => this.#answered(),
    "conversation.item.retrieved": ({ item }) => this.#doubtful(item.id) !== null && this.send(respond()),
    error: ({ error }) => {
      const text = error.code === NO_SUCH_ITEM && error.event_id ? this.#doubtful(error.event_id) : null;
      if (text === null || !error.event_id) return;
      this.send(message(error.event_id, text));
      this.send(respond());
    },
  };

  /** An answer begins, to everything that the server has by now. */
  #answered() {
    for (const [item, { isTaken }] of this.#unanswered) if (isTaken) this.#unanswered.delete(item);
  }

  /** The text of a message of which it was not clear whether it would be answered; it is now. @param {string} item */
  #doubtful(item) {
    const typed = this.#unanswered.get(item);
    if (!typed?.isDoubtful) return null;
    typed.isDoubtful = false;
    return typed.text;
  }
}
