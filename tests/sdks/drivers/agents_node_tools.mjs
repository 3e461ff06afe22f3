// @openai/agents-realtime with a function: the SDK calls it and asks for the answer by itself.

import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from "@openai/agents-realtime";
import { z } from "zod";
import { address, complain, finish, speak } from "./report.mjs";

const cities = [];
const weather = tool({
  name: "weather",
  description: "The weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    cities.push(city);
    return "sunny";
  },
});
const transport = new OpenAIRealtimeWebSocket({ url: `${address}/v1/realtime?model=any` });
const agent = new RealtimeAgent({ name: "Driver", instructions: "Be brief.", tools: [weather] });
const session = new RealtimeSession(agent, { transport, config: { outputModalities: ["audio"] } });
let heard = 0;
let turns = 0;

session.on("error", (event) => complain(event.error));
session.on("audio", (event) => {
  heard += event.data.byteLength;
});
transport.on("turn_done", () => {
  turns += 1;
  if (turns === 2) {
    setImmediate(end);
  }
});

await session.connect({ apiKey: "unused" });
speak((piece) => session.sendAudio(piece.buffer));

function end() {
  const said = session.history.map((item) => [item.type, item.role ?? item.name, item.status]);
  session.close();
  finish({ heard, cities, said });
}
