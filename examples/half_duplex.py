"""Hold a half-duplex call with a recording as the microphone, and keep the answers.

    python examples/half_duplex.py question.wav answer.wav [ws://127.0.0.1:8765]

Needs `pip install websockets numpy`. The recording is mono with 16 bits at 16 kHz; what is said in it may be
several questions. The call ends when it has been played and everything in it was answered.
"""

import asyncio
import base64
import json
import sys
import uuid
import wave

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

RATE, CHUNK = 16_000, 8_000
COLD_START_S = 0.5
"""What comes sooner after `prepared` is thrown away."""
LISTEN_S = 1.5
"""Silence behind the recording, so that the end of the last question is heard."""


class Call:
    """What is known of the call so far."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.answers: list[np.ndarray] = []
        self.may_speak = asyncio.Event()
        self.may_speak.set()

    async def send(self, kind: str, **members: object) -> None:
        await self.socket.send(json.dumps({"type": kind, **members}))

    async def speak(self, samples: np.ndarray) -> None:
        """As fast as one speaks, and not while one is answered: nobody would hear it."""
        await asyncio.sleep(COLD_START_S)
        for start in range(0, len(samples), CHUNK):
            await self.may_speak.wait()
            chunk = samples[start : start + CHUNK].astype("<f4").tobytes()
            await self.send("audio_chunk", audio_base64=base64.b64encode(chunk).decode())
            await asyncio.sleep(CHUNK / RATE)
        await self.may_speak.wait()
        await self.send("stop")

    async def listen_again(self, answer: list[np.ndarray]) -> None:
        """When the answer has been played: the server, too, takes it for played only then."""
        await asyncio.sleep(sum(map(len, answer)) / 24_000 + 0.8)
        self.may_speak.set()

    async def hold(self, samples: np.ndarray) -> None:
        """Until the server ends the call."""
        tasks: list[asyncio.Task[None]] = []
        answer: list[np.ndarray] = []
        async for text in self.socket:
            frame = json.loads(text)
            match frame["type"]:
                case "queued" | "queue_update":
                    print(f"[number {frame['position']} in the line, {frame['estimated_wait_s']:.0f} s]")
                case "prepared":
                    tasks.append(asyncio.create_task(self.speak(samples)))
                case "generating":
                    self.may_speak.clear()
                    answer = []
                    print(f"[{frame['speech_duration_ms']} ms were heard] ", end="", flush=True)
                case "chunk":
                    print(frame["text_delta"] or "", end="", flush=True)
                    if frame["audio_data"]:
                        answer.append(np.frombuffer(base64.b64decode(frame["audio_data"]), "<f4"))
                case "turn_done":
                    print()
                    self.answers += answer
                    tasks.append(asyncio.create_task(self.listen_again(answer)))
                case "error":
                    print(f"[{frame['code']}: {frame['error']}]", file=sys.stderr)
                    self.may_speak.set()
                case "timeout":
                    print(f"[the call's time is over after {frame['elapsed_s']} s]")
        for task in tasks:
            task.cancel()


async def main(question: str, answer: str, server: str) -> None:
    with wave.open(question) as recording:
        if (recording.getframerate(), recording.getnchannels(), recording.getsampwidth()) != (RATE, 1, 2):
            raise SystemExit(f"{question} is not mono with 16 bits at 16 kHz")
        samples = np.frombuffer(recording.readframes(recording.getnframes()), "<i2") / np.float32(32768)
    samples = np.concatenate([samples, np.zeros(int(RATE * LISTEN_S), np.float32)])
    url = f"{server}/ws/half_duplex/hdx_{uuid.uuid4().hex[:8]}"
    async with connect(url, max_size=None) as socket:
        call = Call(socket)
        await call.send("prepare", system_content="You are a helpful assistant.", config={})
        await call.hold(samples)
    with wave.open(answer, "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        for sound in call.answers:
            file.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "ws://127.0.0.1:8765"))
