/**
 * The state a person sees. What happens moves it by this table; what a state does not name leaves it as it is.
 *
 *     idle -> connecting -> listening -> hearing -> thinking -> speaking -> listening ...
 */

/**
 * @typedef {"idle" | "loading" | "connecting" | "closed" | "error"} Unconnected
 * @typedef {Unconnected | "listening" | "hearing" | "thinking" | "speaking"} Phase
 * @typedef {"start" | "loading" | "loaded" | "ready" | "stop" | "fail"} Passage
 * @typedef {Passage | "speechStarted" | "speechStopped" | "asked" | "sounding" | "quiet"} Step
 */

/** @type {Partial<Record<Step, Phase>>} */
const ENDS = { stop: "closed", fail: "error" };

/** @type {Partial<Record<Step, Phase>>} */
const STARTS = { start: "connecting", fail: "error" };

/** @type {Record<Phase, Partial<Record<Step, Phase>>>} */
const TABLE = {
  idle: STARTS,
  closed: STARTS,
  error: STARTS,
  connecting: { loading: "loading", ready: "listening", ...ENDS },
  loading: { loaded: "connecting", ...ENDS },
  listening: { speechStarted: "hearing", asked: "thinking", sounding: "speaking", ...ENDS },
  hearing: { speechStopped: "listening", sounding: "speaking", ...ENDS },
  thinking: { speechStarted: "hearing", sounding: "speaking", quiet: "listening", ...ENDS },
  speaking: { speechStarted: "hearing", quiet: "listening", ...ENDS },
};

/** @type {Record<Phase, string>} */
export const NAMES = {
  idle: "Not connected",
  loading: "The server is loading",
  connecting: "Connecting",
  listening: "Listening",
  hearing: "You are speaking",
  thinking: "Thinking",
  speaking: "Speaking",
  closed: "Ended",
  error: "Stopped",
};

/** @type {(phase: Phase, step: Step) => Phase} */
export const next = (phase, step) => TABLE[phase][step] ?? phase;

/** @type {(phase: Phase) => boolean} */
export const isConnected = (phase) => ["listening", "hearing", "thinking", "speaking"].includes(phase);

/** @type {(phase: Phase) => boolean} */
export const isOver = (phase) => TABLE[phase] === STARTS;
