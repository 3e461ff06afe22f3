"""What tries and times clients that come back: it works, and it finds what it looks for."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.replay.verify import verify
from bench import hostile, recorded, resume
from bench.campaigns import attaching
from bench.campaigns.comers import Comer
from bench.campaigns.outcome import Tally, Violation
from bench.campaigns.stores import handle
from bench.server import serving

CLIENTS, DROPS = 4, 3
Tried = tuple[list[Comer], SegmentLog]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    """Clients of a real server that have come back a few times, and its log."""
    folder = tmp_path_factory.mktemp("attach")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attaching, "SESSIONS", CLIENTS)
        comers, _ = attaching.lives(folder, 7, CLIENTS * DROPS)
    with handle(folder / "data") as log:
        yield comers, log


def test_clients_that_come_back_have_missed_nothing(tried: Tried) -> None:
    comers, log = tried
    tally = Tally()
    for comer in comers:
        attaching.check(log, comer, tally)
    assert sum(comer.how.total() for comer in comers) == CLIENTS * DROPS
    assert sum(len(comer.connections) - 1 for comer in comers) >= CLIENTS * DROPS
    assert {comer.plain for comer in comers} == {True, False}
    assert tally.found["frames compared"] > 10 * CLIENTS


def lose(comer: Comer) -> None:
    del comer.connections[0].frames[3]


def hear_twice(comer: Comer) -> None:
    comer.connections[0].frames.insert(3, comer.connections[0].frames[2])


def hear_something_else(comer: Comer) -> None:
    comer.connections[0].frames[0]["type"] = "session.invented"


def send_in_vain(comer: Comer) -> None:
    comer.sent.append(("evt_never", b""))


@pytest.mark.parametrize(
    ("wrong", "promise"),
    [(lose, "lost"), (hear_twice, "repeated"), (hear_something_else, "undetected"), (send_in_vain, "lost")],
)
def test_what_a_client_should_not_have_seen_is_found(
    tried: Tried, wrong: Callable[[Comer], None], promise: str
) -> None:
    comers, log = tried
    comer = copy.copy(next(one for one in comers if not one.plain))
    comer.connections, comer.sent = copy.deepcopy(comer.connections), list(comer.sent)
    wrong(comer)
    with pytest.raises(Violation) as broken:
        attaching.check(log, comer, Tally())
    assert broken.value.promise == promise


@pytest.mark.parametrize("turn_s", [2.0, None])
def test_a_session_that_was_written_is_one_that_could_have_been(tmp_path: Path, turn_s: float | None) -> None:
    session = SessionId("sess_written")
    left = recorded.write_session(tmp_path, session, 0.2, turn_s=turn_s)
    with handle(tmp_path) as log:
        verdict = verify(log, session)
    assert verdict.same
    assert verdict.events == left.events
    assert round(verdict.seconds) == 12
    assert (verdict.frames, verdict.reports) > (100, 40)


def test_a_client_is_timed_as_it_comes_back(tmp_path: Path) -> None:
    (one,) = resume.measure([("a while", 0.1, 2.0, True)], resumes=3, talkers=1)
    assert len(one.hot) == 3
    for timed in (one.cold, *one.hot):
        assert 0 < timed.greeted_s <= timed.missed_s
    names = [figure.name for figure in resume.summary([one])]
    assert names[0] == "a while: cold, to the first missed frame"


def test_enemies_and_strangers_are_let_in_and_speakers_heard_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hostile, "STAY_S", 0.5)
    monkeypatch.setattr(hostile, "GATHER_S", 0.1)
    path = tmp_path / "found.json"
    done = CliRunner().invoke(hostile.main, ["--short", "--json", str(path)])
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text())
    assert found["rounds"][0]["beside"]["lost"] == 0
    assert [figure["value"] > 0 for figure in found["figures"][:4]] == [True] * 4


def test_a_stranger_adds_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "STAY_S", 1.0)
    with serving("echo") as server:
        assert asyncio.run(hostile.let_in(server, 20)) > 1
