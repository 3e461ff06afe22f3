"""`antiphon log state` and `diff`: what was known when, and where two calls part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.actors.session.state import Session
from antiphon.cli.main import main
from antiphon.events.envelope import Draft
from antiphon.events.ids import SessionId
from antiphon.events.store import Expect
from antiphon.events.units import Moment
from antiphon.events.vocabulary import SessionClosed, WriterOpened
from antiphon.replay.states import state_at
from tests.cli.logs import one_call, rows, run, store_at
from tests.replay.calls import BEGAN_NS, MS, WALL_NS, Call, tone


def other_call(data: Path, session: str, *, samples: int = 24_000) -> None:
    """As one_call, with an answer of another length, and twice as slow."""
    call = Call(store_at(data), session)
    call.hear(2_000, tone(24_000, 300))
    call.answer(2_020)
    call.speak(2_400, tone(samples, 700))
    call.sent(2_500, samples, first_ms=2_420)
    call.end_answer(2_520)
    call.heard(3_600, 500)
    call.hang_up(5_000)


def test_at_every_event_it_is_what_those_before_leave(tmp_path: Path) -> None:
    one_call(tmp_path)
    events = list(store_at(tmp_path).read(SessionId("sess_call")))
    for stored in events:
        found = state_at(SessionId("sess_call"), events, stored.seq)
        assert found is not None
        assert (found.state.seq, found.state.at, found.last) == (stored.seq + 1, stored.at, stored)
    phases = [
        json.loads(run("state", "sess_call", "--at", n, "--json", data=tmp_path).stdout)["phase"]
        for n in (0, 1)
    ]
    assert phases == ["new", "open"]


def test_people_are_shown_what_is_not_as_usual(tmp_path: Path) -> None:
    one_call(tmp_path)
    last = run("state", "sess_call", data=tmp_path)
    assert last.exit_code == 0
    assert last.stdout.splitlines()[0] == "after event 8, 2.500 s, SessionClosed"
    assert "phase: closed" in last.stdout
    assert "recognitions" not in last.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("sess_call", "--at", "999"), "has no event 999"), (("sess_nobody",), "no log of session")],
)
def test_what_is_not_there_is_said(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    one_call(tmp_path)
    result = run("state", *arguments, data=tmp_path)
    assert result.exit_code == 1
    assert told in result.stderr


def test_all_of_a_state_is_json(tmp_path: Path) -> None:
    one_call(tmp_path)
    shown = json.loads(run("state", "sess_call", "--json", data=tmp_path).stdout)
    assert shown.keys() == set(Session.__struct_fields__)


def test_the_same_conversation_twice_is_the_same(tmp_path: Path) -> None:
    one_call(tmp_path, "sess_one")
    other_call(tmp_path, "sess_other")
    result = run("diff", "sess_one", "sess_other", data=tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert " 0 only in sess_one, 0 only in sess_other" in result.stderr


def test_where_they_part_is_shown_from_both(tmp_path: Path) -> None:
    one_call(tmp_path, "sess_one")
    other_call(tmp_path / "elsewhere", "sess_other", samples=48_000)
    ways = ("sess_one", "sess_other", "--to-data", tmp_path / "elsewhere", "--all")
    result = run("diff", *ways, data=tmp_path)
    assert result.exit_code == 4
    shown = [line for line in result.stdout.splitlines() if "AudioSpoken" in line]
    assert [line[0] for line in shown] == ["-", "+"]
    assert "samples=24000" in shown[0]
    assert "samples=48000" in shown[1]
    assert "    1.200s" in shown[0]
    assert "    2.400s" in shown[1]
    different = rows(run("diff", *ways, "--json", data=tmp_path))
    assert {row["only_in"] for row in different} == {"first", "second"}
    assert {"AudioSpoken"} <= {row["event"]["type"] for row in different}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_complete(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_ANTIPHON_COMPLETE" in result.output


def test_ids_of_sessions_are_completed(tmp_path: Path) -> None:
    one_call(tmp_path, "sess_one")
    one_call(tmp_path, "sess_other")
    asked = {
        "_ANTIPHON_COMPLETE": "bash_complete",
        "COMP_WORDS": f"antiphon log state --data {tmp_path} sess_o",
        "COMP_CWORD": "5",
    }
    result = CliRunner().invoke(main, [], prog_name="antiphon", env=asked)
    assert result.output.split() == ["plain,sess_one", "plain,sess_other"]


def test_moments_count_from_the_beginning_also_in_another_boot(tmp_path: Path) -> None:
    """The monotonic clock began anew, and shows less than it did in the first."""
    store = store_at(tmp_path)
    call = Call(store, "sess_one")
    store.release(call.lease)
    lease, head = store.open(call.session, expect=Expect.RESUME, owner="the test")
    opened = WriterOpened(writer_epoch=lease.writer_epoch, code="0.0.test", boot="another")
    closed = SessionClosed(reason="client")
    began = WALL_NS + BEGAN_NS
    drafts = [
        Draft(event, Moment(1_000 * MS + after_ms * MS, began + 60_000 * MS + after_ms * MS), None)
        for after_ms, event in ((0, opened), (1_500, closed))
    ]
    store.append(lease, head.next_seq, drafts).result()
    store.release(lease)
    Call(store, "sess_other").hang_up(100)
    result = run("diff", "sess_one", "sess_other", data=tmp_path)
    assert result.exit_code == 4
    [shown] = [line for line in result.stdout.splitlines() if "boot='another'" in line]
    assert "   60.000s" in shown
    [last] = [line for line in result.stdout.splitlines() if "SessionClosed" in line]
    assert "   61.500s" in last
