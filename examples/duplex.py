"""Stream a recording to /v1/realtime?duplex=1 as a microphone would, and hear the answer.

    python examples/duplex.py question.wav answer.wav [ws://127.0.0.1:8765/v1/realtime?duplex=1]

Needs `pip install websockets`. The recording is mono with 16 bits, at any rate from 8 to 192 kHz.
"""

import asyncio
import base64
import json
import sys
import wave

from websockets.asyncio.client import ClientConnection, connect

CHUNK_S = 0.2


async def send(socket: ClientConnection, kind: str, **members: object) -> None:
    await socket.send(json.dumps({"type": kind, **members}))


async def speak(socket: ClientConnection, recording: wave.Wave_read, *, model_leads: bool) -> None:
    """Send as fast as one speaks. A model that leads hears by itself when the user is done."""
    rate = recording.getframerate()
    while chunk := recording.readframes(int(rate * CHUNK_S)):
        await send(socket, "input_audio_buffer.append", audio=base64.b64encode(chunk).decode())
        await asyncio.sleep(len(chunk) / 2 / rate)
    await send(socket, "input_audio_buffer.commit", create_response=None if model_leads else True)


async def converse(socket: ClientConnection, recording: wave.Wave_read) -> bytes:
    """The audio of the answer."""
    session = {
        "input_audio_format": {"type": "pcm16", "rate": recording.getframerate()},
        "output_audio_format": {"type": "pcm16", "rate": 24_000},
        "extra_body": {"auto_response": True},
    }
    await send(socket, "session.update", session=session)
    speaking, heard = None, b""
    async for text in socket:
        event = json.loads(text)
        if event["type"] == "session.created":
            # Whatever model this is: its flags say what it can do.
            leads = event["session"]["capabilities"]["supports_model_native_turn_policy"]
            speaking = asyncio.create_task(speak(socket, recording, model_leads=leads))
        elif event["type"] == "response.output_audio_transcript.delta":
            print(event["delta"], end="", flush=True)
        elif event["type"] == "response.output_audio.delta":
            heard += base64.b64decode(event["delta"])
            # The history is what was heard. This client plays nothing and counts what arrives as played;
            # a player would say what it has really played.
            played = event["metadata"]["audio_duration_ms"]
            await send(socket, "playback.ack", response_id=event["response_id"], played_ms=played)
        elif event["type"] == "response.listen":
            print(f"[listens: {event['response']['metadata']['reason']}]")
        elif event["type"] == "response.done":
            print(f"[{event['response']['status']}]")
            await send(socket, "session.close")
        elif event["type"] == "error":
            print(f"[{event['error']['code']}: {event['error']['message']}]", file=sys.stderr)
    if speaking is not None:
        speaking.cancel()
    return heard


async def main(question: str, answer: str, url: str) -> None:
    with wave.open(question) as recording:
        async with connect(url, max_size=None) as socket:
            heard = await converse(socket, recording)
    with wave.open(answer, "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        file.writeframes(heard)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    usual = "ws://127.0.0.1:8765/v1/realtime?duplex=1"
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else usual))
