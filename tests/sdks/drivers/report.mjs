// What the drivers for Node share: the question they ask, and how they say what became of it.

import { readFileSync } from "node:fs";

// Whether the question is mu-law at 8 kHz, and the answer is to be.
export const telephone = "TELEPHONE" in process.env;
const BYTES_PER_MS = telephone ? 8 : 24 * 2;
const SILENCE = telephone ? 0xff : 0;
const FRAME_MS = 40;
const FASTER = 4;

export const [, , address, recording] = process.argv;
export const question = readFileSync(recording);
export const report = { errors: [] };

export function complain(error) {
  report.errors.push(error instanceof Error ? `${error.message} ${error.stack}` : JSON.stringify(error));
}

// What nobody caught would have ended the user's program.
process.on("uncaughtException", complain);
process.on("unhandledRejection", complain);

/** Hands on the question in pieces as a microphone brings them, only faster. */
export async function speak(send) {
  const size = FRAME_MS * BYTES_PER_MS;
  for (let start = 0; start < question.length; start += size) {
    const piece = Buffer.alloc(size, SILENCE);
    question.copy(piece, 0, start, start + size);
    send(piece);
    await new Promise((resolve) => setTimeout(resolve, FRAME_MS / FASTER));
  }
}

export function finish(members) {
  console.log(JSON.stringify({ ...report, ...members }));
  process.exit(0);
}

setTimeout(() => {
  complain(new Error("it was not over within a minute"));
  finish({});
}, 60_000);
