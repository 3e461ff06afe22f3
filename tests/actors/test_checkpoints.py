"""Going on with a session from what was kept of it, and from its log alone where that may not be trusted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import ModuleType

import msgspec
from msgspec.structs import replace

from antiphon.actors.checkpoints import Checkpoints, digest_of
from antiphon.actors.revival import fold_in_slices
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect, Lease
from antiphon.events.units import Moment
from tests.actors.session.given import Talk

SESSION = SessionId("sess_1")
CODE, OTHER_CODE = b"of this code....", b"of other code..."


def spoken() -> Talk:
    talk = Talk()
    talk.utterance("good morning")
    talk.say("Good morning to you.", 2_000)
    talk.send(900)
    return talk


def stored(log: MemoryLog, talk: Talk, lease: Lease | None = None) -> Lease:
    """In the log, as far as it is not there yet."""
    if lease is None:
        lease, _ = log.open(SESSION, expect=Expect.NEW, owner="test")
    first = log.head(SESSION).next_seq
    drafts = [
        Draft(one.event, one.at, blob, one.cause)
        for one, blob in zip(talk.stored, talk.payloads, strict=True)
    ]
    log.append(lease, first, drafts[first:]).result()
    return lease


def folded(log: MemoryLog, code: bytes = CODE) -> Session:
    return asyncio.run(fold_in_slices(Checkpoints(log, code), SESSION))


def told_apart(state: Session) -> Session:
    """As no log leaves it: whoever has it has it from a checkpoint."""
    return replace(state, principal="of the checkpoint")


def test_what_was_kept_is_gone_on_from_and_what_came_behind_it_is_folded() -> None:
    log, talk = MemoryLog(), spoken()
    lease = stored(log, talk)
    Checkpoints(log, CODE).keep_state(told_apart(talk.state))
    talk.finish()
    talk.utterance("and what time is it?")
    stored(log, talk, lease)
    assert folded(log) == told_apart(talk.state)


def test_without_one_the_log_is_folded_from_its_beginning() -> None:
    log, talk = MemoryLog(), spoken()
    stored(log, talk)
    assert folded(log) == talk.state


def test_what_other_code_has_kept_is_passed_over() -> None:
    log, talk = MemoryLog(), spoken()
    stored(log, talk)
    Checkpoints(log, OTHER_CODE).keep_state(told_apart(talk.state))
    assert folded(log) == talk.state
    assert folded(log, OTHER_CODE) == told_apart(talk.state)


def test_what_was_kept_of_events_that_the_log_does_not_hold_is_passed_over() -> None:
    log, talk = MemoryLog(), spoken()
    stored(log, talk)
    checkpoints, state = Checkpoints(log, CODE), told_apart(talk.state)
    checkpoints.keep_state(replace(state, seq=state.seq + 3))
    assert folded(log) == talk.state
    at = Moment(state.at.mono_ns, state.at.wall_ns + 1)  # of another event in that place
    checkpoints.keep_state(replace(state, at=at))
    assert folded(log) == talk.state


def test_what_is_none_is_passed_over() -> None:
    log, talk = MemoryLog(), spoken()
    stored(log, talk)
    for data in (b"", b"nothing", msgspec.msgpack.encode((CODE, 3, (1, 2), "no state"))):
        log.keep_derived(SESSION, 0, "state", data)
        assert folded(log) == talk.state


def test_code_is_told_from_other_code_by_its_sources(tmp_path: Path) -> None:
    package = tmp_path / "folding"
    (package / "ideas").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "ideas" / "voice.py").write_text("LOUD = 1\n")
    known = of_package(package)
    assert of_package(package) == known
    (package / "ideas" / "voice.py").write_text("LOUD = 2\n")
    assert of_package(package) != known
    (package / "ideas" / "voice.py").write_text("LOUD = 1\n")
    assert of_package(package) == known
    (package / "ideas" / "voice.py").rename(package / "ideas" / "noise.py")
    assert of_package(package) != known


def of_package(path: Path) -> bytes:
    package = ModuleType("folding")
    package.__path__ = [str(path)]
    return digest_of(package)
