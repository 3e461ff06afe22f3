"""The same conversation in plain samples (/v1/audio/duplex): float32 in, float32 out, no codec.

    python examples/raw_pcm_client.py question.wav answer.wav [ws://127.0.0.1:8765/v1/audio/duplex]

Needs `pip install websockets numpy`. The recording is mono with 16 bits at 24 kHz.
"""

import asyncio
import json
import sys
import wave

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

RATE = 24_000
CHUNK = 1920


async def speak(socket: ClientConnection, recording: wave.Wave_read) -> None:
    """As fast as one speaks. After `close` the rest is answered, filled up to a whole frame."""
    while chunk := recording.readframes(CHUNK):
        samples = np.frombuffer(chunk, "<i2").astype("<f4") / 32768
        await socket.send(samples.tobytes())
        await asyncio.sleep(len(samples) / RATE)
    await socket.send(json.dumps({"type": "close"}))


async def converse(socket: ClientConnection, recording: wave.Wave_read) -> bytes:
    """The sound of the answer, as float32."""
    await socket.send(json.dumps({"type": "open", "persona": "You enjoy having a good conversation."}))
    heard, speaking = b"", None
    async for message in socket:
        if isinstance(message, bytes):
            heard += message
            continue
        event = json.loads(message)
        if event["type"] == "ready":
            speaking = asyncio.create_task(speak(socket, recording))
        elif event["type"] == "text":
            print(event["text"], end="", flush=True)
        elif event["type"] == "error":
            print(f"[{event['code']}: {event['error']}]", file=sys.stderr)
        elif event["type"] == "done":
            break
    print()
    if speaking is not None:
        await speaking
    return heard


async def main(question: str, answer: str, url: str) -> None:
    with wave.open(question) as recording:
        async with connect(url, max_size=None) as socket:
            heard = await converse(socket, recording)
    with wave.open(answer, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        samples = np.frombuffer(heard, "<f4")
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    usual = "ws://127.0.0.1:8765/v1/audio/duplex"
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else usual))
