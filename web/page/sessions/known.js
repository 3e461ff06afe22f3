/** What is known of a session's course so far: it grows line by line. */

/**
 * A point of the timeline: event, ms since the beginning, lane, label.
 * @typedef {[number, number, string, string]} Mark
 *
 * @typedef {object} Span
 * @property {string} key
 * @property {"you" | "it"} side
 * @property {number} from_ms
 * @property {number | null} to_ms
 * @property {number} seq
 * @property {string} text
 * @property {number | null} heard_ms
 * @property {number | null} waited_ms
 * @property {string | null} outcome
 *
 * @typedef {object} Line
 * @property {number} next_seq
 * @property {number} until_ms
 * @property {boolean} caught_up
 * @property {boolean} over
 * @property {string | null} damage
 * @property {number[]} notable
 * @property {Mark[]} marks
 * @property {Span[]} spans
 */

export class Known {
  nextSeq = 0;
  untilMs = 0;
  isCaughtUp = false;
  isOver = false;
  /** Events that do not come many times a second. @type {number[]} */
  notable = [];
  /** In the order of their moments. @type {Mark[]} */
  marks = [];
  /** @type {Map<string, Span>} */
  spans = new Map();

  /** @param {Line} line */
  take(line) {
    this.nextSeq = Math.max(line.next_seq, this.nextSeq);
    this.untilMs = Math.max(line.until_ms, this.untilMs);
    this.isCaughtUp = line.caught_up;
    this.isOver = line.over;
    for (const seq of line.notable) this.notable.push(seq);
    for (const mark of line.marks) this.marks.push(mark);
    for (const span of line.spans) {
      this.spans.set(span.key, span);
      this.untilMs = Math.max(this.untilMs, span.heard_ms ?? 0);
    }
  }

  /** Those from one moment to another. @type {(fromMs: number, toMs: number) => Mark[]} */
  between(fromMs, toMs) {
    return this.marks.slice(first(this.marks, fromMs), first(this.marks, toMs));
  }

  /** The fault after an event, else the first of all. @param {number | null} seq null: after none */
  nextFault(seq) {
    const faults = this.marks.filter(([, , lane]) => lane === "faults");
    return faults.find(([fault]) => fault > (seq ?? -1)) ?? faults[0];
  }

  /** How many events there were up to a moment, as an index into `notable`. @param {number} seq */
  place(seq) {
    let [low, high] = [0, this.notable.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.notable[middle] < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The first mark that is not before a moment. @type {(marks: Mark[], ms: number) => number} */
function first(marks, ms) {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle][1] < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
