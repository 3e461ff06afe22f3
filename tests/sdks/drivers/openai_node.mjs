// The openai package for Node, over wss: asks, breaks into the answer, hears the next one to its end.

import { readFileSync } from "node:fs";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { address, complain, finish, speak } from "./report.mjs";

const ca = readFileSync(process.env.TRUSTED);
const client = new OpenAI({ apiKey: "unused", baseURL: `${address.replace("wss", "https")}/v1` });
const realtime = new OpenAIRealtimeWS({ model: "any", options: { ca } }, client);
const statuses = [];
let heard = 0;
let words = "";
let brokenIn = false;

realtime.on("error", complain);
realtime.on("session.created", () => {
  realtime.send({ type: "session.update", session: { type: "realtime", instructions: "Be brief." } });
});
realtime.on("session.updated", () => speak(say));
realtime.on("response.output_audio.delta", (event) => {
  heard += Buffer.from(event.delta, "base64").length;
  if (!brokenIn) {
    brokenIn = true;
    speak(say);
  }
});
realtime.on("response.output_audio_transcript.done", (event) => {
  words += event.transcript;
});
realtime.on("response.done", (event) => {
  statuses.push([event.response.status, event.response.status_details?.reason ?? null]);
  if (statuses.length === 2) {
    realtime.close();
    realtime.socket.on("close", (code) => finish({ heard, words, statuses, code }));
  }
});

function say(piece) {
  realtime.send({ type: "input_audio_buffer.append", audio: piece.toString("base64") });
}
