/** What a conversation is made of, put together; and who is told of each frame, in order. */

import { Acks } from "./acks.js";
import { Answers } from "./answers.js";
import { Complaints } from "./complaints.js";
import { Course } from "./course.js";
import { Gap } from "./gap.js";
import { Hearing } from "./hearing.js";
import { OWNED_MS } from "./opening.js";
import { toSamples } from "./pcm.js";
import { Pieces } from "./pieces.js";
import { Playback } from "./playback.js";
import { append } from "./protocol.js";
import { Story } from "./story.js";
import { Turns } from "./turns.js";
import { SILENCED } from "./words.js";

/** @typedef {import("./line.js").Line} Line */

export class Parts {
  #opening;
  #pieces = new Pieces(toSamples(OWNED_MS));
  #acks;
  #story;

  /**
   * @param {import("./hooks.js").Hooks} hooks
   * @param {import("./opening.js").Opening} opening
   * @param {(event: import("./protocol.js").ClientEvent) => void} send
   */
  constructor(hooks, opening, send) {
    this.#opening = opening;
    this.#story = new Story(hooks.mark);
    this.complaints = new Complaints(hooks.trouble);
    this.playback = new Playback({
      began: () => {
        this.course.sounding();
        this.#story.sounds();
      },
      drained: () => this.course.quiet(),
      silenced: (is) => hooks.trouble(is ? SILENCED : { says: "" }),
    });
    const give = (/** @type {Line} */ line, /** @type {Float32Array} */ frame) => this.#give(line, frame);
    this.hearing = new Hearing(hooks, this.playback, give);
    this.answers = new Answers(this.playback, hooks.transcript, send, () => this.#story.interrupted());
    this.#acks = new Acks(this.playback, send);
    this.turns = new Turns(this.answers, hooks.transcript, hooks.step, send, opening);
    this.course = new Course(hooks, this.playback, this.answers);
    this.gap = new Gap(hooks, this.hearing, this.turns, this.answers);
  }

  /** @param {import("./protocol.js").ServerEvent} event */
  receive(event) {
    const told = [this.complaints, this.#story, this.turns, this.answers, this.#acks, this.course];
    for (const one of told) one.receive(event);
  }

  /** Bring the transcript up to what has been heard, and the server, where it wants to know. */
  show() {
    if (this.#opening.isDuplex) this.#acks.tell();
    this.answers.show();
  }

  /** How loud both sides are now, and how loud the answer would be that was cut off. */
  levels() {
    return { you: this.hearing.level, it: this.playback.level(), unheard: this.playback.unheard() };
  }

  /**
   * Where turns are the model's, it is given everything, in pieces as it likes them.
   * @type {(line: Line, frame: Float32Array) => void}
   */
  #give(line, frame) {
    const pieces = this.#opening.isOwned ? this.#pieces.push(frame) : [frame];
    for (const piece of pieces) line.stream(append(piece));
  }
}
