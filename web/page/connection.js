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
 * @property {number} last number of the last frame that is here; -1: none is, and only what nobody was sent is told
 * @property {import("./opening.js").Dialect} [dialect]
 *
 * @typedef {object} Handlers
 * @property {(event: import("./protocol.js").ServerEvent) => void} event
 * @property {() => void} opened
 * @property {(ending: Ending) => void} ended called once; not after `close` or `abandon`
 */

/** A network that takes nothing for so long is gone, although nobody says so. */
const STUCK_MS = 5000;
/** More than this waiting in the browser means that the network is slower than speech. */
const MOST_WAITING_BYTES = 512 * 1024;
/** Close code: to the server it is an accident, after which we may come back. */
const ABANDONED = 3001;

export class Connection {
  #socket;
  #opened = false;
  #given = 0;
  /** What the network had taken when it last took anything. */
  #moved = { taken: 0, atMs: performance.now() };

  /**
   * A key travels as a subprotocol: a browser cannot set headers. Throws SyntaxError if a key contains what
   * a subprotocol may not.
   * @param {string} key empty for none
   * @param {Place | null} place of a session to come back to; null for a new one
   * @param {Handlers} on
   * @param {import("./opening.js").Dialect} dialect
   */
  constructor(key, place, on, dialect) {
    const protocols = key ? ["realtime", `openai-insecure-api-key.${key}`] : ["realtime"];
    this.#socket = new WebSocket(address(place, dialect), protocols);
    this.#socket.onopen = () => {
      this.#opened = true;
      on.opened();
    };
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

  /** Whether the network has taken nothing for long, although something waits; looked at now and then. */
  hangs() {
    const waits = this.#socket.bufferedAmount;
    const taken = this.#given - waits;
    const atMs = performance.now();
    if (!waits || taken !== this.#moved.taken) this.#moved = { taken, atMs };
    return atMs - this.#moved.atMs >= STUCK_MS;
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

/** @type {(place: Place | null, dialect: import("./opening.js").Dialect) => URL} */
function address(place, dialect) {
  const url = new URL("/v1/realtime", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  if (place) {
    const { session, token, last } = place;
    url.search = String(new URLSearchParams({ session_id: session, resume_token: token }));
    if (last >= 0) url.searchParams.set("after", String(last));
  }
  if (dialect === "duplex") url.searchParams.set("duplex", "1");
  return url;
}
