"""A microphone in its own time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.clients.exchange import BYTES_PER_SECOND
from antiphon.clients.microphone import Microphone


class Off(Exception):
    """Ends the test's microphone."""


class Studio:
    """A clock that moves when somebody sleeps, and everything that was sent with its time."""

    def __init__(self, frames: int, frame_ms: int = 40, late: dict[int, float] | None = None) -> None:
        self.now, self.sent, self._frames, self._late = 100.0, list[tuple[float, bytes]](), frames, late or {}
        self.microphone = Microphone(self.send, frame_ms=frame_ms, clock=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def send(self, frame: bytes) -> None:
        self.sent.append((self.now, frame))
        self.now += self._late.get(len(self.sent), 0.0)
        if len(self.sent) == self._frames:
            raise Off

    async def run(self) -> bytes:
        with pytest.raises(Off):
            await self.microphone.run()
        return b"".join(frame for _, frame in self.sent)


async def test_a_frame_leaves_when_its_last_sample_has_been_spoken() -> None:
    studio = Studio(frames=3, frame_ms=80)
    await studio.run()
    assert [at for at, _ in studio.sent] == pytest.approx([100.08, 100.16, 100.24])
    assert {len(frame) for _, frame in studio.sent} == {3840}


async def test_speech_is_followed_by_silence() -> None:
    studio = Studio(frames=4)
    said = b"\1\2" * 1500
    phrase = studio.microphone.say(said)
    assert await studio.run() == said.ljust(4 * 1920, b"\0")
    assert (phrase.begun, phrase.ended) == pytest.approx((100.0, 100.0 + 3000 / BYTES_PER_SECOND))


async def test_what_is_said_second_is_spoken_second() -> None:
    studio = Studio(frames=4)
    first, second = studio.microphone.say(b"\1\1" * 960), studio.microphone.say(b"\2\2" * 960)
    assert second.begun == pytest.approx(first.ended)
    assert await studio.run() == b"\1\1" * 960 + b"\2\2" * 960 + bytes(3840)


async def test_after_a_stall_the_missed_frames_follow_at_once() -> None:
    studio = Studio(frames=6, late={2: 0.1})
    await studio.run()
    assert [at for at, _ in studio.sent] == pytest.approx([100.04, 100.08, 100.18, 100.18, 100.2, 100.24])


@pytest.mark.parametrize("frame_ms", [0, 19, 201])
def test_frames_of_unusual_length_are_refused(frame_ms: int) -> None:
    with pytest.raises(ValueError, match="20 to 200 ms"):
        Studio(frames=1, frame_ms=frame_ms)


@given(st.binary(max_size=8000).filter(lambda pcm: len(pcm) % 2 == 0), st.sampled_from([20, 40, 80, 100]))
async def test_every_sample_is_sent_once_and_in_order(pcm: bytes, frame_ms: int) -> None:
    frame = BYTES_PER_SECOND * frame_ms // 1000
    studio = Studio(frames=len(pcm) // frame + 2, frame_ms=frame_ms)
    studio.microphone.say(pcm)
    sent = await studio.run()
    assert sent[: len(pcm)] == pcm
    assert not any(sent[len(pcm) :])
