/**
 * What a conversation tells the page.
 *
 * @typedef {import("./words.js").Trouble} Trouble
 * @typedef {import("./health.js").Health} Health
 *
 * @typedef {object} Hooks
 * @property {import("./transcript.js").Transcript} transcript
 * @property {import("./guard.js").EchoGuard} guard
 * @property {(step: import("./phases.js").Step) => void} step
 * @property {(trouble: Trouble) => void} trouble something a person should know; it need not be the end
 * @property {(health: Health) => void} loading the server is not ready yet
 * @property {(health: Health) => void} health
 * @property {() => void} recordingEnded
 * @property {(label: string) => void} mark something for the timeline
 */

export {};
