"""Sessions that go on from a moment of another one. That a client can: tests/cli/test_replay_live.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Stored
from antiphon.events.errors import Corrupt
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.events.units import Moment
from antiphon.events.vocabulary import ClientAttached, FramesSent, SessionForked, SessionOpened
from antiphon.replay import sources
from antiphon.replay.fork import CannotFork, ForkAsked, fork
from antiphon.replay.verify import verify
from tests.golden.corpus import GOLDEN

from .calls import Call, tone

FORKED = SessionId("sess_forked")
NOW = Moment(9_000_000_000, 1_800_000_000_000_000_000)


@pytest.fixture
def store(tmp_path: Path) -> SegmentLog:
    return SegmentLog(tmp_path / "data", deliver=lambda call: call())


def life(name: str = "scripted") -> sources.Life:
    return sources.of_recording(GOLDEN / "0.2.0" / f"{name}.antiphon.zip")


def state_after(events: list[Stored], session: SessionId) -> Session:
    state = Session(session)
    for stored in events:
        state = refold(state, stored)
    return state


def asked(**how: Any) -> ForkAsked:
    return ForkAsked(session=FORKED, token="secret", now=NOW, **how)


def test_a_fork_has_what_was_said_up_to_that_event_and_says_whence_it_comes(store: SegmentLog) -> None:
    recorded = life("spoken")
    made = fork(recorded, store, asked(at=68))
    original = list(recorded.log.read(recorded.session))[:69]
    copied = list(store.read(FORKED))
    assert made.answering
    assert len(copied) == made.events == 71
    assert copied[69].event == SessionForked(session=recorded.session, incarnation=0, at=68)
    assert copied[68].at.wall_ns == NOW.wall_ns
    before, after = state_after(original, recorded.session), state_after(copied, FORKED)
    assert after.entries == before.entries
    assert after.phase == "open"
    assert after.attached.current == 0
    sound = [
        (recorded.log.read_blob(recorded.session, ours.blob), store.read_blob(FORKED, theirs.blob))
        for ours, theirs in zip(original, copied, strict=False)
        if ours.blob is not None and theirs.blob is not None
    ]
    assert sound
    assert all(one == other for one, other in sound)


def test_nothing_of_a_fork_belongs_to_the_original(store: SegmentLog) -> None:
    """No fence, no token and no digest: a client of the original has no way in, and nothing is claimed."""
    recorded = life()
    fork(recorded, store, asked())
    for stored in store.read(FORKED):
        assert getattr(getattr(stored.event, "fence", None), "session", FORKED) == FORKED
        assert not getattr(stored.event, "digest", b"") or not isinstance(stored.event, FramesSent)
        if isinstance(stored.event, SessionOpened):
            assert stored.event.session == FORKED
    tokens = [token for one in store.read(FORKED) if (token := getattr(one.event, "token", b""))]
    assert len(tokens) == 1
    assert verify(store, FORKED).same


@pytest.mark.parametrize("events", [255, 256, 257, 512])
def test_a_past_of_any_length_is_copied(store: SegmentLog, events: int) -> None:
    """Also one that fills its batches."""
    call = Call(MemoryLog())
    call.say(0, ClientAttached(attachment=1, dialect="realtime"))
    while len(list(call.log.read(call.session))) < events:
        call.hear(100, tone(24))
    original = next(sources.of_session(call.log, call.session))
    made = fork(original, store, asked(at=events - 1))
    assert made.events == len(list(store.read(FORKED))) == events + 2


def test_a_fork_that_fails_leaves_nothing(store: SegmentLog, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = life("spoken")

    def gone(*_: Any, **__: Any) -> bytes:
        raise Corrupt("audio.blob", offset=0, seq=None, reason="damaged payload")

    monkeypatch.setattr(recorded.log, "read_blob", gone)
    with pytest.raises(Corrupt):
        fork(recorded, store, asked())
    assert list(store.sessions()) == []


@pytest.mark.parametrize(
    ("at", "says"), [(0, "had not begun"), (1, "nobody"), (51, "had ended"), (10_000, "no event 10000")]
)
def test_where_there_is_no_session_to_go_on_with_there_is_no_fork(
    store: SegmentLog, at: int, says: str
) -> None:
    with pytest.raises(CannotFork, match=says):
        fork(life(), store, asked(at=at))
    assert list(store.sessions()) == []
