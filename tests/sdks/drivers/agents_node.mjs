// @openai/agents-realtime: asks, breaks into the answer (the SDK truncates it by itself), hears the next.

import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } from "@openai/agents-realtime";
import { address, complain, finish, speak, telephone } from "./report.mjs";

const transport = new OpenAIRealtimeWebSocket({ url: `${address}/v1/realtime?model=any` });
const agent = new RealtimeAgent({ name: "Driver", instructions: "Be brief." });
const pcmu = { format: { type: "audio/pcmu" } };
const audio = telephone ? { input: pcmu, output: pcmu } : {};
const session = new RealtimeSession(agent, { transport, config: { outputModalities: ["audio"], audio } });
const raw = new Set();
let heard = 0;
let turns = 0;
let interrupted = 0;
let brokenIn = false;

session.on("error", (event) => complain(event.error));
transport.on("*", (event) => raw.add(event.type));
session.on("audio_interrupted", () => {
  interrupted += 1;
});
session.on("audio", (event) => {
  heard += event.data.byteLength;
  if (!brokenIn) {
    brokenIn = true;
    speak(say);
  }
});
transport.on("turn_done", () => {
  turns += 1;
  if (turns === 2) {
    setImmediate(end);
  }
});

await session.connect({ apiKey: "unused" });
speak(say);

function say(piece) {
  session.sendAudio(piece.buffer);
}

function end() {
  const said = session.history
    .filter((item) => item.type === "message")
    .map((item) => [item.role, item.content.map((part) => part.transcript ?? part.text ?? null), item.status]);
  session.close();
  finish({ heard, turns, interrupted, said, raw: [...raw].sort() });
}
