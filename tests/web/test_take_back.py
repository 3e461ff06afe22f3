"""What a client does not read waits where it can be taken back: little of it is with the kernel."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import json
import socket
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from websockets.asyncio.client import ClientConnection, connect

from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import AudioSpoken, EpochAdvanced, FramesSent
from antiphon.replay.verify import verify
from antiphon.web.direct import EXTENSION, DirectWebSocket
from antiphon.web.outbox import Letter, Outbox
from tests.serving import RunningServer, running

from .test_hostile import serving
from .wire import WAIT_S, Wire
from .wire import wire as open_wire

MOST = 64 * 1024
LETTERS = 100
PCM_24 = {"type": "pcm16", "rate": 24_000}
AUDIO = "x" * 13_600
"""As long as a frame with 200 ms of audio."""


@asynccontextmanager
async def slow_reader(port: int, path: str = "/", **options: Any) -> AsyncIterator[ClientConnection]:
    """A client whose kernel takes little for it, and which reads only when asked to.

    Not less than this: with a few KiB the kernel drops what it has no room for, also its acknowledgements, and
    the connection stands still for seconds while it is sent again.
    """
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MOST // 2)
    small.setblocking(False)
    await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", port))
    url = f"{'wss' if options else 'ws'}://127.0.0.1:{port}{path}"
    options |= {"sock": small, "proxy": None, "compression": None, "max_queue": 1, "max_size": None}
    async with connect(url, close_timeout=0.2, **options) as client:
        yield client


class Sending:
    """An application that sends what is put into its outbox, as an attachment does."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.outbox = Outbox(lambda letter: self.sent.append(letter.number))
        self.ready = asyncio.Event()
        self.direct: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        self.direct = scope["extensions"][EXTENSION]
        self.outbox.use(self.direct.send_now, self.direct.writable.wait)
        self.ready.set()

        async def close(code: int, reason: str) -> None:
            await send({"type": "websocket.close", "code": code, "reason": reason})

        await self.outbox.run(send, close)

    def held_below(self) -> int:
        """Bytes that the kernel and the transport have and the client has not."""
        transport = self.direct.transport
        kernel = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        waiting: int = struct.unpack("i", kernel)[0] + transport.get_write_buffer_size()
        return waiting


async def cut_off_answer(server: dict[str, Any], client_options: dict[str, Any]) -> None:
    sending = Sending()
    async with (
        serving(sending, ws=DirectWebSocket, **server) as port,
        slow_reader(port, **client_options) as client,
    ):
        async with asyncio.timeout(WAIT_S):
            await sending.ready.wait()
            for number in range(LETTERS):
                text = json.dumps({"number": number, "delta": AUDIO}).encode()
                sending.outbox.put(Letter(text, number, text, b"", ResponseId("r"), number))
                assert sending.held_below() <= MOST
            assert not sending.direct.writable.is_set()

            taken_back = [letter.number for letter in sending.outbox.take_back_audio()]
            assert sending.sent + taken_back == list(range(LETTERS))
            assert len(taken_back) > LETTERS - 10
            sending.outbox.put(Letter(b'{"number":"end"}', LETTERS))
            sending.outbox.close(1000, "")
            received = [json.loads(text)["number"] async for text in client]
    assert received == [*sending.sent[:-1], "end"]


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_of_an_answer_that_nobody_reads_less_than_64_kib_cannot_be_taken_back(loop: Any) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(cut_off_answer({}, {}))


def queued(port: int, client: int) -> int:
    """What the server's kernel holds for the client, by the table of all connections."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    ends = f":{port:04X}", f":{client:04X}"
    [queue] = [row[4] for row in rows if row[1].endswith(ends[0]) and row[2].endswith(ends[1])]
    return int(queue.split(":")[0], 16)


@pytest.mark.parametrize("query", ["?duplex=1&model=scripted", ""])
async def test_no_delta_is_longer_than_the_bound_allows_for(tmp_path: Path, query: str) -> None:
    """However much a model says at once."""
    script = tmp_path / "script.toml"
    said = 'says = { type = "said", text = "A very long tone.", tone_ms = 60000 }'
    done = 'says = { type = "finished" }\nlast = true'
    script.write_text(f'[[replies]]\nto = "speak"\n[[replies.steps]]\n{said}\n[[replies.steps]]\n{done}\n')
    config = tmp_path / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{script}"\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        async with open_wire(server, query) as client:
            session = SessionId((await client.next("session.created"))["session"]["id"])
            item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello."}]}
            await client.send({"type": "conversation.item.create", "item": item})
            await client.send({"type": "response.create"})
            frames = await client.until("response.done")
        audio = [frame for frame in frames if frame["type"] == "response.output_audio.delta"]
        sound = b"".join(base64.b64decode(frame["delta"]) for frame in audio)
        assert len(sound) == 60 * 48_000
        assert max(len(json.dumps(frame)) for frame in audio) <= len(AUDIO) + 800
        numbers = [int(frame["event_id"].removeprefix("event_")) for frame in audio]
        assert sorted(set(numbers)) == numbers
        store = SegmentLog(server.data, deliver=lambda answer: answer())
        spoken = [one for one in store.read(session) if isinstance(one.event, AudioSpoken)]
        assert len(spoken) < len(audio)
        assert b"".join(store.read_blob(session, one.blob) for one in spoken if one.blob) == sound
    server.wait_until(lambda: verify(store, session).reports > 0)
    assert verify(store, session).same


async def test_who_breaks_in_does_not_hear_what_he_had_not_read(echo_server: RunningServer) -> None:
    """A minute of answer is generated, of which the client reads nothing until it has broken in."""
    second, seconds = b"\x01\x02" * 24_000, 60
    async with slow_reader(echo_server.port, "/v1/realtime?duplex=1") as client:
        wire = Wire(client)
        await wire.send({"type": "session.update", "session": {"input_audio_format": PCM_24}})
        session = SessionId((await wire.next("session.updated"))["session"]["id"])
        for _ in range(seconds):
            await wire.append(second)
        mine = client.transport.get_extra_info("sockname")[1]
        store = SegmentLog(echo_server.data, deliver=lambda answer: answer())

        def has_answered() -> bool:
            spoken = [one for one in store.read(session) if isinstance(one.event, AudioSpoken)]
            return len(spoken) >= seconds // 2

        await asyncio.to_thread(echo_server.wait_until, has_answered)
        await wire.send({"type": "barge_in"})

        def has_broken_in() -> bool:
            assert queued(echo_server.port, mine) <= MOST
            return any(isinstance(stored.event, EpochAdvanced) for stored in store.read(session))

        await asyncio.to_thread(echo_server.wait_until, has_broken_in)
        frames = await wire.until("response.done")
        await wire.send({"type": "session.close"})
        await wire.next("session.closed")
    assert frames[-1]["response"]["status"] == "cancelled"
    audio = [frame["delta"] for frame in frames if frame["type"] == "response.output_audio.delta"]
    heard = sum(len(base64.b64decode(delta)) for delta in audio)
    assert heard < 4 * MOST  # what lay in both kernels, and what websockets had read ahead
    await asyncio.to_thread(echo_server.wait_until, lambda: store.head(session).sealed)
    assert verify(store, session).same
    withheld = [
        stored.event.withheld for stored in store.read(session) if isinstance(stored.event, FramesSent)
    ]
    assert sum(map(len, withheld)) > len(audio)
