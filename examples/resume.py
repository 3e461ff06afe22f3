"""Pull the connection in the middle of an answer, and miss nothing.

python examples/resume.py [ws://127.0.0.1:8765]
"""

import asyncio
import sys

from websockets.asyncio.client import ClientConnection, connect

from antiphon.clients.duplex import DuplexClient, SessionConfig


class Cable:
    """Opens the client's connections, and can pull the one that is open."""

    socket: ClientConnection

    async def connect(self, url: str) -> ClientConnection:
        self.socket = await connect(url, compression=None, max_size=None)
        return self.socket

    def pull(self) -> None:
        """As when the network goes: no close frame, nothing."""
        self.socket.transport.abort()


async def main(url: str) -> None:
    cable = Cable()
    config = SessionConfig(auto_response=False)
    async with DuplexClient(url, config=config, connect=cable.connect) as client:
        await client.send_text("Tell me a long story.")
        response = await anext(client.responses())
        cable.pull()

        await client.wait_for("connection.lost")
        print("the connection is gone")
        # Said while there is none: it waits, and arrives once.
        await client.send({"type": "turn.signal", "event": "still_here"})
        resumed = await client.wait_for("connection.resumed")
        print(f"and back, after {resumed.attempt} attempt")

        pieces = [piece async for piece in response.audio("when_taken")]
        await response.wait()
        whole_ms = config.output_audio.duration_ms(b"".join(pieces))
        print(f"{response.transcript} [{response.status}, {whole_ms:.0f} ms]")
        signal = await client.wait_for("turn.event")
        print(f"the server heard: {signal.event}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:8765"))
