/** The socket: JSON events out and in, and in what manner it ended. */

/**
 * @typedef {object} Ending
 * @property {boolean} opened whether it was ever open; if not, the server refused the upgrade
 * @property {number} code
 * @property {string} reason
 *
 * @typedef {object} Handlers
 * @property {(event: import("./protocol.js").ServerEvent) => void} event
 * @property {(ending: Ending) => void} ended called once; not after `close`
 */

/** More than this waiting in the browser means that the network is slower than speech. */
const MOST_WAITING_BYTES = 512 * 1024;

export class Connection {
  #socket;
  #opened = false;

  /**
   * A key travels as a subprotocol: a browser cannot set headers. Throws SyntaxError if a key contains what
   * a subprotocol may not.
   * @param {string} key empty for none
   * @param {Handlers} on
   */
  constructor(key, on) {
    const protocols = key ? ["realtime", `openai-insecure-api-key.${key}`] : ["realtime"];
    this.#socket = new WebSocket(address(), protocols);
    this.#socket.onopen = () => void (this.#opened = true);
    this.#socket.onmessage = ({ data }) => on.event(JSON.parse(data));
    this.#socket.onclose = ({ code, reason }) => on.ended({ opened: this.#opened, code, reason });
  }

  /** @param {import("./protocol.js").ClientEvent} event */
  send(event) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  /** Whether so much is waiting to be sent that more would only come late. */
  get congested() {
    return this.#socket.bufferedAmount > MOST_WAITING_BYTES;
  }

  close() {
    this.#socket.onclose = this.#socket.onmessage = null;
    this.#socket.close(1000);
  }
}

function address() {
  const url = new URL("/v1/realtime", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return url;
}
