"""Sound leaves at its pace: on a virtual clock for the times, and in the outbox for the order."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from antiphon.events.ids import ResponseId
from antiphon.media.opus import OpusReader
from antiphon.web.outbox import Letter
from antiphon.web.personaplex import pacing
from antiphon.web.personaplex.pacing import EARLY_S, MOST_FRAMES, Cadence, PacedOutbox

FRAME_S = 0.08
PCM = bytes(2 * 1920)


def played(arrivals: list[float]) -> list[float]:
    """When frames leave that come at those times, each 80 ms long."""
    cadence, left, now = Cadence(), [], 0.0
    for n, at in enumerate(arrivals):
        now = max(now, at)
        now += cadence.wait_s(now)
        waiting = sum(one <= now for one in arrivals[n + 1 :])
        cadence.left(now, FRAME_S, waiting)
        left.append(now)
    return left


def gaps(times: list[float]) -> list[float]:
    return [round(later - earlier, 6) for earlier, later in itertools.pairwise(times)]


def test_what_comes_in_time_leaves_at_once() -> None:
    arrivals = [FRAME_S * n for n in range(50)]
    assert played(arrivals) == pytest.approx(arrivals)


def test_what_comes_a_little_early_or_late_leaves_at_once_and_nothing_is_late_ever_after() -> None:
    arrivals = [FRAME_S * n + (0.03 if n % 3 == 0 else 0.0) for n in range(60)]
    assert max(left - at for left, at in zip(played(arrivals), arrivals, strict=True)) <= 0.02


def test_of_a_burst_frames_follow_each_other_at_their_length() -> None:
    left = played([0.0] * 4)
    assert left[0] == 0.0
    assert all(gap >= FRAME_S - EARLY_S - 0.01 for gap in gaps(left))
    assert left[3] >= 3 * FRAME_S * 0.9 - EARLY_S - 1e-9


def test_where_many_wait_they_leave_a_tenth_faster_until_they_are_fewer() -> None:
    arrivals = [0.0] * 10 + [FRAME_S * n for n in range(1, 200)]
    left = played(arrivals)
    assert min(gaps(left)[1:]) == pytest.approx(0.9 * FRAME_S)
    assert left[-1] - arrivals[-1] <= 3 * FRAME_S, "it has caught up"


# --- the outbox -------------------------------------------------------------------------------------------


class Socket:
    """A stub: takes what it is given, unless it is told not to read."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self.moved = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()

    async def send(self, payload: bytes, binary: bool) -> None:
        await self.reads.wait()
        assert binary
        self.taken.append(payload)
        self.moved.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed = code, reason
        self.moved.set()


def text(number: int) -> Letter:
    return Letter(b"\x02%d" % number, number, binary=True)


def sound(number: int, pcm: bytes = PCM) -> Letter:
    return Letter(b"\x01" + pcm, number, response=ResponseId("r"), until_sample=number, binary=True)


class Sending:
    def __init__(self) -> None:
        self.sent: list[int] = []
        self.withheld: list[int] = []
        self.socket = Socket()
        self.outbox = PacedOutbox(
            self._sent,
            lambda letters: self.withheld.extend(one.number for one in letters),
            1 << 20,
        )

    def _sent(self, letter: Letter) -> None:
        self.sent.append(letter.number)
        self.socket.moved.set()

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not done():
                self.socket.moved.clear()
                await self.socket.moved.wait()

    async def took(self, count: int) -> None:
        await self.until(lambda: len(self.socket.taken) >= count)


@asynccontextmanager
async def sending() -> AsyncIterator[Sending]:
    it = Sending()
    running = asyncio.create_task(it.outbox.run(it.socket.send, it.socket.close))
    yield it
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sound takes no time."""
    monkeypatch.setattr(Cadence, "wait_s", lambda self, now: 0.0)


@pytest.mark.usefixtures("hurried")
async def test_words_keep_their_place_between_the_sounds_and_the_farewell_comes_last() -> None:
    async with sending() as it:
        for letter in (text(0), sound(1), text(2), sound(3)):
            it.outbox.put(letter)
        it.outbox.close(1000, "over")
        it.outbox.put(text(9))
        await it.took(4)
        assert [one[0] for one in it.socket.taken] == [2, 1, 2, 1]
        assert it.sent == [0, 1, 2, 3]
        await it.until(lambda: it.socket.closed is not None)
        assert it.socket.closed == (1000, "over")


@pytest.mark.usefixtures("hurried")
async def test_who_does_not_read_loses_the_oldest_sound_and_the_stream_stays_whole() -> None:
    async with sending() as it:
        it.socket.reads.clear()
        for number in range(2 * MOST_FRAMES):
            it.outbox.put(text(1000 + number))
            it.outbox.put(sound(number))
            await asyncio.sleep(0)
        it.socket.reads.set()
        await it.until(lambda: 2 * MOST_FRAMES - 1 in it.sent)
        heard = [number for number in it.sent if number < 1000]
        assert sorted(heard + it.withheld) == list(range(2 * MOST_FRAMES))
        assert heard == sorted(heard)
        assert heard[-1] == 2 * MOST_FRAMES - 1
        assert len([number for number in it.sent if number >= 1000]) == 2 * MOST_FRAMES, "no word is lost"
        reader = OpusReader()
        pcm = b"".join(reader.feed(one[1:]) for one in it.socket.taken if one[0] == 1)
        assert len(pcm) == len(heard) * len(PCM)


async def test_sound_that_waits_is_taken_back_when_the_fence_moves() -> None:
    async with sending() as it:
        for number in range(5):
            it.outbox.put(sound(number))
        await it.took(1)
        taken = it.outbox.take_back_audio()
        assert [letter.number for letter in taken][-1] == 4
        it.outbox.put(text(9))
        await it.until(lambda: 9 in it.sent)
        assert len(it.sent) + len(taken) == 6


async def test_who_hears_nothing_is_told_that_somebody_is_there_once_he_was_greeted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "QUIET_S", 0.02)
    async with sending() as it:
        await asyncio.sleep(0.1)
        assert it.socket.taken == []
        it.outbox.put(Letter(b"\x00", 0, binary=True))
        await it.took(4)
        assert it.socket.taken == [b"\x00", b"\x06", b"\x06", b"\x06"]
        assert it.sent == [0]
