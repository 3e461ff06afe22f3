/**
 * The state a person sees. What happens moves it by this table; what a state does not name leaves it as it is.
 *
 *     idle -> connecting -> listening -> hearing -> thinking -> speaking -> listening ...
 *
 * While a lost connection is restored that is what is seen, whatever else goes on; then what it was before.
 */

/**
 * @typedef {"idle" | "loading" | "connecting" | "closed" | "error"} Unconnected
 * @typedef {Unconnected | "restoring" | "listening" | "hearing" | "thinking" | "speaking"} Phase
 * @typedef {"start" | "loading" | "loaded" | "ready" | "lost" | "stop" | "fail"} Passage
 * @typedef {Passage | "speechStarted" | "speechStopped" | "asked" | "sounding" | "quiet"} Step
 */

/** @type {Partial<Record<Step, Phase>>} */
const ENDS = { stop: "closed", fail: "error" };

/** @type {Partial<Record<Step, Phase>>} */
const BREAKS = { lost: "restoring", ...ENDS };

/** @type {Partial<Record<Step, Phase>>} */
const STARTS = { start: "connecting", fail: "error" };

/** @type {Record<Phase, Partial<Record<Step, Phase>>>} */
const TABLE = {
  idle: STARTS,
  closed: STARTS,
  error: STARTS,
  connecting: { loading: "loading", ready: "listening", ...BREAKS },
  loading: { loaded: "connecting", ...ENDS },
  restoring: { ready: "listening", ...ENDS },
  listening: { speechStarted: "hearing", asked: "thinking", sounding: "speaking", ...BREAKS },
  hearing: { speechStopped: "listening", sounding: "speaking", ...BREAKS },
  thinking: { speechStarted: "hearing", sounding: "speaking", quiet: "listening", ...BREAKS },
  speaking: { speechStarted: "hearing", quiet: "listening", ...BREAKS },
};

/** @type {Record<Phase, string>} */
export const NAMES = {
  idle: "Not connected",
  loading: "The server is loading",
  connecting: "Connecting",
  restoring: "Restoring the connection",
  listening: "Listening",
  hearing: "You are speaking",
  thinking: "Thinking",
  speaking: "Speaking",
  closed: "Ended",
  error: "Stopped",
};

/** @type {(phase: Phase, step: Step) => Phase} */
export const next = (phase, step) => TABLE[phase][step] ?? phase;

/** Whether there is a conversation, be it over a lost connection. @type {(phase: Phase) => boolean} */
export const isHeld = (phase) => ["restoring", "listening", "hearing", "thinking", "speaking"].includes(phase);

/** Whether there may be something to interrupt. @type {(phase: Phase) => boolean} */
export const isAnswering = (phase) => ["restoring", "thinking", "speaking"].includes(phase);

/** @type {(phase: Phase) => boolean} */
export const isOver = (phase) => TABLE[phase] === STARTS;
