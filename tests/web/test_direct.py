"""Text reaches the session whichever way its bytes come: whole, in pieces, or in company."""

from __future__ import annotations

import asyncio

import pytest
from websockets.frames import Frame, Opcode

from tests.serving import RunningServer

from .test_hostile import CLEAR, UPGRADE, raw

PAYLOAD = b'{"type":"input_audio_buffer.clear"}'
PING = Frame(Opcode.PING, b"here").serialize(mask=True)
FRAGMENTS = [
    Frame(Opcode.TEXT, PAYLOAD[:9], fin=False).serialize(mask=True),
    PING,
    Frame(Opcode.CONT, PAYLOAD[9:]).serialize(mask=True),
]


async def answers(reader: asyncio.StreamReader, count: int) -> None:
    async with asyncio.timeout(10):
        for _ in range(count):
            await reader.readuntil(b"input_audio_buffer.cleared")


@pytest.mark.parametrize(
    ("chunks", "texts"),
    [
        ([CLEAR, CLEAR], 2),
        ([CLEAR[:1], CLEAR[1:], CLEAR], 2),
        ([CLEAR[:20], CLEAR[20:] + CLEAR[:3], CLEAR[3:], CLEAR], 3),
        ([CLEAR + CLEAR, CLEAR], 3),
        ([PING, CLEAR, PING + CLEAR, CLEAR], 3),
        ([*FRAGMENTS, CLEAR], 2),
        ([CLEAR, FRAGMENTS[0] + FRAGMENTS[1], FRAGMENTS[2], CLEAR], 3),
    ],
    ids=["whole", "header cut", "payload cut", "together", "pings", "fragments", "fragments together"],
)
async def test_every_text_is_heard_once_and_in_order(
    echo_server: RunningServer, chunks: list[bytes], texts: int
) -> None:
    async with raw(echo_server.port) as (reader, writer):
        writer.write(UPGRADE.encode() + b"\r\n")
        await reader.readuntil(b"session.created")
        for chunk in chunks:
            writer.write(chunk)
            await asyncio.sleep(0.01)  # so that each is a read of its own; however it comes, it must be heard
        await answers(reader, texts)


async def test_a_text_in_the_middle_of_another_ends_the_connection(echo_server: RunningServer) -> None:
    async with raw(echo_server.port) as (reader, writer):
        writer.write(UPGRADE.encode() + b"\r\n")
        await reader.readuntil(b"session.created")
        writer.write(FRAGMENTS[0])
        await asyncio.sleep(0.01)
        writer.write(CLEAR)
        async with asyncio.timeout(5):
            assert b"cleared" not in await reader.read()
