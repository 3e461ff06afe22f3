"""Type to the server through the official `openai` SDK and save what it says in hello.wav.

Needs `pip install 'openai[realtime]'`. See README.md.
"""

import asyncio
import base64
import wave

from openai import AsyncOpenAI


async def main() -> None:
    client = AsyncOpenAI(base_url="http://127.0.0.1:8765/v1", api_key="unused")
    async with client.realtime.connect(model="antiphon") as connection:
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello!"}]}
        )
        await connection.response.create()
        pcm = b""
        async for event in connection:
            if event.type == "response.output_audio_transcript.delta":
                print(event.delta, end="", flush=True)
            elif event.type == "response.output_audio.delta":
                pcm += base64.b64decode(event.delta)
            elif event.type == "response.done":
                break
    with wave.open("hello.wav", "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        file.writeframes(pcm)


asyncio.run(main())
