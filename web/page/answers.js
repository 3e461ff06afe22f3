/**
 * The assistant's side: what it says goes to the loudspeaker and to the transcript, and an interruption stops
 * both at the same word.
 *
 * After an interruption the server is told how much was heard (`conversation.item.truncate`), so that its
 * history holds what the user heard; not when everything received had been played. What still arrives of an
 * interrupted answer is not played. If it does arrive, the server knows more than the user heard, and is told.
 */

import { begun } from "./answer.js";
import { cancel, numberOf, retrieve, truncate } from "./protocol.js";

/** @typedef {import("./protocol.js").ServerEvent} ServerEvent */

/** @typedef {import("./answer.js").Answer} Answer */

export class Answers {
  /** The response that is being generated. @type {string | null} */
  active = null;
  /** The number of the last frame before it. */
  #before = 0;
  /** @type {Map<string, Answer>} */
  #answers = new Map();

  /**
   * @param {import("./playback.js").Playback} playback
   * @param {import("./transcript.js").Transcript} transcript
   * @param {(event: import("./protocol.js").ClientEvent) => void} send
   * @param {() => void} onCut something that sounded was cut off
   */
  constructor(playback, transcript, send, onCut) {
    this.onCut = onCut;
    this.playback = playback;
    this.transcript = transcript;
    this.send = send;
  }

  /** What concerns answers; other events do nothing. @param {ServerEvent} event */
  receive(event) {
    this.#reactions[event.type]?.(event);
  }

  /**
   * Fall silent at once.
   * @param {string | null} response what else is cut, although it may have nothing queued
   */
  interrupt(response = this.active) {
    const unplayed = new Map(this.playback.flush().map(({ item, heardMs }) => [item, heardMs]));
    if (unplayed.size) this.onCut();
    for (const [item, answer] of this.#answers) {
      if (answer.cutMs !== null || !(unplayed.has(item) || answer.response === response)) continue;
      if (answer.silent || !this.#hasBegun(item, answer)) continue;
      answer.cutMs = unplayed.get(item) ?? this.playback.heardMs(item);
      if (unplayed.has(item)) this.#tell(item, answer);
      this.transcript.interrupted(item, answer.cutMs, this.playback.receivedMs(item));
    }
  }

  /** Show how far every answer has been heard. */
  show() {
    for (const [item, answer] of this.#answers) {
      this.transcript.show(item, answer.words.text, this.#heard(item, answer));
      if (this.#isOver(item, answer)) this.#answers.delete(item);
    }
  }

  /** There is a connection again, and nobody knows what of ours was lost on its way: what was cut is told again. */
  restored() {
    for (const [item, answer] of this.#answers) {
      if (!answer.told || answer.cutMs === null || answer.kept !== null) continue;
      if (answer.response === this.active) this.send(cancel(answer.response));
      this.send(truncate(item, answer.cutMs));
    }
  }

  /**
   * What a page that starts over must know of them: the last frame that it need not be told again, and how much was
   * heard of the answers that it is.
   * @param {number} last number of the last frame that is here
   * @returns {{last: number, heard: [string, number][]}}
   */
  unsettled(last) {
    const open = [...this.#answers];
    const places = open.map(([, answer]) => answer.before);
    if (this.active) places.push(this.#before);
    return {
      last: Math.min(last, ...places),
      heard: open.map(([item, answer]) => [item, answer.cutMs ?? this.playback.heardMs(item)]),
    };
  }

  /** @type {Record<string, (event: ServerEvent) => void>} */
  #reactions = {
    "response.created": (event) => {
      this.active = event.response.id;
      this.#before = (numberOf(event) ?? 1) - 1;
    },
    "response.output_item.added": (event) => this.#itemAdded(event),
    "response.output_audio_transcript.delta": (event) => this.#said(event),
    "response.output_text.delta": (event) => this.#wrote(event),
    "response.output_audio.delta": (event) => this.#sounded(event),
    "response.done": (event) => this.#ended(event),
    // Whoever has shortened an item, the server knows what it keeps.
    "conversation.item.truncated": ({ item_id }) => this.#answers.has(item_id) && this.send(retrieve(item_id)),
    "conversation.item.retrieved": (event) => this.#retrieved(event),
  };

  /** @param {ServerEvent} event */
  #itemAdded({ response_id, item }) {
    if (item.type !== "message") return;
    this.#answers.set(item.id, begun(response_id, this.#before));
    this.transcript.answerBegan(item.id);
  }

  /** An answer that had begun before this page came to the conversation. @param {ServerEvent} event */
  #meet(event) {
    if (this.active || this.#answers.has(event.item_id)) return;
    this.active = event.response_id;
    this.#before = (numberOf(event) ?? 1) - 1;
    this.#itemAdded({ ...event, item: { id: event.item_id, type: "message" } });
  }

  /** @param {ServerEvent} event */
  #said(event) {
    this.#meet(event);
    const { item_id, delta } = event;
    this.#answers.get(item_id)?.words.add(delta, this.playback.receivedMs(item_id));
  }

  /** @param {ServerEvent} event */
  #wrote(event) {
    const answer = this.#answers.get(event.item_id);
    if (answer) answer.silent = true;
    this.#said(event);
  }

  /** @param {ServerEvent} event */
  #sounded(event) {
    this.#meet(event);
    const { item_id, delta } = event;
    const answer = this.#answers.get(item_id);
    if (!answer) return;
    if (answer.cutMs === null) this.playback.play(item_id, answer.decoder.decode(delta));
    else this.#tell(item_id, answer);
  }

  /** @param {ServerEvent} event */
  #ended({ response }) {
    if (this.active === response.id) this.active = null;
    if (response.status === "cancelled") this.interrupt(response.id);
    for (const [item, answer] of this.#answers) {
      if (answer.response !== response.id) continue;
      answer.words.complete = true;
      this.transcript.answerEnded(item, answer.words.text !== "", this.playback.receivedMs(item));
    }
  }

  /** The server's own account of what was heard. @param {ServerEvent} event */
  #retrieved({ item }) {
    const answer = this.#answers.get(item.id);
    const kept = item.content?.[0]?.transcript;
    if (!answer || typeof kept !== "string") return;
    answer.kept = answer.words.text.startsWith(kept) ? kept.length : this.#heard(item.id, answer);
  }

  /** Whether nothing about it can change any more. @type {(item: string, answer: Answer) => boolean} */
  #isOver(item, answer) {
    if (!answer.words.complete) return false;
    if (answer.cutMs !== null) return answer.kept !== null || !answer.told;
    return this.playback.heardMs(item) >= this.playback.receivedMs(item);
  }

  /** What has not begun to arrive is not interrupted: the server decides whether it will.
   * @type {(item: string, answer: Answer) => boolean} */
  #hasBegun(item, answer) {
    return answer.words.text !== "" || this.playback.receivedMs(item) > 0;
  }

  /** @type {(item: string, answer: Answer) => number} */
  #heard(item, answer) {
    if (answer.silent) return answer.words.text.length;
    const heardMs = answer.cutMs ?? this.playback.heardMs(item);
    return answer.kept ?? answer.words.heard(heardMs, this.playback.receivedMs(item));
  }

  /** @type {(item: string, answer: Answer) => void} */
  #tell(item, answer) {
    if (answer.told || answer.cutMs === null) return;
    answer.told = true;
    this.send(truncate(item, answer.cutMs));
  }
}
