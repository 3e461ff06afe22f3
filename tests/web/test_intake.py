"""Frames that take long to read keep their place: what comes behind them waits, except for what must not."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Config
from antiphon.web import intake as intakes
from antiphon.web.duplex.decode import DuplexDecoder
from antiphon.web.intake import INLINE, Intake
from antiphon.web.realtime.decode import RealtimeDecoder
from antiphon.web.realtime.undecodable import Undecodable

PCM_24 = Config(echo={"audio": {"input": {"format": {"type": "pcm16", "rate": 24_000}}}})
LARGE = INLINE // 2 * 2
"""Bytes of audio in a frame that is read in a thread."""


def append(mark: int, size: int) -> str:
    audio = base64.b64encode(bytes([mark, 0x10]) * (size // 2)).decode()
    return json.dumps({"type": "input_audio_buffer.append", "audio": audio})


def frame(kind: str, **members: Any) -> str:
    return json.dumps({"type": kind, **members})


class Gated(DuplexDecoder):
    """A decoder that reads in a thread only when the test lets it."""

    def __init__(self) -> None:
        super().__init__(lambda: PCM_24)
        self.gate = threading.Event()

    def parse(self, text: str) -> Any:
        if threading.current_thread() is not threading.main_thread():
            assert self.gate.wait(10)
        return super().parse(text)


class Asked:
    """What the session is asked of the frames taken so far."""

    def __init__(self, decoder: Any, *, drops: bool = True) -> None:
        self.wishes: list[Any] = []
        self.bad: list[Undecodable] = []
        self.broken = False
        self._decoder = decoder
        self._intake = Intake(decoder, self._ask, self.bad.append, self._break, drops=drops)
        self._after, self._then = -1, lambda: None

    def _break(self) -> None:
        self.broken = True

    def when(self, wishes: int, then: Callable[[], None]) -> None:
        """Do something in the loop's next turn after that many wishes."""
        self._after, self._then = wishes, then

    def _ask(self, wish: Any) -> None:
        self.wishes.append(wish)
        if len(self.wishes) == self._after:
            asyncio.get_running_loop().call_soon(self._then)

    def take(self, *texts: str) -> None:
        """As a reader does."""
        for text in texts:
            if self._intake.places or len(text) > INLINE:
                self._intake.take(text)
            else:
                self.wishes += self._decoder.read(text)

    @property
    def is_full(self) -> bool:
        return self._intake.is_full

    async def settled(self) -> list[str]:
        await self._intake.settled()
        return self.names()

    def names(self) -> list[str]:
        return [type(wish).__name__ for wish in self.wishes]


@pytest.fixture
def gated() -> Gated:
    return Gated()


async def test_a_commit_waits_for_the_audio_before_it(gated: Gated) -> None:
    asked = Asked(gated)
    asked.take(append(1, LARGE), append(2, 4_800), frame("input_audio_buffer.commit"))
    await asyncio.sleep(0)
    assert asked.names() == []
    gated.gate.set()
    assert await asked.settled() == ["AppendAudio", "AppendAudio", "CommitInput"]
    assert asked.wishes[1].pcm[:1] == b"\x02"


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("response.cancel", "CancelResponse"),
        ("barge_in", "BargeIn"),
        ("output_audio_buffer.clear", "ClearOutput"),
        ("session.close", "CloseSession"),
        ("session.heartbeat", "Beat"),
    ],
)
async def test_a_cancel_or_a_close_waits_for_nobody(gated: Gated, kind: str, command: str) -> None:
    asked = Asked(gated)
    asked.take(append(1, LARGE), frame("input_audio_buffer.commit"), frame(kind))
    assert asked.names() == [command]
    gated.gate.set()
    assert await asked.settled() == [command, "AppendAudio", "CommitInput"]


@pytest.mark.parametrize("kind", ["response.cancel", "barge_in", "input.cancel", "output_audio_buffer.clear"])
@pytest.mark.parametrize("begins", ["input.commit", "response.create"])
async def test_a_cancel_also_stops_what_it_overtakes(gated: Gated, kind: str, begins: str) -> None:
    """The answer ends where it begins; what is asked for after the cancel is not stopped."""
    asked = Asked(gated)
    asked.take(append(1, LARGE), frame(begins), frame(kind), frame("response.create"))
    gated.gate.set()
    names = await asked.settled()
    began = {"input.commit": "CommitInput", "response.create": "CreateResponse"}[begins]
    assert names[-3:] == [began, "CancelResponse", "CreateResponse"]
    assert names.count("CancelResponse") == (2 if kind == "response.cancel" else 1)
    assert all(wish.if_any for wish in asked.wishes if isinstance(wish, c.CancelResponse))


@pytest.mark.parametrize(
    "cancel", [frame("response.cancel", response_id="resp_1"), frame("session.heartbeat")]
)
async def test_what_names_another_answer_or_none_stops_nothing_that_waits(gated: Gated, cancel: str) -> None:
    asked = Asked(gated)
    asked.take(append(1, LARGE), frame("input.commit"), cancel)
    gated.gate.set()
    assert (await asked.settled())[1:] == ["AppendAudio", "CommitInput"]


async def test_a_cancel_with_nothing_to_stop_before_it_is_told_so(gated: Gated) -> None:
    """A commit that nobody wants answered begins nothing."""
    asked = Asked(gated)
    asked.take(append(1, LARGE), frame("input_audio_buffer.commit"), frame("response.cancel"))
    gated.gate.set()
    assert await asked.settled() == ["CancelResponse", "AppendAudio", "CommitInput"]
    assert not asked.wishes[0].if_any


@pytest.mark.parametrize("kind", ["input_audio_buffer.clear", "input.cancel", "barge_in"])
async def test_what_clears_the_input_voids_what_is_still_being_read(gated: Gated, kind: str) -> None:
    asked = Asked(gated)
    asked.take(append(1, 480), append(1, LARGE), append(2, 4_800), frame(kind))
    [cleared] = asked.names()
    asked.take(append(3, 4_800), frame("input_audio_buffer.commit"))
    gated.gate.set()
    assert await asked.settled() == [cleared, "AppendAudio", "CommitInput"]
    assert set(asked.wishes[1].pcm[::2]) == {3}


async def test_what_was_committed_a_clear_does_not_void(gated: Gated) -> None:
    asked = Asked(gated)
    asked.take(
        append(1, LARGE),
        frame("input_audio_buffer.commit"),
        append(2, 4_800),
        frame("input_audio_buffer.clear"),
    )
    gated.gate.set()
    assert await asked.settled() == ["AppendAudio", "CommitInput", "ClearInput"]


async def test_a_large_frame_that_is_not_audio_is_not_voided(gated: Gated) -> None:
    asked = Asked(gated)
    update = frame("session.update", session={"instructions": "x" * INLINE})
    asked.take(update, frame("input_audio_buffer.clear"))
    gated.gate.set()
    assert await asked.settled() == ["ClearInput", "Configure"]


async def test_a_frame_that_cannot_be_read_holds_nobody_up(gated: Gated) -> None:
    asked = Asked(gated)
    gated.gate.set()
    asked.take("{" + " " * INLINE, append(1, 4_800), "[", frame("input_audio_buffer.commit"))
    assert await asked.settled() == ["AppendAudio", "CommitInput"]
    assert [bad.code for bad in asked.bad] == ["invalid_json", "invalid_json"]


async def test_what_one_frame_amounts_to_is_asked_in_portions(gated: Gated) -> None:
    """Between them others have their turn, and a clear still voids the rest."""
    asked = Asked(gated)
    gated.gate.set()
    asked.take(append(1, 96_000 * 40))
    asked.when(intakes.PORTION, lambda: asked.take(frame("input_audio_buffer.clear")))
    assert await asked.settled() == ["AppendAudio"] * intakes.PORTION + ["ClearInput"]


async def test_too_much_that_waits_is_refused_or_holds_the_reading(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intakes, "MOST_WAITING", 3 * LARGE)
    refusing, holding = Asked(gated), Asked(gated, drops=False)
    for asked in (refusing, holding):
        asked.take(append(1, LARGE), append(2, LARGE), append(3, LARGE), frame("response.cancel"))
    assert [bad.code for bad in refusing.bad] == ["input_backpressure"]
    assert (refusing.is_full, holding.is_full, holding.bad) == (False, True, [])
    gated.gate.set()
    assert (await refusing.settled()).count("AppendAudio") == 2
    assert (await holding.settled()).count("AppendAudio") == 3


async def test_a_reader_that_breaks_ends_its_connection_and_no_other(gated: Gated) -> None:
    class Broken(DuplexDecoder):
        def parse(self, text: str) -> Any:
            raise ZeroDivisionError

    asked, other = Asked(Broken(lambda: PCM_24)), Asked(gated)
    gated.gate.set()
    for one in (asked, other):
        one.take(append(1, LARGE))
        await one.settled()
    await asyncio.sleep(0)
    assert (asked.broken, other.broken, other.names()) == (True, False, ["AppendAudio"])


# --- the law ----------------------------------------------------------------------------------------------

CLEAR, COMMIT = frame("input_audio_buffer.clear"), frame("input_audio_buffer.commit")
ITEM = frame(
    "conversation.item.create", item={"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
)
MARKS = st.integers(1, 250)
FRAMES = st.one_of(
    st.builds(append, MARKS, st.just(LARGE)),
    st.builds(append, MARKS, st.sampled_from([480, 4_801, 4_800])),
    st.sampled_from([CLEAR, COMMIT, ITEM]),
)


def outcome(wishes: list[Any]) -> list[Any]:
    """What a session makes of it: what was committed, in order with all else, and what is still open."""
    made: list[Any] = []
    held = b""
    for wish in wishes:
        if isinstance(wish, c.AppendAudio):
            held += wish.pcm
        elif isinstance(wish, c.ClearInput):
            held = b""
        else:
            made.append(held if isinstance(wish, c.CommitInput) else type(wish))
            held = b"" if isinstance(wish, c.CommitInput) else held
    return [*made, held]


@pytest.mark.parametrize("dialect", ["duplex", "realtime"])
def test_a_session_is_asked_the_same_however_long_reading_takes(dialect: str) -> None:
    def decoder() -> Any:
        return DuplexDecoder(lambda: PCM_24) if dialect == "duplex" else RealtimeDecoder(lambda: Config())

    @settings(max_examples=60, deadline=None)
    @given(frames=st.lists(FRAMES, max_size=12))
    def law(frames: list[str]) -> None:
        straight = decoder()
        at_once = [wish for text in frames for wish in straight.read(text)] + straight.flush()

        async def in_threads() -> list[Any]:
            reader = decoder()
            asked = Asked(reader)
            asked.take(*frames)
            await asked.settled()
            return [*asked.wishes, *reader.flush()]

        assert outcome(asyncio.run(in_threads())) == outcome(at_once)

    law()
