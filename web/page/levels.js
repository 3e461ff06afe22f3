/**
 * How loud both sides are: a bar for each, and a ribbon of the last seconds with the user above the line and
 * the assistant below it, as two choirs answer each other. What an interruption took away goes on in grey, and
 * what was decided stands where it was.
 */

const QUIETEST_DB = -54;
/** Width of a column and its gap. */
const COLUMN_PX = 3;
const PITCH_PX = 5;

/**
 * Loudness as the ear has it: 0 at -54 dB, 1 at full scale.
 * @param {number} level root mean square
 */
export function share(level) {
  return Math.max(0, Math.min(1, 1 - (20 * Math.log10(level + 1e-6)) / QUIETEST_DB));
}

/** `unheard`: of the answer that was cut off. @typedef {{you: number, it: number, unheard: number}} Levels */
/** @typedef {Levels & {label: string}} Moment */

/** Room for what was decided. */
const WORDS_PX = 16;

export class LevelView {
  #canvas;
  #meters;
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Moment[]} */
  #past = [];
  /** What is to stand at the next moment. @type {string[]} */
  #labels = [];

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{you: HTMLElement, it: HTMLElement}} meters
   */
  constructor(canvas, meters) {
    this.#canvas = canvas;
    this.#meters = meters;
    new ResizeObserver(() => this.#draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /** @param {Levels} levels root mean square of this moment */
  push(levels) {
    const label = this.#labels.splice(0).join(", ");
    const now = { you: share(levels.you), it: share(levels.it), unheard: share(levels.unheard), label };
    for (const side of /** @type {const} */ (["you", "it"])) {
      const percent = Math.round(now[side] * 100);
      this.#meters[side].setAttribute("aria-valuenow", String(percent));
      this.#meters[side].style.setProperty("--level", String(now[side]));
    }
    this.#past.push(now);
    this.#past.splice(0, this.#past.length - this.#columns());
    if (!this.#still.matches) this.#draw();
  }

  /** @param {string} label what was decided just now */
  mark(label) {
    this.#labels.push(label);
  }

  #columns() {
    return Math.ceil(this.#canvas.clientWidth / PITCH_PX);
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = window.devicePixelRatio;
    this.#canvas.width = width * scale;
    this.#canvas.height = height * scale;
    const pen = this.#canvas.getContext("2d");
    if (!pen) return;
    pen.scale(scale, scale);
    const style = getComputedStyle(this.#canvas);
    const middle = (height - WORDS_PX) / 2;
    const reach = middle - 3;
    const place = (/** @type {number} */ k) => width - (columns - k) * PITCH_PX;
    const columns = this.#columns();
    const first = Math.max(columns - this.#past.length, 0);
    for (let k = 0; k < columns; k++) {
      const { you, it, unheard } = this.#past[k - first] ?? { you: 0, it: 0, unheard: 0 };
      const x = place(k);
      if (unheard > it) column(pen, x, middle + 2, unheard * reach, style.getPropertyValue("--unheard"));
      column(pen, x, middle - 2, -Math.max(1, you * reach), style.getPropertyValue(you > 0.02 ? "--you" : "--rule"));
      column(pen, x, middle + 2, Math.max(1, it * reach), style.getPropertyValue(it > 0.02 ? "--it" : "--rule"));
    }
    this.#write(pen, (k) => place(first + k), height, style);
  }

  /** What was decided, the latest over what is too near to it. @type {Write} */
  #write(pen, place, height, style) {
    pen.font = "11px system-ui, sans-serif";
    let until = Infinity;
    for (let k = this.#past.length - 1; k >= 0; k--) {
      const { label } = this.#past[k];
      if (!label) continue;
      const x = Math.max(place(k) + 1, 0);
      pen.fillStyle = style.getPropertyValue("--soft");
      pen.fillRect(x, 0, 1, height);
      if (x + pen.measureText(label).width + 8 < until) pen.fillText(label, x + 4, height - 4);
      until = x;
    }
  }
}

/** @typedef {(k: number) => number} Place */
/** @typedef {(pen: CanvasRenderingContext2D, place: Place, height: number, style: CSSStyleDeclaration) => void} Write */

/** @type {(pen: CanvasRenderingContext2D, x: number, y: number, height: number, colour: string) => void} */
function column(pen, x, y, height, colour) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.roundRect(x, height < 0 ? y + height : y, COLUMN_PX, Math.abs(height), 1.5);
  pen.fill();
}
