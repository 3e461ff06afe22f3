"""`antiphon log`, on logs that a real server has written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.cli.main import main
from tests.serving import RunningServer
from tests.web.wire import wire


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
