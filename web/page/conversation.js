/** One conversation: from the first look at the server, through everything said, to its end. */

import { Answers } from "./answers.js";
import { Complaints } from "./complaints.js";
import { Course } from "./course.js";
import { Gap } from "./gap.js";
import { untilReady } from "./health.js";
import { Hearing } from "./hearing.js";
import { Line } from "./line.js";
import { Playback } from "./playback.js";
import { append, configure } from "./protocol.js";
import { Turns } from "./turns.js";
import * as words from "./words.js";

/** @typedef {import("./hooks.js").Hooks} Hooks */
/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */
/** @typedef {import("./voice.js").Voice} Voice */
/** @typedef {import("./kept.js").Kept} Kept */

export class Conversation {
  #playback;
  #hearing;
  #answers;
  #turns;
  #course;
  #gap;
  #complaints;
  #waiting = new AbortController();
  #key = "";
  #detectsTurns = true;
  /** An earlier life of the page has told the server what we want of it. */
  #isConfigured = false;
  /** @type {Line | null} */
  #line = null;
  /** Typed before the session stood. @type {string[]} */
  #unsaid = [];

  /** Create it inside a click: browsers start the loudspeaker only then. @param {Hooks} hooks */
  constructor(hooks) {
    this.hooks = hooks;
    this.#complaints = new Complaints(hooks.trouble);
    this.#playback = new Playback({
      began: () => this.#course.sounding(),
      drained: () => this.#course.quiet(),
      silenced: (is) => hooks.trouble(is ? words.SILENCED : { says: "" }),
    });
    const give = (/** @type {Line} */ line, /** @type {Float32Array} */ frame) => line.stream(append(frame));
    this.#hearing = new Hearing(hooks, this.#playback, give);
    const send = (/** @type {import("./protocol.js").ClientEvent} */ event) => this.#line?.send(event);
    this.#answers = new Answers(this.#playback, hooks.transcript, send);
    this.#turns = new Turns(this.#answers, hooks.transcript, hooks.step, send);
    this.#course = new Course(hooks, this.#playback, this.#answers);
    this.#gap = new Gap(hooks, this.#hearing, this.#turns, this.#answers);
  }

  /** Never rejects: what goes wrong is told through the hooks. @type {(key: string, voice: Voice) => Promise<void>} */
  async start(key, voice) {
    this.#key = key;
    this.#hearing.voice = voice;
    this.hooks.step("start");
    try {
      this.hooks.health(await untilReady(this.hooks.loading, this.#waiting.signal));
    } catch {
      return this.#fail(words.UNREACHABLE);
    }
    this.hooks.step("loaded");
    // Before the socket, so that nobody's refusal holds a place on the server.
    if (voice === "microphone" && !(await this.listenTo(voice))) return this.#fail(null);
    if (!this.#over) this.#connect(null);
  }

  /** Go on with the conversation of an earlier life of this page. @type {(key: string, kept: Kept) => void} */
  goOn(key, { place, heard, lines, muted, speaks }) {
    this.#key = key;
    this.hooks.step("start");
    this.hooks.transcript.restore(lines);
    this.#isConfigured = true;
    for (const [item, heardMs] of heard) this.#playback.passOver(item, heardMs);
    this.mute(muted);
    this.#connect(place);
    if (speaks) void this.listenTo("microphone");
  }

  /** What takes it to go on with it; null when it has not begun, or is over. @returns {Kept | null} */
  kept() {
    const place = this.#hearing.line?.place;
    if (!place || this.#over) return null;
    const { last, heard } = this.#answers.unsettled(place.last);
    const { muted, voice } = this.#hearing;
    const lines = this.hooks.transcript.written();
    return { place: { ...place, last }, heard, lines, muted, speaks: voice === "microphone" };
  }

  /** Take the user's voice from there, from now on; whether it could be. @type {(voice: Voice) => Promise<boolean>} */
  listenTo(voice) {
    return this.#hearing.listenTo(voice);
  }

  /** A typed message; it may come before the session stands. @param {string} text */
  say(text) {
    if (this.#hearing.line) this.#turns.say(text);
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

  /** @param {import("./line.js").Place | null} place */
  #connect(place) {
    try {
      this.#line = new Line(this.#key, place, {
        event: (event) => this.#received(event),
        lost: () => this.#gap.began(),
        back: (event, gapMs) => this.#back(event, gapMs),
        ended: (ending, refusal) => this.#fail(this.#complaints.about(ending, refusal, this.#key !== "")),
      });
    } catch {
      this.#fail(words.BAD_KEY);
    }
  }

  /** @type {(event: ServerEvent, gapMs: number) => void} */
  #back(event, gapMs) {
    this.#gap.ended(gapMs);
    if (this.#hearing.line) this.#course.ready();
    else if (this.#isConfigured) this.#begin();
    else this.#greeted(event);
  }

  /** @param {ServerEvent} event */
  #received(event) {
    this.#complaints.receive(event);
    this.#turns.receive(event);
    this.#answers.receive(event);
    this.#course.receive(event);
    if (event.type === "session.created") this.#greeted(event);
    if (event.type === "session.updated") this.#begin();
  }

  /** @param {ServerEvent} event */
  #greeted({ session }) {
    this.#detectsTurns = session.audio?.input?.turn_detection !== null;
    this.#line?.send(configure(this.#detectsTurns));
  }

  #begin() {
    if (this.#hearing.line) return;
    this.#hearing.line = this.#line;
    this.#course.ready();
    const { voice } = this.#hearing;
    if (voice && !this.#detectsTurns) this.hooks.trouble(words.NO_TURNS);
    if (voice instanceof Float32Array) void this.listenTo(voice);
    for (const text of this.#unsaid.splice(0)) this.say(text);
  }

  /** @param {import("./words.js").Trouble | null} trouble null when it has been told already */
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
    this.#gap.forget();
    this.#hearing.close();
    this.#line?.close();
    this.#playback.close();
  }
}
