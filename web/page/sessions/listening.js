/** Hearing a session from any point on: the user on the left, what was played to them on the right. */

import { arrived, request } from "./api.js";

/** @typedef {{context: AudioContext, fromMs: number, nextMs: number, stopped: AbortController}} Playing */

const RATE = 24000;
/** How much is asked for at a time, and how far ahead of what is heard. */
const PIECE_MS = 5000;
const AHEAD_MS = 8000;
const LOOK_MS = 100;
const WAV_HEADER = 44;

export class Listening {
  /** Also what was generated and never heard. */
  generated = false;
  #session;
  #on;
  /** @type {Playing | null} */
  #playing = null;

  /**
   * @param {string} session
   * @param {{moved: (ms: number) => void, ended: () => void, trouble: (error: unknown) => void}} on
   */
  constructor(session, on) {
    this.#session = session;
    this.#on = on;
  }

  get isOn() {
    return this.#playing !== null;
  }

  /** Create it inside a click: browsers start audio only then. @type {(fromMs: number, untilMs: () => number) => void} */
  start(fromMs, untilMs) {
    this.stop();
    const playing = {
      context: new AudioContext({ sampleRate: RATE }),
      fromMs,
      nextMs: fromMs,
      stopped: new AbortController(),
    };
    this.#playing = playing;
    void playing.context.suspend();
    void this.#play(playing, untilMs);
  }

  stop() {
    if (!this.#playing) return;
    this.#playing.stopped.abort();
    void this.#playing.context.close();
    this.#playing = null;
    this.#on.ended();
  }

  /** @type {(playing: Playing, untilMs: () => number) => Promise<void>} */
  async #play(playing, untilMs) {
    const { context, stopped } = playing;
    try {
      while (!stopped.signal.aborted) {
        const nowMs = playing.fromMs + context.currentTime * 1000;
        this.#on.moved(Math.min(nowMs, untilMs()));
        if (nowMs >= untilMs()) return this.stop();
        if (playing.nextMs < untilMs() && playing.nextMs - nowMs < AHEAD_MS) await this.#fetch(playing);
        else await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    } catch (error) {
      if (stopped.signal.aborted) return;
      this.stop();
      this.#on.trouble(error);
    }
  }

  /** @param {Playing} playing */
  async #fetch(playing) {
    const { context, fromMs, nextMs, stopped } = playing;
    const from = Math.round(nextMs);
    const query = new URLSearchParams({ from_ms: String(from), to_ms: String(from + PIECE_MS) });
    if (this.generated) query.set("generated", "1");
    const answer = await request(`/${this.#session}/sound?${query}`, { signal: stopped.signal });
    const sound = decoded(context, await arrived(answer.arrayBuffer(), stopped.signal));
    if (stopped.signal.aborted) return;
    if (sound) {
      const source = new AudioBufferSourceNode(context, { buffer: sound });
      source.connect(context.destination);
      source.start((nextMs - fromMs) / 1000);
    }
    playing.nextMs = from + PIECE_MS;
    if (context.state === "suspended") await context.resume();
  }
}

/** Stereo pcm16, or nothing of silence. @type {(context: AudioContext, wav: ArrayBuffer) => AudioBuffer | null} */
function decoded(context, wav) {
  const pcm = new Int16Array(wav, WAV_HEADER);
  const frames = pcm.length >> 1;
  if (!frames) return null;
  const buffer = context.createBuffer(2, frames, RATE);
  for (const channel of [0, 1]) {
    buffer.copyToChannel(Float32Array.from({ length: frames }, (_, k) => pcm[2 * k + channel] / 0x8000), channel);
  }
  return buffer;
}
