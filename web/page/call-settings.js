/** How half-duplex calls are to go: nine values, kept in this browser, told to the server when a call begins. */

const NAME = "half_duplex_settings";

/** Where each stands in what the server is told; the element's id is `call-` and the last part of it. */
const PLACES = [
  "vad.threshold",
  "vad.min_speech_duration_ms",
  "vad.min_silence_duration_ms",
  "vad.speech_pad_ms",
  "generation.max_new_tokens",
  "generation.length_penalty",
  "generation.temperature",
  "tts.enabled",
  "session.timeout_s",
];

/** @type {(place: string) => string} */
export const idOf = (place) => `call-${place.split(".")[1].replaceAll("_", "-")}`;

export class CallSettings {
  /** @type {Map<string, HTMLInputElement>} */
  #inputs = new Map();

  /** @param {(id: string) => HTMLInputElement} input finds an element */
  constructor(input) {
    for (const place of PLACES) this.#inputs.set(place, input(idOf(place)));
    this.#restore();
    for (const one of this.#inputs.values()) one.addEventListener("change", () => this.#keep());
  }

  /** What the server is told; a value that cannot be meant is as it was before anybody changed it. */
  config() {
    /** @type {Record<string, Record<string, number | boolean>>} */
    const config = {};
    for (const [place, input] of this.#inputs) {
      const [group, name] = place.split(".");
      (config[group] ??= {})[name] = valueOf(input);
    }
    return config;
  }

  #keep() {
    const kept = [...this.#inputs].map(([place, input]) => [place, valueOf(input)]);
    localStorage.setItem(NAME, JSON.stringify(Object.fromEntries(kept)));
  }

  #restore() {
    const kept = read();
    for (const [place, input] of this.#inputs) {
      const value = kept[place];
      if (input.type === "checkbox" && typeof value === "boolean") input.checked = value;
      else if (typeof value === "number") input.value = String(value);
      if (!input.checkValidity()) input.value = input.defaultValue;
    }
  }
}

/** @param {HTMLInputElement} input */
function valueOf(input) {
  if (input.type === "checkbox") return input.checked;
  return Number(input.checkValidity() ? input.value : input.defaultValue);
}

/** @returns {Record<string, unknown>} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? "{}") ?? {};
  } catch {
    return {};
  }
}
