/** One session: its timeline, its events, and what can be heard and taken along of it. */

import { address, ask, follow, keepLife, key, Refusal, request } from "./api.js";
import { Detail } from "./detail.js";
import { element, Gate } from "./gate.js";
import { Known } from "./known.js";
import { Listening } from "./listening.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { clock, size } from "./times.js";
import { Waves } from "./waves.js";

const CLOSER = 0.6;
/** What is seen of a session that goes on. */
const LIVE_MS = 60_000;
/** A fault is shown with what is around it. */
const AROUND_MS = 10_000;
const AGAIN_MS = 2000;

const id = new URLSearchParams(location.search).get("id") ?? "";
const path = encodeURIComponent(id);
const follows = element("follow", HTMLInputElement);
const listen = element("listen", HTMLButtonElement);
const faultButton = element("fault", HTMLButtonElement);
const sure = element("sure", HTMLDialogElement);
const gate = new Gate(() => void begin());
const trouble = (/** @type {unknown} */ error) => gate.tell(error);

const known = new Known();
const waves = new Waves(path, { drawn: () => timeline.show(), trouble });
const timeline = new Timeline(element("timeline", HTMLCanvasElement), known, waves, {
  moved: (ms) => moveTo(ms),
  chose: (seq) => choose(seq),
});
const chose = (/** @type {import("./table.js").Row} */ row) => {
  moveTo(row.at_ms);
  timeline.range.show(row.at_ms);
  choose(row.seq);
};
const table = new Table(path, element("events", HTMLElement), known, { chose, trouble });
const detail = new Detail(path, element("detail", HTMLElement), { chose, trouble });
const listening = new Listening(path, {
  moved: (ms) => place(ms),
  ended: () => listens(false),
  trouble,
});

let watching = new AbortController();

/** From the beginning, or from where it stopped. There is one watch at a time. */
async function begin() {
  watching.abort();
  watching = new AbortController();
  const { signal } = watching;
  try {
    show(await ask(`/${path}`, signal));
    restore();
    await watch(signal);
    show(await ask(`/${path}`, signal));
  } catch (error) {
    gate.tell(error);
  }
}

/** Until the session is over; a connection that is lost is made again. @param {AbortSignal} signal */
async function watch(signal) {
  while (!known.isOver) {
    let isBack = false;
    try {
      await follow(`/${path}/follow?from=${known.nextSeq}`, signal, (line) => {
        if (!isBack) restore();
        isBack = true;
        take(line);
      });
    } catch (error) {
      if (!(error instanceof Refusal && error.isPassing)) throw error;
      gate.tell(error);
    }
    if (!known.isOver) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** The server answers: of what has failed nothing is told any more, and it is asked for again. */
function restore() {
  gate.clear();
  waves.retry();
  timeline.show();
  table.show();
}

/** @param {import("./known.js").Line} line */
function take(line) {
  const isFirst = !known.isCaughtUp;
  known.take(line);
  if (line.damage) gate.say(`The log is damaged: what lies behind the damage is not shown. ${line.damage}`);
  element("follow-choice", HTMLElement).hidden = known.isOver;
  timeline.range.grow(known.untilMs, follows.checked);
  if (isFirst && known.isCaughtUp && !known.isOver && known.untilMs > LIVE_MS) timeline.range.last(LIVE_MS);
  faultButton.disabled = !known.nextFault(null);
  document.body.dataset.state = known.isOver ? "over" : known.isCaughtUp ? "live" : "reading";
  timeline.show();
  table.refresh();
}

/**
 * @typedef {{session: string, life: number, lives: number, events: number}} Counts
 * @typedef {Counts & {audio_bytes: number, erased: boolean, sealed: boolean}} Head
 * @param {Head} head
 */
function show({ session, life, lives, events, audio_bytes, erased, sealed }) {
  keepLife(life);
  element("title", HTMLElement).textContent = session;
  document.title = `${session} - Antiphon`;
  const facts = [`${events} events`, erased ? "audio erased" : size(audio_bytes), sealed ? "over" : "open"];
  if (lives > 1) facts.push(`the latest of ${lives} lives`);
  element("facts", HTMLElement).textContent = facts.join(", ");
  element("erase", HTMLButtonElement).disabled = erased;
  element("download", HTMLFormElement).action = address(`/${path}/download`);
}

/** @param {number} seq */
function choose(seq) {
  timeline.chosen = seq;
  timeline.show();
  table.choose(seq);
  void detail.show(seq);
}

/** @param {number} ms */
function place(ms) {
  timeline.setPosition(ms);
  element("position", HTMLOutputElement).textContent = clock(timeline.positionMs);
}

/** By hand: what is heard goes on from there. @param {number} ms */
function moveTo(ms) {
  place(ms);
  if (listening.isOn) listening.start(timeline.positionMs, () => known.untilMs);
  listens(listening.isOn);
}

/** @param {boolean} isOn */
function listens(isOn) {
  listen.textContent = isOn ? "Pause" : "Listen";
  listen.setAttribute("aria-pressed", String(isOn));
}

listen.addEventListener("click", () => {
  if (listening.isOn) return listening.stop();
  const fromMs = timeline.positionMs >= known.untilMs ? 0 : timeline.positionMs;
  listening.start(fromMs, () => known.untilMs);
  listens(true);
});
element("generated", HTMLInputElement).addEventListener("change", ({ target }) => {
  listening.generated = /** @type {HTMLInputElement} */ (target).checked;
  if (listening.isOn) moveTo(timeline.positionMs);
});
element("everything", HTMLInputElement).addEventListener("change", ({ target }) => {
  table.everything = /** @type {HTMLInputElement} */ (target).checked;
  table.refresh(true);
});
element("closer", HTMLButtonElement).addEventListener("click", () => timeline.zoom(CLOSER));
element("wider", HTMLButtonElement).addEventListener("click", () => timeline.zoom(1 / CLOSER));
element("whole", HTMLButtonElement).addEventListener("click", () => {
  timeline.range.whole();
  timeline.show();
});
faultButton.addEventListener("click", () => {
  const fault = known.nextFault(timeline.chosen);
  if (!fault) return;
  const [seq, ms] = fault;
  if (timeline.range.lengthMs > 2 * AROUND_MS) timeline.range.zoom((2 * AROUND_MS) / timeline.range.lengthMs, ms);
  moveTo(ms);
  timeline.range.show(ms);
  choose(seq);
});
element("download", HTMLFormElement).addEventListener("submit", () => {
  element("download-key", HTMLInputElement).value = key();
});
element("erase", HTMLButtonElement).addEventListener("click", () => sure.showModal());
sure.addEventListener("close", async () => {
  if (sure.returnValue !== "yes") return;
  sure.returnValue = "";
  try {
    await request(`/${path}/audio`, { method: "DELETE" });
    listening.stop();
    waves.waves = [];
    show(await ask(`/${path}`));
    timeline.show();
  } catch (error) {
    gate.tell(error);
  }
});
element("title", HTMLElement).textContent = id;
void begin();
