/** The user's turns: spoken ones as the server notices them, and typed ones. Both interrupt an answer. */

import { cancel, message, respond } from "./protocol.js";

/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */

export class Turns {
  #typed = 0;

  /**
   * @param {import("./answers.js").Answers} answers
   * @param {import("./transcript.js").Transcript} transcript
   * @param {(step: import("./phases.js").Step) => void} step
   * @param {(event: import("./protocol.js").ClientEvent) => void} send
   */
  constructor(answers, transcript, step, send) {
    this.answers = answers;
    this.transcript = transcript;
    this.step = step;
    this.send = send;
  }

  /** What concerns the user's turns; other events do nothing. @param {ServerEvent} event */
  receive(event) {
    this.#reactions[event.type]?.(event);
  }

  /** @param {string} text */
  say(text) {
    this.interrupt();
    const item = `typed_${++this.#typed}`;
    this.transcript.userSaid(item, text);
    this.send(message(item, text));
    this.send(respond());
  }

  /** By hand. The server does not know of it, unlike when it hears speech. */
  interrupt() {
    if (this.answers.active) this.send(cancel(this.answers.active));
    this.answers.interrupt();
  }

  /** @type {Record<string, (event: ServerEvent) => void>} */
  #reactions = {
    "input_audio_buffer.speech_started": ({ item_id }) => {
      this.answers.interrupt();
      this.transcript.userBegan(item_id);
      this.step("speechStarted");
    },
    "input_audio_buffer.speech_stopped": ({ item_id }) => {
      this.transcript.userStopped(item_id);
      this.step("speechStopped");
    },
    "conversation.item.input_audio_transcription.completed": ({ item_id, transcript }) =>
      this.transcript.userSaid(item_id, transcript),
  };
}
