/** The page itself: what is clicked becomes a conversation, what happens in it becomes visible. */

import { Conversation } from "./conversation.js";
import { EchoGuard } from "./guard.js";
import { look } from "./health.js";
import { LevelView } from "./levels.js";
import { RATE } from "./pcm.js";
import { isConnected, isOver, NAMES, next } from "./phases.js";
import { readRecording } from "./recording.js";
import { Transcript } from "./transcript.js";
import { NOT_SOUND } from "./words.js";

/** @typedef {import("./voice.js").Voice} Voice */

const KEY = "antiphon.key";
const TICK_MS = 50;

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new TypeError(`#${id} is not a ${kind.name}`);
  return found;
}

const talk = element("talk", HTMLButtonElement);
const interrupt = element("interrupt", HTMLButtonElement);
const mute = element("mute", HTMLButtonElement);
const trouble = element("trouble", HTMLElement);
const key = element("key", HTMLInputElement);
const keyForm = element("key-form", HTMLFormElement);
const draft = element("message", HTMLInputElement);
const file = element("file", HTMLInputElement);
const recordingState = element("recording-state", HTMLOutputElement);
const sources = /** @type {NodeListOf<HTMLInputElement>} */ (document.getElementsByName("source"));

const guard = new EchoGuard();
const transcript = new Transcript(element("transcript", HTMLOListElement), element("scroller", HTMLElement));
const levels = new LevelView(element("ribbon", HTMLCanvasElement), {
  you: element("your-level", HTMLElement),
  it: element("its-level", HTMLElement),
});

/** @type {import("./phases.js").Phase} */
let phase = "idle";
/** @type {Conversation | null} */
let conversation = null;
/** @type {Float32Array | null} */
let recording = null;

// --- what happens -----------------------------------------------------------------------------------------

const hooks = { transcript, guard, step, trouble: tell, loading, health: showHealth, recordingEnded };

/** @param {import("./phases.js").Step} happened */
function step(happened) {
  phase = next(phase, happened);
  document.body.dataset.phase = phase;
  const isTyping = phase === "listening" && source() === "typing";
  element("phase", HTMLElement).textContent = isTyping ? "Ready" : NAMES[phase];
  talk.textContent = isOver(phase) ? "Talk" : "Stop";
  interrupt.disabled = phase !== "thinking" && phase !== "speaking";
  mute.disabled = !isConnected(phase);
  if (happened === "ready") keyForm.hidden = true;
}

/** @param {import("./health.js").Health} health */
function loading(health) {
  step("loading");
  showHealth(health);
}

/** @param {import("./words.js").Trouble} what */
function tell({ says, wantsKey }) {
  trouble.textContent = says;
  if (wantsKey) keyForm.hidden = false;
  if (wantsKey) key.focus();
}

/** @param {import("./health.js").Health} health */
function showHealth({ notice, stages = {} }) {
  const loading = element("loading", HTMLUListElement);
  const waiting = Object.entries(stages).filter(([, stage]) => stage.state !== "ready");
  loading.hidden = waiting.length === 0;
  const lines = waiting.map(([name, { state, progress }]) => {
    const line = document.createElement("li");
    line.textContent = `${name}: ${[state, progress].filter(Boolean).join(", ")}`;
    return line;
  });
  loading.replaceChildren(...lines);
  const aside = element("notice", HTMLElement);
  if (notice) aside.textContent = notice;
  aside.hidden = !aside.textContent;
}

function recordingEnded() {
  recordingState.textContent = "played to its end";
}

// --- what is asked ----------------------------------------------------------------------------------------

const source = () => Array.from(sources).find((one) => one.checked)?.value ?? "typing";

/** @returns {Voice} */
const voice = () => (source() === "microphone" ? "microphone" : source() === "recording" ? recording : null);

/** @param {Voice} from */
function begin(from) {
  conversation?.stop();
  transcript.clear();
  tell({ says: "" });
  mute.setAttribute("aria-pressed", "false");
  conversation = new Conversation(hooks);
  void conversation.start(key.value.trim(), from);
}

function chooseSource() {
  element("recording", HTMLElement).hidden = source() !== "recording";
  if (isConnected(phase)) void conversation?.listenTo(voice());
}

/** @param {File} chosen */
async function take(chosen) {
  try {
    recording = await readRecording(chosen);
  } catch {
    return tell(NOT_SOUND);
  }
  for (const one of sources) one.checked = one.value === "recording";
  recordingState.textContent = `${chosen.name}, ${(recording.length / RATE).toFixed(1)} s`;
  chooseSource();
}

function keepKey() {
  if (key.value) sessionStorage.setItem(KEY, key.value.trim());
  else sessionStorage.removeItem(KEY);
}

talk.addEventListener("click", () => {
  if (!isOver(phase)) return conversation?.stop();
  if (source() === "recording" && !recording) return tell({ says: "Choose a sound file first." });
  begin(voice());
});
interrupt.addEventListener("click", () => conversation?.interrupt());
mute.addEventListener("click", () => {
  const muted = mute.getAttribute("aria-pressed") !== "true";
  mute.setAttribute("aria-pressed", String(muted));
  conversation?.mute(muted);
});
document.addEventListener("keydown", ({ key: pressed }) => {
  if (pressed === "Escape" && !interrupt.disabled) conversation?.interrupt();
});
for (const one of sources) one.addEventListener("change", chooseSource);
file.addEventListener("change", () => void (file.files?.[0] && take(file.files[0])));
keyForm.addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey();
  begin(voice());
});
element("composer", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const text = draft.value.trim();
  if (!text) return;
  draft.value = "";
  if (isOver(phase)) begin(source() === "microphone" ? null : voice());
  conversation?.say(text);
});
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const dropped = event.dataTransfer?.files[0];
  if (dropped) void take(dropped);
});
for (const [id, set] of /** @type {const} */ ([
  ["guard-ms", (/** @type {number} */ value) => void (guard.forMs = value)],
  ["guard-db", (/** @type {number} */ value) => void (guard.marginDb = value)],
])) {
  const input = element(id, HTMLInputElement);
  input.addEventListener("change", () => input.checkValidity() && set(input.valueAsNumber));
}

key.value = sessionStorage.getItem(KEY) ?? "";
setInterval(() => {
  conversation?.show();
  levels.push(conversation?.levels() ?? { you: 0, it: 0 });
}, TICK_MS);
look().then(({ health }) => showHealth(health), () => {});
