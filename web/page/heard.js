/**
 * Which of the assistant's words were heard, from how much of its audio was played.
 *
 * The text of a piece arrives just before its audio, so each piece of text is marked with the length of the
 * audio before it. Inside a piece the place is interpolated over its characters and falls between words.
 */

/** Slowest plausible speech, for a piece whose audio is still arriving. */
const MS_PER_CHARACTER = 60;

export class Words {
  text = "";
  /** All audio of it has arrived. */
  complete = false;
  /** @type {{from: number, beganMs: number}[]} */
  #marks = [];

  /**
   * @param {string} text
   * @param {number} receivedMs length of the audio that came before
   */
  add(text, receivedMs) {
    const last = this.#marks.at(-1);
    if (last?.beganMs !== receivedMs) this.#marks.push({ from: this.text.length, beganMs: receivedMs });
    this.text += text;
  }

  /**
   * The number of characters heard.
   * @param {number} heardMs
   * @param {number} receivedMs
   */
  heard(heardMs, receivedMs) {
    if (this.complete && heardMs >= receivedMs) return this.text.length;
    const current = this.#marks.findLastIndex((mark) => mark.beganMs < heardMs);
    if (current < 0) return 0;
    const { from, beganMs } = this.#marks[current];
    const after = this.#marks.at(current + 1);
    const until = after?.from ?? this.text.length;
    const guess = beganMs + (until - from) * MS_PER_CHARACTER;
    const endsMs = after?.beganMs ?? (this.complete ? receivedMs : Math.max(receivedMs, guess));
    const share = Math.min(1, (heardMs - beganMs) / (endsMs - beganMs));
    // A word that began counts as heard.
    const end = this.text.indexOf(" ", Math.floor(from + (until - from) * share));
    return end < 0 ? until : Math.min(end, until);
  }
}
