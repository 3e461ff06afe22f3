/** What of a conversation is worth a mark on the timeline: turns, how long an answer took, decisions, epochs. */

/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */

export class Story {
  #mark;
  /** When the user fell silent, or asked. */
  #askedMs = 0;
  /** The answer whose first sound is awaited. */
  #isAwaited = false;
  #epoch = 0;

  /** @param {(label: string) => void} mark */
  constructor(mark) {
    this.#mark = mark;
  }

  /** @param {ServerEvent} event */
  receive(event) {
    const { type, epoch } = event;
    if (typeof epoch === "number" && epoch > this.#epoch) this.#mark(`epoch ${(this.#epoch = epoch)}`);
    if (type === "input_audio_buffer.speech_stopped") this.#askedMs = performance.now();
    if (type === "response.created") this.#begins();
    if (type === "overlap.decision" && event.action) this.#mark(event.action.replace("_", " "));
  }

  /** The first sound of an answer has begun to play. */
  sounds() {
    if (!this.#isAwaited) return;
    this.#isAwaited = false;
    this.#mark(`after ${((performance.now() - this.#askedMs) / 1000).toFixed(2)} s`);
  }

  /** The user has taken the word. */
  interrupted() {
    this.#mark("interrupted");
  }

  #begins() {
    this.#isAwaited = true;
    this.#askedMs ||= performance.now();
  }
}
