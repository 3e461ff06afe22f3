"""`antiphon log`, on logs that a real server has written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antiphon.cli.main import main
from antiphon.events.envelope import Stored
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import CommandRefused, SessionClosed, SessionExpired
from tests.serving import RunningServer
from tests.web.wire import wire

from .logs import one_call


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["log", *map(str, arguments)])


@pytest.fixture
async def session(echo_server: RunningServer) -> str:
    """A call that said something and was hung up, its log sealed."""
    async with wire(echo_server) as client:
        name = str((await client.next("session.created"))["session"]["id"])
        await client.manual()
        await client.append(b"\1\0" * 9_600)
        await client.send({"type": "input_audio_buffer.commit"})
        await client.until("response.done")
    echo_server.wait_until(lambda: echo_server.get("/health").json()["sessions"] == 0)
    return name


def test_sessions_are_listed_with_how_they_ended(echo_server: RunningServer, session: str) -> None:
    table = run("ls", "--data", echo_server.data)
    assert table.exit_code == 0
    assert session in table.output
    rows = [json.loads(line) for line in run("ls", "--data", echo_server.data, "--json").output.splitlines()]
    [row] = [row for row in rows if row["session"] == session]
    assert row["ended"] == "client"
    assert row["sealed"]
    assert row["audio_bytes"] > 2 * 2 * 9_600


def test_a_session_is_shown_event_by_event(echo_server: RunningServer, session: str) -> None:
    shown = run("show", session, "--data", echo_server.data)
    assert shown.exit_code == 0
    assert "InputCommitted" in shown.output
    assert "InputAppended" not in shown.stdout
    lines = run("show", session, "--data", echo_server.data, "--json").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert {"WriterOpened", "InputAppended", "AudioSpoken", "SessionClosed"} <= {e["type"] for e in events}


def test_what_is_not_there_is_said(echo_server: RunningServer, tmp_path: Path) -> None:
    missing = run("show", "sess_nobody", "--data", echo_server.data)
    assert missing.exit_code == 1
    assert "sess_nobody" in missing.output
    elsewhere = run("ls", "--data", tmp_path)
    assert elsewhere.exit_code == 1
    assert "--data" in elsewhere.output


def test_damage_is_named_after_what_precedes_it(
    echo_server: RunningServer, session: str, tmp_path: Path
) -> None:
    data = tmp_path / "copy"
    shutil.copytree(echo_server.data, data)
    [events] = data.glob(f"sessions/*/{session}/0/events.log")
    events.chmod(0o600)
    content = bytearray(events.read_bytes())
    content[len(content) // 2] ^= 0xFF
    events.write_bytes(content)
    shown = run("show", session, "--data", data)
    assert shown.exit_code == 3
    assert "SessionOpened" in shown.stdout
    assert "damaged" in shown.output
    listed = run("ls", "--data", data, "--json")
    assert listed.exit_code == 0
    assert '"ended":"corrupt"' in listed.output


async def test_what_lies_about_among_the_logs_hides_no_session(
    echo_server: RunningServer, session: str, tmp_path: Path
) -> None:
    data = shutil.copytree(echo_server.data, tmp_path / "data")
    sessions = data / "sessions"
    (sessions / "notes.txt").write_text("x")
    shelf = next(path for path in sessions.iterdir() if path.is_dir())
    (shelf / "sess_file").write_text("x")
    (shelf / "sess_empty").mkdir()
    (shelf / "sess_odd" / "0" / "events.log").mkdir(parents=True)
    (shelf / "sess_flat").mkdir()
    (shelf / "sess_flat" / "0").write_text("x")
    listed = run("ls", "--data", data, "--json")
    assert listed.exit_code == 0
    assert session in [json.loads(line)["session"] for line in listed.stdout.splitlines()]
    for name in ("sess_file", "sess_empty", "sess_odd", "sess_flat"):
        assert run("show", name, "--data", data).exit_code == 1


@pytest.mark.parametrize("store", [b"", b"\xff\xfe", b'{"format":99,"id":"x"}', None])
def test_a_folder_that_cannot_be_a_store_is_said_in_a_sentence(tmp_path: Path, store: bytes | None) -> None:
    if store is None:
        (tmp_path / "STORE").mkdir()
    else:
        (tmp_path / "STORE").write_bytes(store)
    for arguments in (["log", "ls"], ["serve", "--stage", "echo"]):
        said = CliRunner().invoke(main, [*arguments, "--data", str(tmp_path)])
        assert said.exit_code == 1
        assert isinstance(said.exception, SystemExit)
        assert "STORE" in said.output


def test_a_session_that_expired_is_listed_as_that(tmp_path: Path) -> None:
    call = one_call(tmp_path, sealed=False)
    call.say(40_000, SessionExpired(reason="disconnect_grace_expired"))
    row = json.loads(run("ls", "--data", tmp_path, "--json").stdout)
    assert row["ended"] == "disconnect_grace_expired"


def test_the_list_reads_how_a_session_began_and_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = one_call(tmp_path, sealed=False)
    for k in range(400):
        call.hear(2_000 + k, b"\1\0")
    call.hang_up(5_000)
    read, seen = SegmentLog.read, list[int]()

    def counted(*arguments: Any, **more: Any) -> Iterator[Stored]:
        for stored in read(*arguments, **more):
            seen.append(stored.seq)
            yield stored

    monkeypatch.setattr(SegmentLog, "read", counted)
    row = json.loads(run("ls", "--data", tmp_path, "--json").stdout)
    assert (row["seconds"], row["events"], row["ended"]) == (5.0, 409, "client")
    assert (seen[0], seen[-1]) == (0, 408)
    assert len(seen) < 100


def test_an_end_that_stands_far_before_the_last_event_is_listed(tmp_path: Path) -> None:
    """Refusals came behind it, one after the other."""
    call = one_call(tmp_path, sealed=False)
    call.say(2_000, SessionClosed(reason="shutdown"))
    for k in range(200):
        call.say(2_001 + k, CommandRefused(code="session_over", message="it has ended", attachment=1))
    call.log.seal(call.lease, "ended")
    assert json.loads(run("ls", "--data", tmp_path, "--json").stdout)["ended"] == "shutdown"
