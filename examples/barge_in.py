"""Break in on an answer, and see that the history ends where the sound did.

python examples/barge_in.py [ws://127.0.0.1:8765]
"""

import asyncio
import sys

from antiphon.clients.duplex import DuplexClient, ResponseHandle, SessionConfig

LISTENS_S = 0.5


async def play(response: ResponseHandle) -> None:
    """A loudspeaker would get each piece here. It plays in real time, and that is what is acknowledged."""
    async for _piece in response.audio():
        pass


async def main(url: str) -> None:
    async with DuplexClient(url, config=SessionConfig(auto_response=False)) as client:
        await client.send_text("Tell me a long story.")
        response = await anext(client.responses())
        playing = asyncio.create_task(play(response))

        await asyncio.sleep(LISTENS_S)
        # Here a loudspeaker would be told to throw away what it holds.
        await client.barge_in()
        await playing
        await response.wait()
        print(f"said:   {response.transcript}")
        print(f"played: {response.played_ms} of {response.audio_ms:.0f} ms", file=sys.stderr)

        item = f"{response.done_event.response['output'][0]['id']}"
        await client.send({"type": "conversation.item.retrieve", "item_id": item})
        kept = await client.wait_for("conversation.item.retrieved")
        print(f"heard:  {kept.item['content'][0]['transcript']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:8765"))
