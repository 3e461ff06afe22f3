/** The Realtime protocol as far as the page speaks it: what it sends, and the shape of what it reads. */

import { encode, RATE, toBase64 } from "./pcm.js";

/**
 * @typedef {object} Part
 * @property {string} type
 * @property {string | null} [transcript]
 * @property {string} [text]
 *
 * @typedef {object} Item
 * @property {string} id
 * @property {string} type
 * @property {string} [role]
 * @property {Part[]} [content]
 *
 * @typedef {object} Response
 * @property {string} id
 * @property {string} status
 * @property {{error?: {code?: string, message?: string}} | null} [status_details]
 *
 * @typedef {object} Session
 * @property {string} [id]
 * @property {string} [resume_token]
 * @property {{input?: {turn_detection?: object | null}}} [audio]
 * @property {{supports_model_native_turn_policy?: boolean, supports_server_vad?: boolean}} [capabilities]
 *
 * @typedef {object} ServerError
 * @property {string} message
 * @property {string} [code]
 * @property {string | null} [event_id]
 *
 * @typedef {object} ServerEvent an event from the server; each type has only some of the members
 * @property {string} type
 * @property {string} event_id
 * @property {string} item_id
 * @property {string} response_id
 * @property {string} delta
 * @property {string} transcript
 * @property {Item} item
 * @property {Response} response
 * @property {Session} session
 * @property {ServerError} error
 * @property {number} [epoch] in the duplex dialect
 * @property {string} [action] what was decided about an overlap
 * @property {string} [session_id]
 * @property {string} [resume_token] in the duplex dialect it stands beside the session
 */

/** @typedef {{type: string, [member: string]: unknown}} ClientEvent */

const TURNS = { type: "server_vad", create_response: true, interrupt_response: true };
const FORMAT = { type: "audio/pcm", rate: RATE };

/**
 * Ask for speech both ways, with transcripts. A server whose sessions begin without turn detection has none,
 * and is not asked for it.
 * @type {(detectsTurns: boolean, voice: string) => ClientEvent}
 */
export const configure = (detectsTurns, voice) => ({
  type: "session.update",
  session: {
    type: "realtime",
    output_modalities: ["audio"],
    audio: {
      input: {
        format: FORMAT,
        transcription: { model: "default" },
        ...(detectsTurns && { turn_detection: TURNS }),
      },
      output: { format: FORMAT, ...(voice && { voice }) },
    },
  },
});

/** Ask a session that stands for turn detection. @returns {ClientEvent} */
export const detect = () => ({
  type: "session.update",
  session: { type: "realtime", audio: { input: { turn_detection: { type: "server_vad", create_response: true } } } },
});

/** Let a model that hears all the time answer when it decides to. @returns {ClientEvent} */
export const answerUnasked = () => ({
  type: "session.update",
  session: { type: "realtime", extra_body: { auto_response: true } },
});

/** So much of an answer has left the loudspeaker. @type {(response: string, ms: number) => ClientEvent} */
export const played = (response, ms) => ({ type: "playback.ack", response_id: response, played_ms: ms });

/** @type {(samples: Float32Array) => ClientEvent} */
export const append = (samples) => ({
  type: "input_audio_buffer.append",
  audio: toBase64(encode(samples)),
});

/** @type {(item: string, text: string) => ClientEvent} */
export const message = (item, text) => ({
  type: "conversation.item.create",
  item: { id: item, type: "message", role: "user", content: [{ type: "input_text", text }] },
});

/** @returns {ClientEvent} */
export const respond = () => ({ type: "response.create" });

/** @type {(response: string) => ClientEvent} */
export const cancel = (response) => ({ type: "response.cancel", response_id: response });

/** @type {(item: string, heardMs: number) => ClientEvent} */
export const truncate = (item, heardMs) => ({
  type: "conversation.item.truncate",
  item_id: item,
  content_index: 0,
  audio_end_ms: heardMs,
});

/** An error that it meets names `item`. @type {(item: string) => ClientEvent} */
export const retrieve = (item) => ({ type: "conversation.item.retrieve", event_id: item, item_id: item });

/** The number of a frame of the conversation; null for a reply, which has none. @type {(event: ServerEvent) => number | null} */
export function numberOf({ event_id }) {
  const [, digits] = /^event_(\d+)$/.exec(event_id) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** No item of that id is known. */
export const NO_SUCH_ITEM = "item_retrieve_invalid_item_id";

/** The server's way to say that an advisory request came too late; nothing to tell a person. */
export const HARMLESS = new Set(["response_cancel_not_active", NO_SUCH_ITEM]);
