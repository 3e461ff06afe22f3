/** What a person is told when something does not work, and what they can do about it. */

/** @typedef {import("./connection.js").Ending} Ending */
/** @typedef {{says: string, wantsKey?: boolean}} Trouble */

const OTHERWISE = "You can still type, or play a recording.";

const PORT = location.port || "80";

/** @type {Record<string, string>} by the name of the DOMException */
const MICROPHONE = {
  SecurityError:
    "Browsers give the microphone only to pages from https or from localhost. Open this page through https, " +
    `or forward the port to your own machine (ssh -L 8765:localhost:${PORT} ${location.hostname}) and open it at ` +
    `http://localhost:8765. ${OTHERWISE}`,
  NotAllowedError:
    "The microphone was refused. Allow it for this page in the browser's site settings, then press Talk again. " +
    OTHERWISE,
  NotFoundError: `No microphone was found. Connect one, then press Talk again. ${OTHERWISE}`,
  NotReadableError:
    "The microphone cannot be opened: another program may be using it. Close that program, then press Talk " +
    `again. ${OTHERWISE}`,
};

/** @type {(error: unknown) => Trouble} */
export const microphoneTrouble = (error) => ({
  says:
    (error instanceof DOMException && MICROPHONE[error.name]) ||
    `The microphone cannot be used (${error instanceof Error ? error.message : "unknown reason"}). ${OTHERWISE}`,
});

export const MICROPHONE_LOST = { says: `The microphone was disconnected. ${OTHERWISE}` };
export const NOT_SOUND = { says: "This file cannot be read as sound. Try a WAV, MP3 or Ogg file." };
export const UNREACHABLE = { says: "The server does not answer. Check that it is running, then press Talk again." };
export const BAD_KEY = { says: "This key contains characters that a browser cannot send.", wantsKey: true };

/** @type {(frames: number) => Trouble} */
export const slowNetwork = (frames) => ({
  says: `The network is slower than speech: ${frames} pieces of what you said were not sent.`,
});

/** @type {(response: import("./protocol.js").Response) => Trouble} */
export const failedTrouble = ({ status_details }) => ({
  says: `The answer failed: ${status_details?.error?.message ?? "the server does not say why"}.`,
});

export const RESTORING = {
  says:
    "The connection was lost and is being restored. What you say meanwhile is not heard; what you type is sent " +
    "afterwards.",
};

/** @type {(gapMs: number) => Trouble} */
export const unheard = (gapMs) => ({
  says: `The connection was lost for ${Math.round(gapMs / 1000)} s. What you said meanwhile was not heard.`,
});

export const ONLY_SPOKEN = { says: "A half-duplex call is spoken. To type, choose Both at once and press Talk again." };
export const TIME_IS_OVER = { says: "The time of the call is over. Press Talk to start another." };

/** @type {(frame: {position: number, estimated_wait_s: number}) => Trouble} */
export const inLine = ({ position, estimated_wait_s }) => ({
  says: `All places are taken. You are number ${position} in the line: about ${waiting(estimated_wait_s)}.`,
});

/** @type {(seconds: number) => string} */
const waiting = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

export const SILENCED = { says: "The browser keeps this page silent until you click somewhere on it or press a key." };

const REPLACED = {
  says: "The conversation goes on in another window or on another device. Press Talk to start a new one here.",
};

export const NO_TURNS = {
  says:
    "This server does not notice when you begin and end to speak: it answers when its model decides to, " +
    "and to what you type.",
};

const AT_CAPACITY = { says: "The server is at capacity. Try again in a moment." };

/** @type {Record<number, Trouble>} by close code */
const CLOSINGS = {
  1001: { says: "The server is going away. Press Talk to start again." },
  1008: { says: "The server refused the conversation. If it wants a key, type it below.", wantsKey: true },
  1012: { says: "The server is restarting. Press Talk in a moment to start again." },
  1013: AT_CAPACITY,
};

/** @type {Record<string, Trouble>} by error code */
const ERRORS = {
  resource_exhausted: AT_CAPACITY,
  session_resume_expired: {
    says: "This page was without a connection for too long: the conversation is over. Press Talk to start a new one.",
  },
  invalid_resume_token: {
    says: "The conversation cannot be continued here; it may go on in another window. Press Talk to start a new one.",
  },
  session_expired: { says: "The conversation has reached its longest duration. Press Talk to start a new one." },
};

/**
 * Why the socket ended. A refused upgrade tells a page nothing, not even its status: most often it is the key.
 * @param {Ending} ending
 * @param {boolean} hadKey
 * @returns {Trouble}
 */
export function closingTrouble({ opened, code, reason }, hadKey) {
  if (!opened && hadKey) return { says: "The server refused the connection. Check the key.", wantsKey: true };
  if (!opened) return { says: "The server refused the connection. If it wants a key, type it below.", wantsKey: true };
  if (reason === "session_replaced") return REPLACED;
  const known = CLOSINGS[code];
  if (known) return known;
  if (reason) return { says: `The server ended the conversation: ${reason}` };
  return { says: "The connection was lost. Press Talk to start again." };
}

/** @type {(error: import("./protocol.js").ServerError) => Trouble} */
export const errorTrouble = ({ code, message }) => (code && ERRORS[code]) || { says: message };
