/** The page itself: what is clicked becomes a conversation, what happens in it becomes visible. */

import { Call } from "./call.js";
import { Choices } from "./choices.js";
import { Conversation } from "./conversation.js";
import { EchoGuard } from "./guard.js";
import { look } from "./health.js";
import { HealthView } from "./health-view.js";
import { invited, keep, kept } from "./kept.js";
import { LevelView } from "./levels.js";
import { Manner } from "./manner.js";
import { isAnswering, isHeld, isOver, NAMES, next } from "./phases.js";
import { Sources } from "./sources.js";
import { Transcript } from "./transcript.js";

const KEY = "antiphon.key";
const TICK_MS = 50;
/** How much of a conversation a page that dies without notice may have to be told again. */
const KEEP_MS = 1000;

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

const guard = new EchoGuard();
const transcript = new Transcript(element("transcript", HTMLOListElement), element("scroller", HTMLElement));
const levels = new LevelView(element("ribbon", HTMLCanvasElement), {
  you: element("your-level", HTMLElement),
  it: element("its-level", HTMLElement),
});
const sources = new Sources(
  /** @type {NodeListOf<HTMLInputElement>} */ (document.getElementsByName("source")),
  {
    row: element("recording", HTMLElement),
    file: element("file", HTMLInputElement),
    state: element("recording-state", HTMLOutputElement),
  },
  { chosen: () => void (isHeld(phase) && conversation?.listenTo(sources.voice)), trouble: tell },
);

const healthView = new HealthView(element("loading", HTMLUListElement), element("notice", HTMLElement));
const choices = new Choices((id) => element(id, HTMLElement), guard, {
  drop: () => conversation?.drop(),
  takeOver: () => {
    keepPlace();
    window.open(location.href); // a tab that this one opens has what it keeps
  },
});

/** @type {import("./phases.js").Phase} */
let phase = "idle";
/** @type {Conversation | Call | null} */
let conversation = null;

const manner = new Manner(
  element("takes-turns", HTMLInputElement),
  { panel: element("call-settings", HTMLElement), notes: element("call-notes", HTMLElement) },
  (id) => element(id, HTMLInputElement),
);

// --- what happens -----------------------------------------------------------------------------------------

const hooks = {
  transcript,
  guard,
  step,
  trouble: tell,
  loading,
  health: (/** @type {import("./health.js").Health} */ health) => healthView.show(health),
  recordingEnded: () => sources.recordingEnded(),
  mark: (/** @type {string} */ label) => levels.mark(label),
};

/** @param {import("./phases.js").Step} happened */
function step(happened) {
  phase = next(phase, happened);
  document.body.dataset.phase = phase;
  const isTyping = phase === "listening" && sources.choice === "typing";
  element("phase", HTMLElement).textContent = isTyping ? "Ready" : NAMES[phase];
  talk.textContent = isOver(phase) ? "Talk" : "Stop";
  interrupt.disabled = !isAnswering(phase) || conversation instanceof Call;
  mute.disabled = !isHeld(phase);
  choices.offer(isHeld(phase) && !(conversation instanceof Call));
  if (happened === "ready") keyForm.hidden = true;
  if (happened === "ready") keepPlace(); // the token is a new one
  if (isOver(phase)) keep(null);
}

/** @param {import("./health.js").Health} health */
function loading(health) {
  step("loading");
  healthView.show(health);
}

/** @param {import("./words.js").Trouble} what */
function tell({ says, wantsKey }) {
  trouble.textContent = says;
  if (wantsKey) keyForm.hidden = false;
  if (wantsKey) key.focus();
}

// --- what is asked ----------------------------------------------------------------------------------------

/** @param {import("./voice.js").Voice} from */
function begin(from) {
  conversation?.stop();
  transcript.clear();
  tell({ says: "" });
  mute.setAttribute("aria-pressed", "false");
  const notes = (/** @type {string[]} */ told) => manner.note(told);
  conversation = manner.takesTurns
    ? new Call(hooks, manner.call.config(), notes)
    : new Conversation(hooks, choices.opening());
  void conversation.start(key.value.trim(), from);
}

/** After a reload. @param {import("./kept.js").Kept} from */
function goOn(from) {
  sources.choose(from.speaks ? "microphone" : "typing");
  mute.setAttribute("aria-pressed", String(from.muted));
  const again = new Conversation(hooks, choices.opening(from.place.dialect));
  conversation = again;
  again.goOn(key.value.trim(), from);
}

function keepPlace() {
  const place = conversation?.kept();
  if (place) keep(place);
}

function keepKey() {
  if (key.value) sessionStorage.setItem(KEY, key.value.trim());
  else sessionStorage.removeItem(KEY);
}

talk.addEventListener("click", () => {
  if (!isOver(phase)) return conversation?.stop();
  if (sources.choice === "recording" && !sources.voice) return tell({ says: "Choose a sound file first." });
  begin(sources.voice);
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
keyForm.addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey();
  begin(sources.voice);
});
element("composer", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const text = draft.value.trim();
  if (!text) return;
  draft.value = "";
  if (isOver(phase)) begin(sources.choice === "microphone" ? null : sources.voice);
  conversation?.say(text);
});

key.value = sessionStorage.getItem(KEY) ?? "";
setInterval(() => {
  conversation?.show();
  levels.push(conversation?.levels() ?? { you: 0, it: 0, unheard: 0 });
}, TICK_MS);
setInterval(keepPlace, KEEP_MS);
window.addEventListener("pagehide", keepPlace);
look().then(({ health }) => healthView.show(health), () => {});
const place = invited() ?? kept();
if (place) goOn(place);
