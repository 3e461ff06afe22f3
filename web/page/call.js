/**
 * A half-duplex call: the user says something, then the assistant does. While it thinks or speaks, and for a
 * moment after its last sound has left the loudspeaker, the microphone is not listened to.
 */

import { CallAnswers } from "./call-answers.js";
import { CallLine } from "./call-line.js";
import { prepare, stop } from "./call-protocol.js";
import { untilReady } from "./health.js";
import { Hearing } from "./hearing.js";
import { Playback } from "./playback.js";
import * as words from "./words.js";

/** @typedef {import("./call-protocol.js").CallFrame} CallFrame */
/** @typedef {import("./voice.js").Voice} Voice */

export class Call {
  #playback;
  #hearing;
  #answers;
  #config;
  #notes;
  #waiting = new AbortController();
  /** @type {CallLine | null} */
  #line = null;
  /** The user's turns so far. */
  #said = 0;
  /** What the server said last, if it went no further. @type {import("./words.js").Trouble | null} */
  #last = null;

  /**
   * Create it inside a click: browsers start the loudspeaker only then.
   * @param {import("./hooks.js").Hooks} hooks
   * @param {object} config how the call is to go
   * @param {(notes: string[]) => void} notes told what of that the server cannot do
   */
  constructor(hooks, config, notes) {
    this.hooks = hooks;
    this.#config = config;
    this.#notes = notes;
    this.#playback = new Playback({
      began: () => hooks.step("sounding"),
      drained: () => this.#answers.resumeSoon(),
      silenced: (is) => hooks.trouble(is ? words.SILENCED : { says: "" }),
    });
    this.#answers = new CallAnswers(hooks, this.#playback);
    const give = (/** @type {CallLine} */ line, /** @type {Float32Array} */ frame) =>
      this.#answers.hasWord || line.hear(frame);
    this.#hearing = new Hearing(hooks, this.#playback, give);
  }

  /** Never rejects: what goes wrong is told through the hooks. @type {(key: string, voice: Voice) => Promise<void>} */
  async start(key, voice) {
    this.hooks.step("start");
    try {
      this.hooks.health(await untilReady(this.hooks.loading, this.#waiting.signal));
    } catch {
      return this.#fail(words.UNREACHABLE);
    }
    this.hooks.step("loaded");
    this.#hearing.voice = voice;
    if (voice === "microphone" && !(await this.listenTo(voice))) return this.#fail(null);
    if (!this.#over) this.#connect(key);
  }

  /** Nobody comes back to a call. */
  kept() {
    return null;
  }

  /** @type {(voice: Voice) => Promise<boolean>} */
  listenTo(voice) {
    return this.#hearing.listenTo(voice);
  }

  say() {
    this.hooks.trouble(words.ONLY_SPOKEN);
  }

  /** Nobody breaks in. */
  interrupt() {}

  /** @param {boolean} muted */
  mute(muted) {
    this.#hearing.mute(muted);
  }

  levels() {
    return { you: this.#hearing.level, it: this.#playback.level(), unheard: 0 };
  }

  /** Nobody comes back to a call. */
  drop() {}

  /** Bring the transcript up to what has been heard. */
  show() {
    this.#answers.show();
  }

  stop() {
    if (this.#over) return;
    this.#line?.send(stop());
    this.#end();
    this.hooks.step("stop");
  }

  get #over() {
    return this.#waiting.signal.aborted;
  }

  /** @param {string} key */
  #connect(key) {
    try {
      const line = new CallLine(key, {
        opened: () => line.send(prepare(this.#config)),
        frame: (frame) => this.#received(frame),
        ended: (ending) => this.#fail(this.#last ?? words.closingTrouble(ending, key !== "")),
      });
      this.#line = line;
    } catch {
      this.#fail(words.BAD_KEY);
    }
  }

  /** @param {CallFrame} frame */
  #received(frame) {
    if (frame.type !== "error") this.#last = null;
    this.#reactions[frame.type]?.(frame);
  }

  /** @type {Record<string, (frame: CallFrame) => void>} */
  #reactions = {
    queued: (frame) => this.hooks.trouble(words.inLine(frame)),
    queue_update: (frame) => this.hooks.trouble(words.inLine(frame)),
    queue_done: () => this.hooks.trouble({ says: "" }),
    prepared: ({ not_applied = [] }) => this.#prepared(not_applied.map(({ message }) => message)),
    vad_state: ({ speaking }) => this.#spoke(speaking),
    generating: () => this.#answerBegins(),
    chunk: (frame) => this.#answers.take(frame),
    turn_done: () => this.#answers.resumeSoon(),
    timeout: () => void (this.#last = words.TIME_IS_OVER),
    error: ({ error }) => this.#complained(error),
  };

  /** @param {string[]} notes */
  #prepared(notes) {
    this.#notes(notes);
    this.#hearing.line = this.#line;
    this.hooks.step("ready");
    const { voice } = this.#hearing;
    if (voice instanceof Float32Array) void this.listenTo(voice);
  }

  /** @param {boolean} speaking */
  #spoke(speaking) {
    if (speaking) this.hooks.transcript.userBegan(`said_${++this.#said}`);
    else this.hooks.transcript.userStopped(`said_${this.#said}`);
    this.hooks.step(speaking ? "speechStarted" : "speechStopped");
  }

  #answerBegins() {
    this.#line?.forget();
    this.#answers.begin();
  }

  /** The call goes on, unless its connection ends right behind it. @param {string} says */
  #complained(says) {
    this.hooks.trouble((this.#last = { says }));
    this.#answers.resumeSoon();
  }

  /** @param {import("./words.js").Trouble | null} trouble null when it has been told already */
  #fail(trouble) {
    if (this.#over) return;
    this.#end();
    this.hooks.step("fail");
    if (trouble) this.hooks.trouble(trouble);
  }

  #end() {
    this.#answers.close();
    this.hooks.transcript.close();
    this.#waiting.abort();
    this.#hearing.close();
    this.#line?.close();
    this.#playback.close();
  }
}
