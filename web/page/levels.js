/**
 * How loud both sides are: a bar for each, and a ribbon of the last seconds with the user above the line and
 * the assistant below it, as two choirs answer each other.
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

/** @typedef {{you: number, it: number}} Levels */

export class LevelView {
  #canvas;
  #meters;
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Levels[]} */
  #past = [];

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
    const now = { you: share(levels.you), it: share(levels.it) };
    for (const side of /** @type {const} */ (["you", "it"])) {
      const percent = Math.round(now[side] * 100);
      this.#meters[side].setAttribute("aria-valuenow", String(percent));
      this.#meters[side].style.setProperty("--level", String(now[side]));
    }
    this.#past.push(now);
    this.#past.splice(0, this.#past.length - this.#columns());
    if (!this.#still.matches) this.#draw();
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
    const middle = height / 2;
    const reach = middle - 3;
    const columns = this.#columns();
    for (let k = 0; k < columns; k++) {
      const { you, it } = this.#past[this.#past.length - columns + k] ?? { you: 0, it: 0 };
      const x = width - (columns - k) * PITCH_PX;
      column(pen, x, middle - 2, -Math.max(1, you * reach), style.getPropertyValue(you > 0.02 ? "--you" : "--rule"));
      column(pen, x, middle + 2, Math.max(1, it * reach), style.getPropertyValue(it > 0.02 ? "--it" : "--rule"));
    }
  }
}

/** @type {(pen: CanvasRenderingContext2D, x: number, y: number, height: number, colour: string) => void} */
function column(pen, x, y, height, colour) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.roundRect(x, height < 0 ? y + height : y, COLUMN_PX, Math.abs(height), 1.5);
  pen.fill();
}
