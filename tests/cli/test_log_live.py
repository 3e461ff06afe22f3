"""`antiphon log stats`, and `antiphon log tail` from a process of its own."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli.main import main
from tests.serving import RunningServer
from tests.web.wire import wire

from .logs import damage, file, one_call, rows, run, store_at

PATIENCE_S = 20.0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    store_at(tmp_path / "data")
    return tmp_path / "data"


class Tail:
    """`antiphon log tail`, its lines as they come."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "antiphon.cli", "log", "tail", *arguments, "--data", str(data)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def next(self) -> str:
        return self._lines.get(timeout=PATIENCE_S).rstrip("\n")

    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.next())
        return event

    def until(self, kind: str) -> list[dict[str, Any]]:
        events = [self.event()]
        while events[-1]["type"] != kind:
            events.append(self.event())
        return events

    def said(self) -> str:
        """The next line on stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def end(self, number: int | None = None) -> tuple[int, str]:
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


@pytest.fixture
def tails() -> Iterator[list[Tail]]:
    started: list[Tail] = []
    yield started
    for one in started:
        one.process.kill()
        one.process.wait()


# --- tail -------------------------------------------------------------------------------------------------


def test_a_session_is_shown_from_its_last_events_to_its_end(data: Path, tails: list[Tail]) -> None:
    call = one_call(data, sealed=False)
    tails.append(tail := Tail(data, "sess_call", "--last", "2", "--json"))
    assert [event["seq"] for event in tail.until("PlaybackAcknowledged")] == [6, 7]
    call.hear(3_000, b"\1\0")
    assert tail.event()["type"] == "InputAppended"
    call.hang_up(3_100)
    assert tail.event()["type"] == "SessionClosed"
    code, said = tail.end()
    assert (code, said) == (0, "(the session has ended)\n")


def test_people_are_shown_times_and_no_events_of_every_frame(data: Path, tails: list[Tail]) -> None:
    call = one_call(data, sealed=False)
    tails.append(tail := Tail(data, "sess_call", "--last", "1"))
    assert "PlaybackAcknowledged" in tail.next()
    call.hear(3_000, b"\1\0")
    call.truncate(3_200, 100)
    line = tail.next()
    assert "ItemTruncated" in line
    assert "3.200s" in line
    assert tail.end(signal.SIGINT) == (130, "stopped\n")


def test_all_sessions_are_shown_from_now_on_and_those_that_begin_from_their_beginning(
    data: Path, tails: list[Tail]
) -> None:
    one_call(data, "sess_over")
    call = one_call(data, "sess_on", sealed=False)
    tails.append(tail := Tail(data, "--json"))
    assert tail.said() == "(following 1 session and every session that begins; Ctrl-C ends)\n"
    began = one_call(data, "sess_new", sealed=False)
    new = tail.until("PlaybackAcknowledged")
    assert {event["session"] for event in new} == {"sess_new"}
    assert [event["seq"] for event in new] == list(range(8))
    call.truncate(3_000, 100)
    on = tail.event()
    assert (on["session"], on["life"], on["type"]) == ("sess_on", 0, "ItemTruncated")
    began.hang_up(3_000)
    assert tail.event()["type"] == "SessionClosed"
    one_call(data, "sess_new", sealed=False)
    again = tail.until("PlaybackAcknowledged")
    assert {(event["session"], event["life"]) for event in again} == {("sess_new", 1)}
    assert tail.end(signal.SIGINT) == (130, "stopped\n")


async def test_a_conversation_of_a_server_is_seen_from_another_process(
    echo_server: RunningServer, tails: list[Tail]
) -> None:
    async with wire(echo_server) as client:
        session = (await client.next("session.created"))["session"]["id"]
        tails.append(tail := Tail(echo_server.data, session, "--json"))
        tail.until("StageOpened")
        await client.append(bytes(3_840))
        await client.next("response.output_audio.delta")
    events = tail.until("StageReleased")
    assert {"InputAppended", "AudioSpoken", "SessionClosed"} <= {event["type"] for event in events}
    assert tail.end()[0] == 0


def test_who_has_seen_enough_ends_it(data: Path) -> None:
    one_call(data)
    shell = f"{sys.executable} -m antiphon.cli log tail sess_call --all --data {data} | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "pipe" not in done.stderr


def test_what_is_not_there_or_damaged_is_said(data: Path) -> None:
    assert run("tail", "nobody", data=data).exit_code == 1
    one_call(data)
    events = file(data, "sess_call", "events.log")
    damage(events, events.read_bytes().index(b"AudioSpoken"))
    result = run("tail", "sess_call", data=data)
    assert result.exit_code == 3
    assert "damaged" in result.output


# --- stats ------------------------------------------------------------------------------------------------


def test_a_session_is_counted_for_people_and_for_programs(data: Path) -> None:
    one_call(data)
    shown = run("stats", "sess_call", data=data)
    assert shown.exit_code == 0
    assert "1.0 s generated, 1.0 s sent, 0.5 s heard (50%)" in shown.stdout
    assert "200 ms median" in shown.stdout
    [counted] = rows(run("stats", "sess_call", "--json", data=data))
    assert counted["kinds"]["InputAppended"] == {"count": 1, "bytes": 55, "audio_bytes": 48_000}
    assert counted["heard_s"] == 0.5


def test_all_sessions_and_all_lives_are_counted_together_unless_one_is_named(data: Path) -> None:
    for session in ("sess_one", "sess_one", "sess_two"):
        one_call(data, session)
    lives = {
        arguments: rows(run("stats", *arguments, "--json", data=data))[0]["lives"]
        for arguments in ((), ("sess_one",), ("sess_one", "--life", "1"))
    }
    assert list(lives.values()) == [3, 2, 1]
    assert run("stats", "nobody", data=data).exit_code == 1


def test_what_precedes_damage_is_counted_and_the_code_is_3(data: Path) -> None:
    one_call(data)
    one_call(data, "sess_hurt")
    events = file(data, "sess_hurt", "events.log")
    damage(events, events.read_bytes().index(b"FramesSent"))
    result = run("stats", "--json", data=data)
    assert result.exit_code == 3
    assert "sess_hurt" in result.stderr
    assert json.loads(result.stdout)["generated_s"] == 2.0


@pytest.mark.parametrize("command", ["ls", "show", "verify", "export", "import", "erase", "stats", "tail"])
def test_every_command_says_what_it_does_and_how_it_ends(command: str) -> None:
    helped = CliRunner().invoke(main, ["log", command, "--help"])
    assert helped.exit_code == 0
    assert "xit code" in helped.output or command == "ls"
