/** Tells the server of the duplex dialect how much of each answer was really played: its history holds no more. */

import { played } from "./protocol.js";

const EVERY_MS = 200;

export class Acks {
  /** Answers that are not played to their end yet. @type {Map<string, {response: string, told: number, isDone: boolean}>} */
  #open = new Map();

  /**
   * @param {import("./playback.js").Playback} playback
   * @param {(event: import("./protocol.js").ClientEvent) => void} send
   */
  constructor(playback, send) {
    this.playback = playback;
    this.send = send;
  }

  /** @param {import("./protocol.js").ServerEvent} event */
  receive({ type, response_id, response, item }) {
    if (type === "response.output_item.added" && item.type === "message") {
      this.#open.set(item.id, { response: response_id, told: 0, isDone: false });
    }
    if (type !== "response.done") return;
    for (const answer of this.#open.values()) answer.isDone ||= answer.response === response.id;
  }

  /** Looked at many times a second. */
  tell() {
    for (const [item, answer] of this.#open) {
      const heardMs = this.playback.heardMs(item);
      const isOver = answer.isDone && (!this.playback.sounding || heardMs >= this.playback.receivedMs(item));
      if (heardMs - answer.told >= EVERY_MS || (isOver && heardMs > answer.told)) {
        answer.told = heardMs;
        this.send(played(answer.response, heardMs));
      }
      if (isOver) this.#open.delete(item);
    }
  }
}
