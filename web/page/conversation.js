/** One conversation: from the first look at the server, through everything said, to its end. */

import { Answers } from "./answers.js";
import { Connection } from "./connection.js";
import { untilReady } from "./health.js";
import { Hearing } from "./hearing.js";
import { Playback } from "./playback.js";
import { configure, HARMLESS } from "./protocol.js";
import { Turns } from "./turns.js";
import { openVoice } from "./voice.js";
import * as words from "./words.js";

/** @typedef {import("./words.js").Trouble} Trouble */
/** @typedef {import("./health.js").Health} Health */
/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */
/** @typedef {import("./voice.js").Voice} Voice */

/**
 * @typedef {object} Hooks
 * @property {import("./transcript.js").Transcript} transcript
 * @property {import("./guard.js").EchoGuard} guard
 * @property {(step: import("./phases.js").Step) => void} step
 * @property {(trouble: Trouble) => void} trouble something a person should know; it need not be the end
 * @property {(health: Health) => void} loading the server is not ready yet
 * @property {(health: Health) => void} health
 * @property {() => void} recordingEnded
 */

export class Conversation {
  #playback;
  #hearing;
  #answers;
  #turns;
  #waiting = new AbortController();
  #key = "";
  #detectsTurns = true;
  /** @type {Voice} */
  #voice = null;
  /** @type {Connection | null} */
  #connection = null;
  /** Typed before the session stood. @type {string[]} */
  #unsaid = [];
  /** What the server complained of last, unless it went on. @type {Trouble | null} */
  #complaint = null;

  /** Create it inside a click: browsers start the loudspeaker only then. @param {Hooks} hooks */
  constructor(hooks) {
    this.hooks = hooks;
    this.#playback = new Playback({ began: () => this.#sounding(), drained: () => this.#quiet() });
    this.#hearing = new Hearing(hooks.guard, this.#playback, (frames) => hooks.trouble(words.slowNetwork(frames)));
    const send = (/** @type {import("./protocol.js").ClientEvent} */ event) => this.#connection?.send(event);
    this.#answers = new Answers(this.#playback, hooks.transcript, send);
    this.#turns = new Turns(this.#answers, hooks.transcript, hooks.step, send);
  }

  /** Never rejects: what goes wrong is told through the hooks. @type {(key: string, voice: Voice) => Promise<void>} */
  async start(key, voice) {
    this.#key = key;
    this.#voice = voice;
    this.hooks.step("start");
    try {
      this.hooks.health(await untilReady(this.hooks.loading, this.#waiting.signal));
    } catch {
      return this.#fail(words.UNREACHABLE);
    }
    this.hooks.step("loaded");
    // Before the socket, so that nobody's refusal holds a place on the server.
    if (voice === "microphone" && !(await this.listenTo(voice))) return this.#fail(null);
    if (!this.#over) this.#connect();
  }

  /** Take the user's voice from there, from now on. @type {(voice: Voice) => Promise<boolean>} */
  async listenTo(voice) {
    const on = { lost: () => this.hooks.trouble(words.MICROPHONE_LOST), ended: this.hooks.recordingEnded };
    this.#voice = voice;
    this.#hearing.use(null);
    try {
      const source = await openVoice(voice, (frame) => this.#hearing.take(frame), on);
      // The choice may have changed while the browser asked for the microphone.
      if (this.#over || this.#voice !== voice) source?.close();
      else this.#hearing.use(source);
      return true;
    } catch (error) {
      this.hooks.trouble(words.microphoneTrouble(error));
      return false;
    }
  }

  /** A typed message; it may come before the session stands. @param {string} text */
  say(text) {
    if (this.#hearing.connection) this.#turns.say(text);
    else this.#unsaid.push(text);
  }

  interrupt() {
    this.#turns.interrupt();
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.#hearing.mute(muted);
  }

  /** How loud both sides are now. */
  levels() {
    return { you: this.#hearing.level, it: this.#playback.level() };
  }

  /** Bring the transcript up to what has been heard. */
  show() {
    this.#answers.show();
  }

  stop() {
    if (this.#over) return;
    this.#end();
    this.hooks.step("stop");
  }

  get #over() {
    return this.#waiting.signal.aborted;
  }

  #connect() {
    try {
      this.#connection = new Connection(this.#key, {
        event: (event) => this.#received(event),
        ended: (ending) => this.#fail(this.#complaint ?? words.closingTrouble(ending, this.#key !== "")),
      });
    } catch {
      this.#fail(words.BAD_KEY);
    }
  }

  /** @param {ServerEvent} event */
  #received(event) {
    if (event.type !== "error") this.#complaint = null;
    this.#turns.receive(event);
    this.#answers.receive(event);
    this.#reactions[event.type]?.(event);
  }

  /** @type {Record<string, (event: ServerEvent) => void>} */
  #reactions = {
    "session.created": ({ session }) => {
      this.#detectsTurns = session.audio?.input?.turn_detection !== null;
      this.#connection?.send(configure(this.#detectsTurns));
    },
    "session.updated": () => this.#begin(),
    "response.created": () => this.hooks.step("asked"),
    "response.done": ({ response }) => {
      if (response.status === "failed") this.hooks.trouble(words.failedTrouble(response));
      this.#quiet();
    },
    error: ({ error }) => this.#complain(error),
  };

  #begin() {
    if (this.#hearing.connection) return;
    this.#hearing.connection = this.#connection;
    this.hooks.step("ready");
    if (this.#voice && !this.#detectsTurns) this.hooks.trouble(words.NO_TURNS);
    if (this.#voice instanceof Float32Array) void this.listenTo(this.#voice);
    for (const text of this.#unsaid.splice(0)) this.say(text);
  }

  /** @param {import("./protocol.js").ServerError} error */
  #complain(error) {
    if (error.code && HARMLESS.has(error.code)) return;
    this.#complaint = words.errorTrouble(error);
    this.hooks.trouble(this.#complaint);
  }

  #sounding() {
    this.hooks.guard.playbackBegan(performance.now());
    this.hooks.step("sounding");
  }

  #quiet() {
    if (!this.#answers.active && !this.#playback.sounding) this.hooks.step("quiet");
  }

  /** @param {Trouble | null} trouble null when it has been told already */
  #fail(trouble) {
    if (this.#over) return;
    this.#end();
    this.hooks.step("fail");
    if (trouble) this.hooks.trouble(trouble);
  }

  #end() {
    this.#answers.interrupt();
    this.#answers.show();
    this.hooks.transcript.close();
    this.#waiting.abort();
    this.#hearing.use(null);
    this.#connection?.close();
    this.#playback.close();
  }
}
