"""`/v1/audio/duplex`: samples as they are, and JSON, over a real port."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import UnitSubmitted
from antiphon.replay.verify import verify
from tests.serving import RunningServer, running

from .moshi import SCRIPT
from .wire import WAIT_S, Wire, wire

FRAME_BYTES = 4 * 1920


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("audio_duplex")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


class Raw(Wire):
    """`sound` is what came as bytes."""

    def __init__(self, client: Wire) -> None:
        super().__init__(client.socket)
        self.sound: list[np.ndarray] = []

    async def any(self) -> dict[str, Any]:
        """The next message that is text, or {} for one that is sound."""
        async with asyncio.timeout(WAIT_S):
            came = await self.socket.recv()
        if isinstance(came, bytes):
            self.sound.append(np.frombuffer(came, "<f4"))
            return {}
        said: dict[str, Any] = json.loads(came)
        return said

    async def until(self, kind: str) -> list[dict[str, Any]]:
        said = [await self.any()]
        while said[-1].get("type") != kind:
            said.append(await self.any())
        return said

    async def open(self, **members: Any) -> str:
        """The session's id."""
        await self.send({"type": "open", "resumable": True, **members})
        assert await self.until("ready") == [{"type": "ready"}]
        session: str = (await self.any())["session_id"]
        return session

    async def say(self, samples: int) -> None:
        await self.socket.send(np.full(samples, 0.25, "<f4").tobytes())

    async def code(self) -> int | None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.any()
        return self.socket.close_code


@contextlib.asynccontextmanager
async def raw(server: RunningServer, query: str = "") -> AsyncIterator[Raw]:
    async with wire(server, query, path="/v1/audio/duplex") as client:
        yield Raw(client)


def silences(server: RunningServer, session: str) -> int:
    """Units that a client under load was too late for."""
    log = SegmentLog(server.data, deliver=lambda answer: answer())
    given = [stored.event for stored in log.read(SessionId(session))]
    return sum(isinstance(one, UnitSubmitted) and one.silence == 1920 for one in given)


async def test_what_was_sent_is_answered_to_its_end_the_tail_filled_up(server: RunningServer) -> None:
    async with raw(server) as client:
        session = await client.open(persona="You are calm.", voice="NATM1")
        await client.say(2_500)
        await client.send({"type": "close"})
        said = await client.until("done")
        assert await client.code() == 1000
    assert [one["text"] for one in said if one.get("type") == "text"] == [" Hello"]
    assert [len(one) for one in client.sound] == [1920] * (2 + silences(server, session))
    assert max(float(np.abs(one).max()) for one in client.sound) <= 1


async def test_pieces_may_have_any_length(server: RunningServer) -> None:
    async with raw(server) as client:
        session = await client.open()
        for samples in (1, 700, 1_219, 1_920, 80):
            await client.say(samples)
        await client.send({"type": "close"})
        await client.until("done")
    assert len(client.sound) == 3 + silences(server, session), "3,920 samples are two frames and a tail"


async def test_before_open_sound_is_not_heard_and_close_is_just_done(server: RunningServer) -> None:
    async with raw(server) as client:
        await client.say(1_920)
        session = await client.open()
        await client.send({"type": "close"})
        await client.until("done")
    assert len(client.sound) == silences(server, session)
    async with raw(server) as client:
        await client.send({"type": "close"})
        assert await client.until("done") == [{"type": "done"}]
        assert await client.code() == 1000


async def test_mistakes_are_told_and_the_session_goes_on(server: RunningServer) -> None:
    async with raw(server) as client:
        await client.open()
        await client.say(1_920)
        await client.until("text")
        for wrong, code in (
            ({"type": "open"}, "session_exists"),
            (b"\0" * 7, "invalid_audio"),
            (np.array([np.nan], "<f4").tobytes(), "invalid_audio"),
            ("{", "invalid_json"),
            ("[]", "invalid_json"),
        ):
            await client.send(wrong)
            error = (await client.until("error"))[-1]
            assert error["code"] == code
            assert error["error"]
        await client.send({"type": "something"})
        await client.send({"type": "close"})
        await client.until("done")


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"voice": "../../etc/passwd"}, "invalid_value"),
        ({"persona": 7}, "invalid_value"),
        ({"audio_topk": True}, "invalid_value"),
        ({"text_temperature": float("1e9")}, "invalid_value"),
    ],
)
async def test_an_opening_that_makes_no_sense_is_refused(
    server: RunningServer, members: dict[str, Any], code: str
) -> None:
    async with raw(server) as client:
        await client.send({"type": "open", **members})
        assert (await client.until("error"))[-1]["code"] == code
        assert await client.code() == 1008


async def test_who_comes_back_by_its_url_goes_on_and_the_log_shows_the_same_again(
    server: RunningServer,
) -> None:
    async with raw(server) as client:
        await client.send({"type": "open", "resumable": True})
        place = (await client.until("session"))[-1]
        await client.say(1_920)
        await client.until("text")
        client.socket.transport.abort()
    back = f"?session_id={place['session_id']}&resume_token={place['resume_token']}"
    async with raw(server, back) as again:
        assert (await again.any())["type"] == "ready"
        assert (await again.any())["session_id"] == place["session_id"]
        await again.send({"type": "close"})
        await again.until("done")
        assert await again.code() == 1000
    log = SegmentLog(server.data, deliver=lambda answer: answer())
    assert verify(log, SessionId(place["session_id"])).same
