"""SIGKILL in the middle of appends: a writer of eight sessions, killed again and again."""

from __future__ import annotations

import random
from pathlib import Path

from antiphon.events.conformance.cases.killing import Broken, acknowledged, intact
from antiphon.events.conformance.drafts import text
from antiphon.events.conformance.processes import Children
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect
from antiphon.events.verify import verify

from .outcome import Tally, Violation
from .stores import elsewhere, handle

FULL, SHORT = 200, 20
SESSIONS, KILLS_A_STORE = 8, 10


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """The seed fixes what is written and after how many answers the kill comes. Raises Violation.

    In every second store all writes go through the writer thread.
    """
    while tally.tried < count:
        store = tally.tried // KILLS_A_STORE
        root, rng = folder / f"store-{store}", random.Random(f"{seed}/kill/{store}")
        children = Children(elsewhere(root, threaded=store % 2 == 1))
        try:
            with handle(root) as log:
                _kill_repeatedly(log, children, rng, min(KILLS_A_STORE, count - tally.tried), tally)
        finally:
            children.end()


def _kill_repeatedly(
    log: SegmentLog, children: Children, rng: random.Random, kills: int, tally: Tally
) -> None:
    sessions = [SessionId(f"s{n}") for n in range(SESSIONS)]
    bystander = _begin(log, SessionId("bystander"))
    for session in sessions:
        _begin(log, session)
    for _ in range(kills):
        writing, answers = rng.randrange(1 << 32), rng.randrange(1, 300)
        tally.next(f"storm {writing}, killed after {answers} answers")
        storm = children.start("storm", writing, *sessions)
        said = [storm.line() for _ in range(answers)]
        storm.kill()
        said += storm.lines()
        tally.found["events acknowledged"] += sum(_events(answer) for answer in said)
        last = acknowledged(said)
        for session in sessions:
            _check(log, session, last.get(session, 0))
        if not verify(log, bystander).sound or log.head(bystander).next_seq != 1:
            raise Violation("disturbed", "another session of the store was touched")


def _events(answer: str) -> int:
    _, first, last = answer.split(" ")
    return int(last) - int(first) + 1


def _begin(log: SegmentLog, session: SessionId) -> SessionId:
    lease, _ = log.open(session, expect=Expect.NEW, owner="the campaign")
    log.append(lease, Seq(0), [text(0)]).result()
    log.release(lease)
    return session


def _check(log: SegmentLog, session: SessionId, last: int) -> None:
    try:
        next_seq = intact(log, session)
    except Broken as broken:
        raise Violation("torn", str(broken)) from broken
    if min(next_seq, log.head(session).next_seq) <= last:
        raise Violation("lost", f"{session}: seq {last} was acknowledged, the log ends at {next_seq}")
    if not verify(log, session).sound:
        raise Violation("undetected", f"{session}: what a killed writer left does not verify")
