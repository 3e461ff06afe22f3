/** The assistant's turns in a half-duplex call: words and sound as they come, and when the user has the word again. */

import { toFloats } from "./call-protocol.js";
import { Words } from "./heard.js";

/** @typedef {import("./call-protocol.js").CallFrame} CallFrame */

/** After the last sound of an answer: a room goes on sounding for a while. */
export const RESUME_MS = 800;

export class CallAnswers {
  /** The assistant has the word: nobody listens to the user. */
  hasWord = false;
  /** Nothing more of the answer will come. */
  #isComplete = true;
  #count = 0;
  #words = new Words();
  /** Answers whose words are not all heard yet. @type {Map<string, Words>} */
  #open = new Map();
  /** @type {number | undefined} */
  #resuming;

  /**
   * @param {import("./hooks.js").Hooks} hooks
   * @param {import("./playback.js").Playback} playback
   */
  constructor(hooks, playback) {
    this.hooks = hooks;
    this.playback = playback;
  }

  get #item() {
    return `answer_${this.#count}`;
  }

  begin() {
    clearTimeout(this.#resuming);
    this.hasWord = true;
    this.#isComplete = false;
    this.#count += 1;
    this.#words = new Words();
    this.#open.set(this.#item, this.#words);
    this.hooks.transcript.answerBegan(this.#item);
    this.hooks.step("asked");
  }

  /** @param {CallFrame} frame */
  take({ text_delta, audio_data, is_final }) {
    const item = this.#item;
    if (text_delta) this.#words.add(text_delta, this.playback.receivedMs(item));
    if (audio_data) this.playback.play(item, toFloats(audio_data));
    if (!is_final) return;
    this.#isComplete = this.#words.complete = true;
    this.hooks.transcript.answerEnded(item, this.#words.text !== "", this.playback.receivedMs(item));
  }

  /** The user has the word a moment after the last sound, whether the answer came to its end or failed. */
  resumeSoon() {
    if (!this.hasWord || !this.#isComplete || this.playback.sounding) return;
    clearTimeout(this.#resuming);
    this.#resuming = setTimeout(() => {
      this.hasWord = false;
      this.hooks.step("quiet");
    }, RESUME_MS);
  }

  /** Show how far every answer has been heard. */
  show() {
    for (const [item, answer] of this.#open) {
      const [heardMs, receivedMs] = [this.playback.heardMs(item), this.playback.receivedMs(item)];
      const characters = receivedMs === 0 ? answer.text.length : answer.heard(heardMs, receivedMs);
      this.hooks.transcript.show(item, answer.text, characters);
      if (answer.complete && heardMs >= receivedMs) this.#open.delete(item);
    }
  }

  close() {
    clearTimeout(this.#resuming);
    this.playback.flush();
    this.show();
  }
}
