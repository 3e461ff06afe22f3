"""Connections that nobody wants: they do not read, or hardly; send too much, or rubbish, or next to nothing.

    python -m bench.enemies PORT COUNT      until it is ended; shared out evenly among the kinds

Whoever is sent away comes back after a moment. They run with the lowest priority: what is measured is what
they cost the server, not that they take the processor from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import sys
from collections.abc import Awaitable, Callable

from websockets.frames import Frame, Opcode

from bench.crowd import APPEND, FRAME_S, NO_TURNS

Enemy = Callable[[socket.socket], Awaitable[None]]

BACK_S = 1.0
UPGRADE = (
    b"GET /v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
SMALL = b'{"type":"input_audio_buffer.append","audio":"AAAA"}'
FLOOD_FRAMES = 500


def text(payload: bytes) -> bytes:
    """A whole text frame, as a client sends it."""
    return bytes(Frame(Opcode.TEXT, payload).serialize(mask=True))


async def deaf(sock: socket.socket) -> None:
    """Talks and never reads."""
    await _talk(sock)


async def hard_of_hearing(sock: socket.socket) -> None:
    """Talks, and reads a byte a second."""
    async with asyncio.TaskGroup() as both:
        both.create_task(_talk(sock))
        both.create_task(_read(sock, 1, 1.0))


async def flooding(sock: socket.socket) -> None:
    """Sends the smallest frames there are, as fast as they are taken."""
    many = text(SMALL) * FLOOD_FRAMES
    async with asyncio.TaskGroup() as both:
        both.create_task(_read(sock, 1 << 16, 0.0))
        await _send(sock, UPGRADE + text(NO_TURNS))
        while True:
            await _send(sock, many)


async def raving(sock: socket.socket) -> None:
    """Sends frames of every kind with anything in them (but text is text: else it is over at once, and its
    session waits for it to come back)."""
    await _send(sock, UPGRADE)
    async with asyncio.TaskGroup() as both:
        both.create_task(_read(sock, 1 << 16, 0.0))
        while True:
            opcode = random.choice((Opcode.TEXT, Opcode.BINARY, Opcode.PING))
            said = random.randbytes(50).hex().encode()
            await _send(sock, bytes(Frame(opcode, said).serialize(mask=True)))
            await asyncio.sleep(0.05)


async def half_open(sock: socket.socket) -> None:
    """Says half a sentence, and waits."""
    await _send(sock, UPGRADE[:60])
    await _read(sock, 1 << 16, 0.0)


async def stammering(sock: socket.socket) -> None:
    """Takes a minute to ask for a connection."""
    for byte in UPGRADE:
        await _send(sock, bytes((byte,)))
        await asyncio.sleep(0.3)
    await _read(sock, 1 << 16, 0.0)


KINDS: tuple[Enemy, ...] = (deaf, hard_of_hearing, flooding, raving, half_open, stammering)


async def _talk(sock: socket.socket) -> None:
    await _send(sock, UPGRADE + text(NO_TURNS))
    frame = text(APPEND)
    while True:
        await _send(sock, frame)
        await asyncio.sleep(FRAME_S)


async def _read(sock: socket.socket, most: int, pause_s: float) -> None:
    """Raises ConnectionError when there is no more."""
    loop = asyncio.get_running_loop()
    while True:
        if not await loop.sock_recv(sock, most):
            raise ConnectionError
        await asyncio.sleep(pause_s)


async def _send(sock: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(sock, data)


async def _again_and_again(port: int, kind: Enemy) -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(random.uniform(0, BACK_S))  # not all at once, and each with a phase of its own
    while True:
        with contextlib.suppress(OSError, ExceptionGroup), socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, ("127.0.0.1", port))
            await kind(sock)
        await asyncio.sleep(BACK_S)


async def main(port: int, count: int) -> None:
    os.nice(19)
    async with asyncio.TaskGroup() as all_of_them:
        for n in range(count):
            all_of_them.create_task(_again_and_again(port, KINDS[n % len(KINDS)]))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
