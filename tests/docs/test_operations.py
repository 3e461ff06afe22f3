"""docs/operations.md says what holds: the numbers of its table of bounds are those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.actors import ledger
from antiphon.actors.desk import desk
from antiphon.actors.link import codec, queue, window
from antiphon.actors.processes import keeper, launcher, workers
from antiphon.actors.session import limits
from antiphon.events import codec as events_codec
from antiphon.events.segments import descriptors
from antiphon.web import catching_up, intake, lobby, observing, outbox, pace, patience, reader
from antiphon.web.duplex.opening import CONFIG_TIMEOUT_S
from antiphon.web.duplex_session import DuplexSession
from antiphon.web.realtime.decode import LARGEST_FRAME

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text("utf-8")
KIB, MIB = 1024, 1024 * 1024
USUAL = DuplexSession()
BOUNDS = {
    "a connection without a request": f"{patience.REQUEST_S:g} s",
    "a connection without a session": f"{CONFIG_TIMEOUT_S:g} s",
    "what it sends until then": f"{lobby.FREE_BYTES // KIB} KiB, and {lobby.PLACES} such",
    "a client's frame": f"{LARGEST_FRAME // MIB} MiB",
    "a client's frames": f"{pace.BURST:,} at once, then {pace.RATE} a second",
    "large frames of a client that are still being read": f"{intake.MOST_WAITING // MIB} MiB",
    "frames that cannot be read": f"{reader.MOST_UNREADABLE} in {reader.WITHIN_S:g} s",
    "commands that are refused": f"{limits.MOST} in {limits.WINDOW_NS // 10**9} s",
    "audio ahead of a model that hears in units": f"{USUAL.max_pending_input_bytes_per_session // MIB} MiB",
    "items that wait for an answer to end": f"{USUAL.max_pending_turns_per_session} ",
    "commands of a session that wait for a stage": f"{queue.LONG}",
    "operations of a session at a stage": f"{codec.WINDOW}, and {window.HEAVY_LIMIT // MIB} MiB",
    "outputs of a session that are not in the log yet, at the stage": f"{desk.RETAINED_SOFT:,}",
    "the same": f"{desk.RETAINED_HARD:,}, or {desk.RETAINED_BYTES_HARD // MIB} MiB",
    "bytes between a serving process and a stage that one of them does not read": (
        f"{codec.BACKLOG_LIMIT // MIB} MiB"
    ),
    "batches of a session that the disk has not answered": (
        f"{ledger.MOST_WAITING}, or {ledger.MOST_WAITING_BYTES // MIB} MiB"
    ),
    "one event; its audio or image": f"{events_codec.MAX_EVENT // MIB} MiB; {events_codec.MAX_BLOB // MIB} MiB",
    "frames that a client does not read": f"{USUAL.max_pending_output_bytes_per_session // MIB} MiB",
    "what a client that came back has missed": f"{catching_up.AHEAD_BYTES // KIB} KiB",
    "an observer": f"{catching_up.AHEAD_BYTES // KIB} KiB ahead of what it reads; {observing.MOST_REFUSED} frames",
    "sessions": "`max_sessions`",
    "room on the disk": "`min_free`",
    "open blob files": f"{descriptors.LIMIT} ",
}


def rows() -> dict[str, str]:
    table = DOCS.split("## What is bounded", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]
    return {cells[0].strip(): cells[1].strip() for cells in lines[1:]}


def test_every_bound_of_the_table_is_looked_at() -> None:
    assert set(rows()) == set(BOUNDS)


@pytest.mark.parametrize("what", BOUNDS)
def test_a_bound_is_what_it_is_said_to_be(what: str) -> None:
    assert rows()[what].startswith(BOUNDS[what])


def test_an_outbox_holds_by_itself_what_a_session_may_have_waiting() -> None:
    assert USUAL.max_pending_output_bytes_per_session == outbox.MOST_BYTES


def test_how_long_a_process_may_hang_is_what_it_is_said_to_be() -> None:
    assert f"its event loop has shown no life for {workers.HANGS_S:g} s" in DOCS
    assert f"its loop has shown no life for {keeper.HANGS_S:g} s" in DOCS
    assert f"does not answer for {launcher.STUCK_S:g} s" in DOCS
    assert keeper.LOADS_S == 60
