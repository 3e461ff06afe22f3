/** One conversation: from the first look at the server, through everything said, to its end. */

import { untilReady } from "./health.js";
import { Line } from "./line.js";
import { Parts } from "./parts.js";
import * as words from "./words.js";

/** @typedef {import("./hooks.js").Hooks} Hooks */
/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */
/** @typedef {import("./voice.js").Voice} Voice */
/** @typedef {import("./kept.js").Kept} Kept */

export class Conversation {
  #opening;
  #parts;
  #waiting = new AbortController();
  #key = "";
  /** An earlier life of the page has told the server what we want of it. */
  #isConfigured = false;
  /** @type {Line | null} */
  #line = null;
  /** Typed before the session stood. @type {string[]} */
  #unsaid = [];

  /**
   * Create it inside a click: browsers start the loudspeaker only then.
   * @param {Hooks} hooks
   * @param {import("./opening.js").Opening} opening
   */
  constructor(hooks, opening) {
    this.hooks = hooks;
    this.#opening = opening;
    this.#parts = new Parts(hooks, opening, (event) => this.#line?.send(event));
  }

  /** Never rejects: what goes wrong is told through the hooks. @type {(key: string, voice: Voice) => Promise<void>} */
  async start(key, voice) {
    this.#key = key;
    this.#parts.hearing.voice = voice;
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
    for (const [item, heardMs] of heard) this.#parts.playback.passOver(item, heardMs);
    this.mute(muted);
    this.#connect(place);
    if (speaks) void this.listenTo("microphone");
  }

  /** What takes it to go on with it; null when it has not begun, or is over. @returns {Kept | null} */
  kept() {
    const place = this.#parts.hearing.line?.place;
    if (!place || this.#over) return null;
    const { last, heard } = this.#parts.answers.unsettled(place.last);
    const { muted, voice } = this.#parts.hearing;
    const lines = this.hooks.transcript.written();
    const { dialect } = this.#opening;
    return { place: { ...place, last, dialect }, heard, lines, muted, speaks: voice === "microphone" };
  }

  /** Take the user's voice from there, from now on; whether it could be. @type {(voice: Voice) => Promise<boolean>} */
  listenTo(voice) {
    return this.#parts.hearing.listenTo(voice);
  }

  /** A typed message; it may come before the session stands. @param {string} text */
  say(text) {
    if (this.#parts.hearing.line) this.#parts.turns.say(text);
    else this.#unsaid.push(text);
  }

  interrupt() {
    this.#parts.turns.interrupt();
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.#parts.hearing.mute(muted);
  }

  /** How loud both sides are now, and how loud the answer would be that was cut off. */
  levels() {
    return this.#parts.levels();
  }

  /** As a network does it: the conversation goes on over another connection. */
  drop() {
    this.#line?.drop();
  }

  /** Bring the transcript up to what has been heard. */
  show() {
    this.#parts.show();
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
      /** @type {import("./line.js").Handlers} */
      const on = {
        event: (event) => this.#received(event),
        lost: () => this.#parts.gap.began(),
        back: (event, gapMs) => this.#back(event, gapMs),
        ended: (ending, refusal) => this.#fail(this.#parts.complaints.about(ending, refusal, this.#key !== "")),
      };
      this.#line = new Line(this.#key, place, on, this.#opening);
    } catch {
      this.#fail(words.BAD_KEY);
    }
  }

  /** @type {(event: ServerEvent, gapMs: number) => void} */
  #back(event, gapMs) {
    this.#parts.gap.ended(gapMs);
    if (this.#opening.isDuplex) this.#opening.take(event.session);
    if (this.#parts.hearing.line) this.#parts.course.ready();
    else if (this.#isConfigured) this.#begin();
    else this.#greeted(event);
  }

  /** @param {ServerEvent} event */
  #received(event) {
    this.#parts.receive(event);
    if (event.type === "session.created") this.#greeted(event);
    if (event.type === "session.updated") this.#begin();
  }

  /** @param {ServerEvent} event */
  #greeted({ session }) {
    const answer = this.#opening.answer(session);
    if (answer) this.#line?.send(answer);
  }

  #begin() {
    if (this.#parts.hearing.line) return;
    this.#parts.hearing.line = this.#line;
    this.#parts.course.ready();
    const { voice } = this.#parts.hearing;
    if (voice && !this.#opening.detectsTurns) this.hooks.trouble(words.NO_TURNS);
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
    this.#parts.answers.interrupt();
    this.#parts.answers.show();
    this.hooks.transcript.close();
    this.#waiting.abort();
    this.#parts.gap.forget();
    this.#parts.hearing.close();
    this.#line?.close();
    this.#parts.playback.close();
  }
}
