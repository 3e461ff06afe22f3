/**
 * The line to a session, over as many sockets as it takes: when one is lost, another asks the server for what
 * was missed.
 *
 * Frames are numbered; what is here already is passed over. What was asked for while there was no connection
 * is sent when there is one again; sound is not, nobody wants to hear it late.
 */

import { Connection } from "./connection.js";
import { numberOf } from "./protocol.js";

/** @typedef {import("./connection.js").Ending} Ending */
/** @typedef {import("./connection.js").Place} Place */
/** @typedef {import("./protocol.js").ClientEvent} ClientEvent */
/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */
/** @typedef {import("./protocol.js").ServerError} ServerError */

/**
 * @typedef {object} Handlers
 * @property {(event: ServerEvent) => void} event every frame once, in order
 * @property {() => void} lost the connection is gone, and will be sought
 * @property {(event: ServerEvent, gapMs: number) => void} back it is there again; what was missed comes next
 * @property {(ending: Ending, refusal: ServerError | null) => void} ended once; not after `close`. With what the
 *     server said against coming back, if it did
 */

/** As long as the server waits for us, if it is left as it comes. */
const PATIENCE_MS = 30_000;
/** For an attempt of which nothing is heard. */
const ATTEMPT_MS = 10_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;
const LOOK_MS = 1000;
/** The server wants no more of it: it ended, another took it over, or it was refused. */
const WANTED = new Set([1000, 1008]);
/** @type {Ending} */
const LOST = { opened: true, code: 1006, reason: "" };

/**
 * How long to wait before the next attempt.
 * @param {number} attempts so many were in vain
 */
export const waitMs = (attempts) => Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS);

export class Line {
  #key;
  #opening;
  #on;
  /** Where it stands; null until the server has said how to come back. @type {Place | null} */
  #place;
  /** @type {Connection | null} */
  #connection = null;
  /** Why there is none, since when, and what was tried. @type {{why: Ending, sinceMs: number, attempts: number} | null} */
  #gap = null;
  /** @type {ServerError | null} */
  #refusal = null;
  /** @type {ClientEvent[]} */
  #unsent = [];
  #isExpired = false;
  #done = new AbortController();
  /** @type {number | undefined} */
  #timer;
  #looks = setInterval(() => this.#look(), LOOK_MS);

  /**
   * Throws SyntaxError for a key that cannot be sent.
   * @param {string} key empty for none
   * @param {Place | null} place of a session to come back to; null for a new one
   * @param {Handlers} on
   * @param {import("./opening.js").Opening | null} [opening] how it is asked for; in the plain protocol unless told
   */
  constructor(key, place, on, opening = null) {
    this.#key = key;
    this.#opening = opening;
    this.#on = on;
    this.#place = place && { ...place };
    if (place) this.#gap = { why: LOST, sinceMs: performance.now(), attempts: 0 };
    // A browser that knows that it is offline lets its sockets hang.
    window.addEventListener("offline", () => this.#isLive && this.#drop(), { signal: this.#done.signal });
    window.addEventListener("online", () => this.#tryNow(), { signal: this.#done.signal });
    this.#connect();
  }

  /** What it takes to come back. @returns {Readonly<Place> | null} */
  get place() {
    return this.#place;
  }

  /** Whether so much is waiting to be sent that more would only come late. */
  get congested() {
    return this.#connection?.congested ?? false;
  }

  /** Now, or when there is a connection again. @param {ClientEvent} event */
  send(event) {
    if (this.#isLive) this.#connection?.send(event);
    else this.#unsent.push(event);
  }

  /** Now or never. @param {ClientEvent} event */
  stream(event) {
    if (this.#isLive) this.#connection?.send(event);
  }

  close() {
    this.#done.abort();
    clearTimeout(this.#timer);
    clearInterval(this.#looks);
    this.#connection?.close();
    this.#connection = null;
  }

  get #isLive() {
    return this.#connection !== null && this.#gap === null;
  }

  #connect() {
    this.#refusal = null;
    const on = {
      opened: () => this.#opened(),
      event: (/** @type {ServerEvent} */ event) => this.#received(event),
      ended: (/** @type {Ending} */ ending) => this.#ended(ending),
    };
    this.#connection = new Connection(this.#key, this.#place, on, this.#opening?.dialect ?? "realtime");
    if (this.#gap) this.#timer = setTimeout(() => this.#drop(), ATTEMPT_MS);
  }

  #opened() {
    const first = this.#opening?.first;
    if (first && !this.#place) this.#connection?.send(first);
  }

  /** As a network drops a connection: the server is not told, and it is sought again. */
  drop() {
    if (this.#isLive) this.#drop();
  }

  #tryNow() {
    if (!this.#gap || this.#connection) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /** A connection can hang without an end: what is spoken into it shows that. */
  #look() {
    if (this.#isLive && this.#connection?.hangs()) this.#drop();
  }

  /** Give a connection up that does not end by itself. */
  #drop() {
    this.#connection?.abandon();
    this.#ended(LOST);
  }

  /** @param {ServerEvent} event */
  #received(event) {
    if (event.type === "session.created" || event.type === "session.resumed") return this.#greeted(event);
    if (this.#gap && event.type === "error") return void (this.#refusal = event.error);
    const number = numberOf(event);
    if (number !== null && this.#place) {
      if (number <= this.#place.last) return;
      this.#place.last = number;
    }
    this.#isExpired ||= event.type === "error" && event.error.code === "session_expired";
    this.#on.event(event);
  }

  /** @param {ServerEvent} event */
  #greeted(event) {
    const { session_id: session = event.session.id, resume_token: token = event.session.resume_token } = event;
    const gap = this.#gap;
    if (session && token) this.#place = { session, token, last: this.#place?.last ?? numberOf(event) ?? 0 };
    if (!gap) return this.#on.event(event);
    clearTimeout(this.#timer);
    this.#gap = null;
    this.#on.back(event, performance.now() - gap.sinceMs);
    for (const unsent of this.#unsent.splice(0)) this.send(unsent);
  }

  /** @param {Ending} ending */
  #ended(ending) {
    clearTimeout(this.#timer);
    this.#connection = null;
    const nowMs = performance.now();
    const gap = this.#gap ?? { why: ending, sinceMs: nowMs, attempts: 0 };
    const leftMs = PATIENCE_MS - (nowMs - gap.sinceMs);
    if (!this.#place || this.#isExpired || WANTED.has(ending.code)) return this.#finish(ending);
    if (leftMs <= 0) return this.#finish(gap.why);
    if (!this.#gap) this.#on.lost();
    this.#gap = gap;
    this.#timer = setTimeout(() => this.#connect(), Math.min(waitMs(gap.attempts), leftMs));
    gap.attempts += 1;
  }

  /** @param {Ending} ending */
  #finish(ending) {
    this.close();
    this.#on.ended(ending, this.#refusal);
  }
}
