// The client of the beta with a function: it calls it and asks for the answer by itself.

import { address, complain, finish, speak } from "./report.mjs";

delete globalThis.WebSocket;
const { RealtimeClient } = await import("openai-realtime-api");
const client = new RealtimeClient({
  url: `${address}/v1/realtime`,
  apiKey: "unused",
  sessionConfig: { turn_detection: { type: "server_vad" } },
});
const cities = [];

client.addTool(
  {
    name: "weather",
    description: "The weather in a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  async ({ city }) => {
    cities.push(city);
    return "sunny";
  },
);
client.on("realtime.event", ({ event }) => {
  if (event.type === "error") {
    complain(event.error);
  }
});
client.on("conversation.item.completed", ({ item }) => {
  if (item.role === "assistant" && item.formatted.transcript !== "") {
    setImmediate(end);
  }
});

await client.connect();
await client.waitForSessionCreated();
speak((piece) => client.appendInputAudio(new Int16Array(piece.buffer, piece.byteOffset, piece.length / 2)));

function end() {
  const said = client.conversation
    .getItems()
    .map((item) => [item.type, item.role ?? item.formatted.tool?.name ?? item.output, item.formatted.transcript]);
  client.disconnect();
  finish({ cities, said });
}
