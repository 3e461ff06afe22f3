"""Talk over the Moshi wire (/api/chat) without a microphone: a recording goes in, the answer comes out.

    python examples/moshi_client.py question.wav answer.wav [ws://127.0.0.1:8765/api/chat?text_prompt=Be+brief.]

Needs `pip install websockets numpy sphn==0.2.1`. The recording is mono with 16 bits at 24 kHz. It works with
Moshi's and PersonaPlex's own servers, too.
"""

import asyncio
import sys
import wave

import numpy as np
import sphn
from websockets.asyncio.client import ClientConnection, connect

RATE = 24_000
FRAME = 1920
LISTENS_ON_S = 2.0
READY, AUDIO, TEXT, ERROR = 0, 1, 2, 5


async def speak(socket: ClientConnection, recording: wave.Wave_read) -> None:
    """One frame every 80 ms, and silence for a while behind the recording: the model goes on hearing."""
    encoder, loop = sphn.OpusStreamWriter(RATE), asyncio.get_running_loop()
    frames = -(-recording.getnframes() // FRAME) + int(LISTENS_ON_S * RATE / FRAME)
    began = loop.time()
    for n in range(frames):
        samples = np.frombuffer(recording.readframes(FRAME), "<i2").astype(np.float32) / 32768
        samples = np.pad(samples, (0, FRAME - len(samples)))
        await socket.send(bytes((AUDIO,)) + encoder.append_pcm(samples))
        await asyncio.sleep(max(began + (n + 1) * FRAME / RATE - loop.time(), 0))
    await socket.close()


async def converse(socket: ClientConnection, recording: wave.Wave_read) -> np.ndarray:
    """The sound of the answer. Nothing is said before the handshake: nobody would hear it."""
    decoder, heard, speaking = sphn.OpusStreamReader(RATE), [], None
    async for message in socket:
        tag, payload = message[0], message[1:]
        if tag == READY:
            speaking = asyncio.create_task(speak(socket, recording))
        elif tag == AUDIO:
            heard.append(decoder.append_bytes(payload))
        elif tag == TEXT:
            print(payload.decode(), end="", flush=True)
        elif tag == ERROR:
            print(f"[{payload.decode()}]", file=sys.stderr)
    print()
    if speaking is not None:
        speaking.cancel()
    return np.concatenate(heard) if heard else np.zeros(0, np.float32)


async def main(question: str, answer: str, url: str) -> None:
    with wave.open(question) as recording:
        async with connect(url, max_size=None) as socket:
            heard = await converse(socket, recording)
    with wave.open(answer, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((np.clip(heard, -1, 1) * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    usual = "ws://127.0.0.1:8765/api/chat"
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else usual))
