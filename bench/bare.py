"""The floor: a WebSocket server that sends every text frame back, and does nothing else.

python -m bench.bare PORT
"""

from __future__ import annotations

import asyncio
import sys

import uvloop
from websockets.asyncio.server import ServerConnection, serve


async def echo(socket: ServerConnection) -> None:
    async for frame in socket:
        await socket.send(frame)


async def main(port: int) -> None:
    async with serve(echo, "127.0.0.1", port, compression=None, max_size=None) as server:
        await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))
