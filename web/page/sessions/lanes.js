/** Drawing the timeline: both voices, and below them what was decided, heard, refused, and who came and went. */

import { clock, step } from "./times.js";

export const LABELS = { decisions: "Decisions", heard: "Heard", faults: "Faults", connections: "Clients", images: "Images" };

const RULER = 20;
const WAVE = 58;
const WORDS = 18;
const LANE = 18;
const GAP = 6;
/** Px: of a label that is cut off. */
const LEAST_OF_A_LABEL = 60;

/** Where each lane lies. @type {(lanes: string[]) => {you: number, it: number, lanes: Map<string, number>, height: number}} */
export function layout(lanes) {
  const you = RULER;
  const it = you + WAVE + WORDS + GAP;
  const first = it + WAVE + WORDS + GAP;
  const places = new Map(lanes.map((lane, k) => [lane, first + k * LANE]));
  return { you, it, lanes: places, height: first + lanes.length * LANE + 4 };
}

/**
 * @typedef {object} Scene
 * @property {CanvasRenderingContext2D} pen
 * @property {number} width in CSS pixels
 * @property {import("./range.js").Range} range
 * @property {import("./known.js").Known} known
 * @property {import("./waves.js").Waves} waves
 * @property {number} positionMs
 * @property {number | null} chosen the event that is looked at
 * @property {(name: string) => string} colour
 */

/** @param {Scene} scene */
export function draw(scene) {
  const lanes = Object.keys(LABELS);
  const place = layout(lanes);
  scene.pen.clearRect(0, 0, scene.width, place.height);
  ruler(scene, place.height);
  const spans = [...scene.known.spans.values()].filter(
    ({ from_ms, to_ms }) => from_ms < scene.range.toMs && (to_ms ?? scene.known.untilMs) > scene.range.fromMs,
  );
  const answers = spans.filter(({ side }) => side === "it");
  wave(scene, place.you, 0, () => scene.colour("--you"));
  voice(scene, place.you);
  wave(scene, place.it, 1, (ms) => (wasHeard(answers, ms) ? scene.colour("--it") : scene.colour("--unheard")));
  for (const side of /** @type {const} */ (["you", "it"])) {
    const own = spans.filter((one) => one.side === side);
    said(scene, own, place[side] + WAVE);
  }
  title(scene, "You", place.you);
  title(scene, "Antiphon", place.it);
  const marks = scene.known.between(scene.range.fromMs, scene.range.toMs);
  for (const [lane, y] of place.lanes) {
    const right = title(scene, LABELS[/** @type {keyof typeof LABELS} */ (lane)], y);
    points(scene, marks.filter((mark) => mark[2] === lane), y, right);
  }
  playhead(scene, place.height);
}

/** @type {(scene: Scene, ms: number) => number} */
const x = ({ range, width }, ms) => ((ms - range.fromMs) / range.lengthMs) * width;

/** Outside of every answer nothing is unheard. @type {(answers: import("./known.js").Span[], ms: number) => boolean} */
function wasHeard(answers, ms) {
  const sounding = answers.filter(({ from_ms, to_ms }) => from_ms <= ms && ms <= (to_ms ?? ms));
  return !sounding.length || sounding.some(({ heard_ms }) => ms <= (heard_ms ?? ms));
}

/** @type {(scene: Scene, height: number) => void} */
function ruler(scene, height) {
  const { pen, range, width } = scene;
  const every = step(range.lengthMs / width, 72);
  pen.font = "11px system-ui, sans-serif";
  for (let ms = Math.ceil(range.fromMs / every) * every; ms < range.toMs; ms += every) {
    pen.fillStyle = scene.colour("--rule");
    pen.fillRect(Math.round(x(scene, ms)), RULER - 4, 1, height);
    pen.fillStyle = scene.colour("--soft");
    pen.fillText(clock(ms), x(scene, ms) + 3, RULER - 8);
  }
}

/** @type {(scene: Scene, y: number, side: number, colour: (ms: number) => string) => void} */
function wave(scene, y, side, colour) {
  const { pen, range, width } = scene;
  const perPx = range.lengthMs / width;
  const middle = y + WAVE / 2;
  for (let k = 0; k < width; k++) {
    const fromMs = range.fromMs + k * perPx;
    const loud = scene.waves.at(fromMs, fromMs + perPx)?.[side] ?? 0;
    if (!loud) continue;
    const half = Math.max(1, Math.sqrt(loud / 255) * (WAVE / 2 - 2));
    pen.fillStyle = colour(fromMs);
    pen.fillRect(k, middle - half, 1, 2 * half);
  }
}

/** The probability of speech, as a line over the user's voice. @type {(scene: Scene, y: number) => void} */
function voice(scene, y) {
  const { pen, range, width } = scene;
  const perPx = range.lengthMs / width;
  pen.strokeStyle = scene.colour("--ink");
  pen.globalAlpha = 0.55;
  pen.beginPath();
  for (let k = 0; k < width; k++) {
    const sure = scene.waves.at(range.fromMs + k * perPx, range.fromMs + (k + 1) * perPx)?.[2] ?? 0;
    pen.lineTo(k, y + WAVE - 2 - (sure / 255) * (WAVE - 6));
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/** What one side said, as far as there is room. @type {(scene: Scene, spans: import("./known.js").Span[], y: number) => void} */
function said(scene, spans, y) {
  spans.sort((one, other) => one.from_ms - other.from_ms);
  spans.forEach((span, k) => {
    const end = Math.min(span.to_ms ?? scene.known.untilMs, spans[k + 1]?.from_ms ?? Infinity);
    words(scene, span, x(scene, span.from_ms), x(scene, end), y);
  });
}

/** @type {(scene: Scene, span: import("./known.js").Span, from: number, to: number, y: number) => void} */
function words(scene, span, from, to, y) {
  const { pen } = scene;
  const heard = span.heard_ms === null ? to : Math.min(x(scene, span.heard_ms), to);
  pen.fillStyle = scene.colour(span.outcome === "failed" ? "--fault" : span.side === "you" ? "--you" : "--it");
  pen.fillRect(from, y, Math.max(heard - from, 2), 2);
  pen.fillStyle = scene.colour("--unheard");
  if (to > heard) pen.fillRect(heard, y, to - heard, 2);
  const waited = span.waited_ms === null ? "" : `after ${(span.waited_ms / 1000).toFixed(2)} s: `;
  const left = Math.max(from, 0) + 2;
  pen.fillStyle = scene.colour("--soft");
  pen.fillText(fitted(pen, `${waited}${span.text}`, to - left - 4), left, y + 14);
}

/**
 * Nothing where there is so little room that what is left would say nothing.
 * @type {(pen: CanvasRenderingContext2D, text: string, room: number, least?: number) => string}
 */
function fitted(pen, text, room, least = 24) {
  if (room < 24) return "";
  const { width } = pen.measureText(text);
  if (width <= room) return text;
  if (room < least) return "";
  return `${text.slice(0, Math.max(Math.floor((text.length * room) / width) - 1, 0))}…`;
}

/** Where it ends. @type {(scene: Scene, name: string, y: number) => number} */
function title(scene, name, y) {
  const { pen } = scene;
  pen.font = "11px system-ui, sans-serif";
  const right = pen.measureText(name).width + 8;
  pen.fillStyle = scene.colour("--paper");
  pen.globalAlpha = 0.8;
  pen.fillRect(0, y + 2, right, 14);
  pen.globalAlpha = 1;
  pen.fillStyle = scene.colour("--soft");
  pen.fillText(name, 4, y + 13);
  return right;
}

/**
 * The marks of a lane, with their labels where there is room between one and the next.
 * @type {(scene: Scene, marks: import("./known.js").Mark[], y: number, left: number) => void}
 */
function points(scene, marks, y, left) {
  marks.forEach(([seq, ms, lane, label], k) => {
    const at = x(scene, ms);
    const isChosen = seq === scene.chosen;
    const half = isChosen ? 4 : lane === "heard" ? 1 : 3;
    const from = Math.max(at + half + 3, left + 4);
    const next = k + 1 < marks.length ? x(scene, marks[k + 1][1]) : scene.width;
    scene.pen.fillStyle = scene.colour("--soft");
    scene.pen.fillText(fitted(scene.pen, label, next - from - 6, LEAST_OF_A_LABEL), from, y + 13);
    scene.pen.fillStyle = scene.colour(isChosen ? "--ink" : lane === "faults" ? "--fault" : "--mark");
    scene.pen.beginPath();
    scene.pen.roundRect(at - half, y + 4, 2 * half, 11, half);
    scene.pen.fill();
  });
}

/** @type {(scene: Scene, height: number) => void} */
function playhead(scene, height) {
  scene.pen.fillStyle = scene.colour("--ink");
  scene.pen.fillRect(x(scene, scene.positionMs) - 0.75, 0, 1.5, height);
}
