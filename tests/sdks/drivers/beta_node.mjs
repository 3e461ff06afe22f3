// openai-realtime-api, the published port of the console's client of 2024: it knows the beta's names only, and
// throws on whatever is of an item that it was not told of.

import WS from "ws";
import { address, complain, finish, speak } from "./report.mjs";

if (process.env.AS_BROWSER) {
  globalThis.WebSocket = WS; // then it says who it is by subprotocols, otherwise by headers
} else {
  delete globalThis.WebSocket;
}
const { RealtimeClient } = await import("openai-realtime-api");

const client = new RealtimeClient({
  url: `${address}/v1/realtime`,
  apiKey: "unused",
  sessionConfig: {
    instructions: "Be brief.",
    turn_detection: { type: "server_vad" },
    input_audio_transcription: { model: "whisper-1" },
  },
});
const seen = new Set();
let interrupted = 0;
let brokenIn = false;

client.on("realtime.event", ({ source, event }) => {
  if (source === "server") {
    seen.add(event.type);
  }
  if (event.type === "error" && event.error.code !== "response_cancel_not_active") {
    complain(event.error); // the server has cancelled already what the console cancels when somebody speaks
  }
});
client.on("conversation.interrupted", async () => {
  interrupted += 1;
  const speaking = client.conversation.getItems().findLast((item) => item.role === "assistant");
  if (speaking !== undefined) {
    await client.cancelResponse(speaking.id, 4_800); // what the console does with what its player has played
  }
});
client.on("conversation.updated", ({ item, delta }) => {
  if (item.role === "assistant" && delta?.audio && !brokenIn) {
    brokenIn = true;
    speak(say);
  }
});
client.on("conversation.item.completed", ({ item }) => {
  if (item.role === "assistant") {
    setImmediate(end);
  }
});

await client.connect();
await client.waitForSessionCreated();
speak(say);

function say(piece) {
  client.appendInputAudio(new Int16Array(piece.buffer, piece.byteOffset, piece.length / 2));
}

function end() {
  const said = client.conversation
    .getItems()
    .map((item) => [item.role, item.formatted.transcript, item.status, item.formatted.audio?.length ?? 0]);
  client.disconnect();
  finish({ interrupted, said, seen: [...seen].sort() });
}
