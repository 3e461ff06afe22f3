/** The socket: JSON events out and in, and in what manner it ended. */

/**
 * @typedef {object} Ending
 * @property {boolean} opened whether it was ever open; if not, the server refused the upgrade
 * @property {number} code
 * @property {string} reason
 *
 * @typedef {object} Place where a conversation stands: what it takes to come back to it
 * @property {string} session
 * @property {string} token whoever has it can take the conversation over
 * @property {number} last number of the last frame that is here
 *
 * @typedef {object} Handlers
 * @property {(event: import("./protocol.js").ServerEvent) => void} event
 * @property {(ending: Ending) => void} ended called once; not after `close` or `abandon`
 */

/** More than this waiting in the browser means that the network is slower than speech. */
const MOST_WAITING_BYTES = 512 * 1024;
/** Close code: to the server it is an accident, after which we may come back. */
const ABANDONED = 3001;

export class Connection {
  #socket;
  #opened = false;
  #given = 0;

  /**
   * A key travels as a subprotocol: a browser cannot set headers. Throws SyntaxError if a key contains what
   * a subprotocol may not.
   * @param {string} key empty for none
   * @param {Place | null} place of a session to come back to; null for a new one
   * @param {Handlers} on
   */
  constructor(key, place, on) {
    const protocols = key ? ["realtime", `openai-insecure-api-key.${key}`] : ["realtime"];
    this.#socket = new WebSocket(address(place), protocols);
    this.#socket.onopen = () => void (this.#opened = true);
    this.#socket.onmessage = ({ data }) => on.event(JSON.parse(data));
    this.#socket.onclose = ({ code, reason }) => on.ended({ opened: this.#opened, code, reason });
  }

  /** @param {import("./protocol.js").ClientEvent} event */
  send(event) {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const text = JSON.stringify(event);
    this.#given += text.length;
    this.#socket.send(text);
  }

  /** Whether anything waits to be taken by the network. */
  get waits() {
    return this.#socket.bufferedAmount > 0;
  }

  /** How much the network has taken: while it is there, this grows as long as anything waits. */
  get taken() {
    return this.#given - this.#socket.bufferedAmount;
  }

  /** Whether so much is waiting to be sent that more would only come late. */
  get congested() {
    return this.#socket.bufferedAmount > MOST_WAITING_BYTES;
  }

  /** The conversation is over. */
  close() {
    this.#leave(1000);
  }

  /** The connection is of no use any more; the conversation may go on. */
  abandon() {
    this.#leave(ABANDONED);
  }

  /** @param {number} code */
  #leave(code) {
    this.#socket.onclose = this.#socket.onmessage = null;
    this.#socket.close(code);
  }
}

/** @param {Place | null} place */
function address(place) {
  const url = new URL("/v1/realtime", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  if (place) {
    const { session, token, last } = place;
    url.search = String(new URLSearchParams({ session_id: session, resume_token: token, after: String(last) }));
  }
  return url;
}
