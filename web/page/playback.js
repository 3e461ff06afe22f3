/**
 * What the assistant says, without gaps, and how much of each item was really played.
 *
 * Pieces are scheduled one after the other on the audio clock, to the sample. What has left the loudspeaker
 * by now is `currentTime` less the output latency; nothing else counts as heard.
 */

import { BLOCK_SAMPLES, levels, loudness, RATE, toMs, toSamples } from "./pcm.js";
import { wake } from "./wake.js";

/** Head start after silence, so that a late piece does not tear a hole. */
const LEAD_SAMPLES = RATE * 0.08;
/** A cut fades over a few milliseconds: an abrupt one clicks. */
const FADE_S = 0.012;

/**
 * @typedef {object} Track the audio of one item
 * @property {number} received samples
 * @property {number} played samples of pieces that are done with
 * @property {number} known samples at its beginning that were heard before, and are not played again
 * @property {{from: number, samples: number, levels: number[]}[]} pieces still to be played, in samples of the audio clock
 */

export class Playback {
  #context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
  #meter = this.#context.createAnalyser();
  #bus = this.#newBus();
  #scratch = new Float32Array(512);
  /** @type {Map<string, Track>} */
  #tracks = new Map();
  /** @type {Set<AudioBufferSourceNode>} */
  #sources = new Set();
  #next = 0;
  /** How loud the moments would be from now on that were cut off. @type {number[]} */
  #cut = [];

  /**
   * Create it inside a click: browsers start audio only then. Otherwise it may be silenced until there is one.
   * @param {{began: () => void, drained: () => void, silenced: (is: boolean) => void}} on
   */
  constructor(on) {
    this.on = on;
    this.#meter.fftSize = this.#scratch.length;
    this.#meter.connect(this.#context.destination);
    wake(this.#context, on.silenced);
  }

  /** Whether anything is still to be heard. */
  get sounding() {
    return this.#sources.size > 0;
  }

  /**
   * Its beginning was heard already, and is about to arrive again.
   * @param {string} item
   * @param {number} heardMs
   */
  passOver(item, heardMs) {
    this.#track(item).known = toSamples(heardMs);
  }

  /**
   * Queue the next piece of an item.
   * @param {string} item
   * @param {Float32Array<ArrayBuffer>} piece
   */
  play(item, piece) {
    const track = this.#track(item);
    const samples = piece.subarray(this.#passedOver(track, piece.length));
    if (samples.length === 0) return;
    const buffer = this.#context.createBuffer(1, samples.length, RATE);
    buffer.copyToChannel(samples, 0);
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    const now = Math.ceil(this.#context.currentTime * RATE);
    const from = this.#next > now ? this.#next : now + LEAD_SAMPLES;
    source.connect(this.#bus);
    source.start(from / RATE);
    source.onended = () => this.#ended(source);
    track.pieces.push({ from, samples: samples.length, levels: levels(samples) });
    this.#cut = [];
    track.received += samples.length;
    this.#next = from + samples.length;
    const first = !this.sounding;
    this.#sources.add(source);
    if (first) this.on.began();
  }

  /** @param {string} item */
  receivedMs(item) {
    return toMs(this.#tracks.get(item)?.received ?? 0);
  }

  /**
   * How much of an item has left the loudspeaker.
   * @param {string} item
   */
  heardMs(item) {
    const track = this.#tracks.get(item);
    return track ? toMs(this.#heard(track)) : 0;
  }

  /**
   * Fall silent at once and forget what is queued.
   * @returns {{item: string, heardMs: number}[]} the items of which something was left unplayed
   */
  flush() {
    const cut = [];
    for (const [item, track] of this.#tracks) {
      if (track.pieces.length === 0) continue;
      track.played = this.#heard(track);
      this.#cut.push(...this.#ahead(track));
      track.pieces = [];
      if (track.played < track.received) cut.push({ item, heardMs: toMs(track.played) });
    }
    this.#silence();
    return cut;
  }

  /** How loud this moment would be had nobody cut it off; asked for once a moment. */
  unheard() {
    return this.#cut.shift() ?? 0;
  }

  /** How loud it is at this moment, 0..1. */
  level() {
    if (!this.sounding) return 0;
    this.#meter.getFloatTimeDomainData(this.#scratch);
    return loudness(this.#scratch);
  }

  close() {
    this.#sources.clear();
    if (this.#context.state !== "closed") void this.#context.close();
  }

  /** @param {string} item */
  #track(item) {
    const track = this.#tracks.get(item) ?? { received: 0, played: 0, known: 0, pieces: [] };
    this.#tracks.set(item, track);
    return track;
  }

  /** How many samples of a piece were heard before. @type {(track: Track, length: number) => number} */
  #passedOver(track, length) {
    const passed = Math.min(track.known, length);
    track.known -= passed;
    track.received += passed;
    track.played += passed;
    return passed;
  }

  /** @param {Track} track */
  #heard(track) {
    const now = (this.#context.currentTime - (this.#context.outputLatency || 0)) * RATE;
    const played = track.pieces.map(({ from, samples }) => Math.max(0, Math.min(samples, now - from)));
    return Math.round(played.reduce((sum, one) => sum + one, track.played));
  }

  /** @param {Track} track @returns {number[]} */
  #ahead({ pieces }) {
    const now = this.#context.currentTime * RATE;
    return pieces.flatMap(({ from, levels }) => levels.slice(Math.max(Math.ceil((now - from) / BLOCK_SAMPLES), 0)));
  }

  #silence() {
    const sounded = this.sounding;
    const now = this.#context.currentTime;
    this.#bus.gain.setTargetAtTime(0, now, FADE_S / 4);
    for (const source of this.#sources) {
      source.onended = null;
      source.stop(now + FADE_S);
    }
    this.#sources.clear();
    this.#bus = this.#newBus();
    this.#next = 0;
    if (sounded) this.on.drained();
  }

  #newBus() {
    const bus = this.#context.createGain();
    bus.connect(this.#meter);
    return bus;
  }

  /** @param {AudioBufferSourceNode} source */
  #ended(source) {
    this.#sources.delete(source);
    if (this.sounding) return;
    for (const track of this.#tracks.values()) {
      if (track.pieces.length > 0) track.played = track.received; // what was cut off stays cut off
      track.pieces = [];
    }
    this.on.drained();
  }
}
