"""Where a resume cuts an answer: its sound goes on as if nothing had been, and what is void is not told."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon.events.ids import SessionId
from antiphon.replay.verify import verify
from antiphon.web.trails import STEP
from tests.serving import RunningServer, running

from .test_resume import WAITS, Seat, back, drop, log_of, numbers, take_seat
from .wire import Wire, wire

Json = dict[str, Any]
DELTA = "response.output_audio.delta"
FACTS = 3
"""Of a piece that is answered: that it was taken in, the piece, and the answer to it."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("seams") / "data", stage="echo") as started:
        yield started


def piece(number: int) -> bytes:
    """80 ms, of which no two are alike."""
    return b"".join((sample * (number + 1) * 37 % 9_000).to_bytes(2, "little") for sample in range(1_920))


async def echoed(client: Wire, seat: Seat, pieces: range) -> None:
    """Say them, and hear the answer to each before the next."""
    for number in pieces:
        await client.append(piece(number), event_id=f"piece_{number}")
        seat.frames += await client.until(DELTA)


async def finished(client: Wire, seat: Seat) -> None:
    await client.send({"type": "input_audio_buffer.commit"})
    seat.frames += await client.until("response.done")


def sound(seat: Seat) -> bytes:
    return b"".join(base64.b64decode(frame["delta"]) for frame in seat.frames if frame["type"] == DELTA)


async def come_back(server: RunningServer, seat: Seat, missed: int, pieces: range) -> None:
    """Without the last of the frames; and say more."""
    seat.frames = seat.frames[: len(seat.frames) - missed]
    async with back(server, seat) as (client, resumed):
        assert resumed["type"] == "session.resumed"
        await echoed(client, seat, pieces)
        if missed:
            seat.frames += await client.until(DELTA)
        await finished(client, seat)
        await client.send({"type": "session.close"})
        await client.until("session.closed")


@pytest.mark.parametrize("output", ["g711_ulaw", "pcm16"])
@pytest.mark.parametrize("missed", [0, 3])
async def test_the_sound_of_an_answer_goes_on_to_the_sample(
    server: RunningServer, output: str, missed: int
) -> None:
    """Also where the client has all of it so far."""
    told = []
    for cut in (False, True):
        async with wire(server, WAITS) as client:
            seat = await take_seat(client, sample_rate_hz=24_000, output_audio_format=output)
            await echoed(client, seat, range(6))
            if cut:
                drop(client)
            else:
                await echoed(client, seat, range(6, 9))
                await finished(client, seat)
        if cut:
            await come_back(server, seat, missed, range(6, 9))
        told.append(sound(seat))
    assert told[0] == told[1]


@pytest.mark.parametrize("output", ["g711_ulaw", "pcm16"])
async def test_an_answer_that_is_long_can_be_gone_on_from_its_middle(
    server: RunningServer, output: str
) -> None:
    """Again and again; and what a barge-in made void meanwhile is void."""
    async with wire(server, WAITS) as client:
        seat = await take_seat(client, sample_rate_hz=24_000, output_audio_format=output)
        await echoed(client, seat, range(6))
        drop(client)
    async with back(server, seat) as (client, _):
        await echoed(client, seat, range(6, 6 + STEP // FACTS))
        drop(client)
    async with back(server, seat) as (client, _):
        await echoed(client, seat, range(200, 202))
        kept = list(seat.frames)
        await echoed(client, seat, range(202, 206))
        await client.send({"type": "barge_in"})
        await client.until("response.done")
        drop(client)
    seat.frames = kept
    async with back(server, seat) as (client, _):
        missed = await client.until("response.done")
        assert DELTA not in {frame["type"] for frame in missed}
        assert numbers(seat.frames) == sorted(set(numbers(seat.frames)))
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    assert verify(log_of(server), SessionId(seat.session)).same
