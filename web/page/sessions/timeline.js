/** The timeline as something to look at, to move and to point at. */

import { draw, LABELS, layout } from "./lanes.js";
import { Range } from "./range.js";
import { clock } from "./times.js";

const CLOSER = 0.6;
/** A press that moves less than this is a click. */
const STILL_PX = 4;
/** How near a mark a click must be to mean it. */
const NEAR_PX = 6;

export class Timeline {
  range = new Range();
  positionMs = 0;
  /** @type {number | null} */
  chosen = null;
  #canvas;
  #known;
  #waves;
  #on;
  #isDue = false;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./known.js").Known} known
   * @param {import("./waves.js").Waves} waves
   * @param {{moved: (ms: number) => void, chose: (seq: number) => void}} on
   */
  constructor(canvas, known, waves, on) {
    this.#canvas = canvas;
    this.#known = known;
    this.#waves = waves;
    this.#on = on;
    canvas.style.height = `${layout(Object.keys(LABELS)).height}px`;
    new ResizeObserver(() => this.show()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.#press(event));
    canvas.addEventListener("pointermove", (event) => this.#pointAt(event));
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Draw it, soon and once. */
  show() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  /** @param {number} ms */
  setPosition(ms) {
    this.positionMs = Math.max(0, Math.min(ms, this.#known.untilMs));
    this.#canvas.setAttribute("aria-valuenow", String(Math.round(this.positionMs)));
    this.#canvas.setAttribute("aria-valuetext", clock(this.positionMs));
    this.show();
  }

  /** @param {number} factor */
  zoom(factor) {
    const { fromMs, toMs, lengthMs } = this.range;
    const isSeen = this.positionMs >= fromMs && this.positionMs <= toMs;
    this.range.zoom(factor, isSeen ? this.positionMs : fromMs + lengthMs / 2);
    this.show();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = window.devicePixelRatio;
    this.#canvas.width = width * scale;
    this.#canvas.height = height * scale;
    const pen = this.#canvas.getContext("2d");
    if (!pen || !width) return;
    pen.scale(scale, scale);
    if (this.#known.isCaughtUp) this.#waves.want(this.range, width, this.#known);
    const style = getComputedStyle(this.#canvas);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    const { range, positionMs, chosen } = this;
    draw({ pen, width, range, known: this.#known, waves: this.#waves, positionMs, chosen, colour });
    this.#canvas.setAttribute("aria-valuemax", String(Math.round(this.#known.untilMs)));
  }

  /** @param {number} x */
  #ms(x) {
    return this.range.fromMs + (x / this.#canvas.clientWidth) * this.range.lengthMs;
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    const perPx = this.range.lengthMs / this.#canvas.clientWidth;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.range.move(event.deltaX * perPx);
    else this.range.zoom(event.deltaY > 0 ? 1 / CLOSER : CLOSER, this.#ms(event.offsetX));
    this.show();
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const { offsetX: x, offsetY: y } = event;
    let last = x;
    let isClick = true;
    const released = new AbortController();
    const { signal } = released;
    this.#canvas.setPointerCapture(event.pointerId);
    const moved = (/** @type {PointerEvent} */ { offsetX }) => {
      isClick &&= Math.abs(offsetX - x) < STILL_PX;
      if (isClick) return;
      this.range.move(this.#ms(last) - this.#ms(offsetX));
      last = offsetX;
      this.show();
    };
    const up = () => {
      released.abort();
      if (isClick) this.#click(x, y);
    };
    this.#canvas.addEventListener("pointermove", moved, { signal });
    this.#canvas.addEventListener("pointerup", up, { signal });
    this.#canvas.addEventListener("pointercancel", () => released.abort(), { signal });
  }

  /** @type {(x: number, y: number) => void} */
  #click(x, y) {
    const [near] = this.#near(x, y);
    if (near) this.#on.chose(near[0]);
    this.#on.moved(near ? near[1] : this.#ms(x));
  }

  /** Say what the mark is that is pointed at. @param {PointerEvent} event */
  #pointAt({ offsetX, offsetY }) {
    const [near] = this.#near(offsetX, offsetY);
    this.#canvas.title = near ? `${clock(near[1])} ${near[3]}` : "";
  }

  /** The marks that may be meant, the nearest first. @type {(x: number, y: number) => import("./known.js").Mark[]} */
  #near(x, y) {
    const lanes = Object.keys(LABELS);
    const place = layout(lanes);
    const lane = lanes.findLast((one) => y >= (place.lanes.get(one) ?? Infinity));
    return this.#known
      .between(this.#ms(x - NEAR_PX), this.#ms(x + NEAR_PX))
      .filter((mark) => mark[2] === lane)
      .sort(([, a], [, b]) => Math.abs(a - this.#ms(x)) - Math.abs(b - this.#ms(x)));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { range } = this;
    const stepMs = (event.shiftKey ? 10 : 1) * Math.max(range.lengthMs / 100, 20);
    /** @type {Record<string, () => void>} */
    const does = {
      ArrowLeft: () => this.#on.moved(this.positionMs - stepMs),
      ArrowRight: () => this.#on.moved(this.positionMs + stepMs),
      Home: () => this.#on.moved(0),
      End: () => this.#on.moved(this.#known.untilMs),
      "+": () => this.zoom(CLOSER),
      "-": () => this.zoom(1 / CLOSER),
    };
    const asked = does[event.key];
    if (!asked) return;
    event.preventDefault();
    asked();
    range.show(this.positionMs);
    this.show();
  }
}
