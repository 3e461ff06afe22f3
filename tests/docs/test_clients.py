"""What the documents say of the client library, against the library and a running server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.clients import duplex
from antiphon.clients.duplex import errors
from antiphon.clients.duplex.response import ResponseHandle
from antiphon.clients.duplex.standing import ENDINGS, FATAL, ReconnectPolicy
from tests.serving import RunningServer, running

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = (ROOT / "docs" / "clients.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
BY_THE_CLIENT = {"heard", "cut", "let_go", "finish", "fail"}
"""What fills an answer, and is nobody else's to call."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("scripted") / "data", stage="scripted") as server:
        yield server


def run(server: RunningServer, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def table(head: str) -> list[str]:
    """The names in the first column of the table with that head."""
    rows = CLIENTS.split(f"\n| {head} |")[1].split("\n\n")[0].splitlines()
    return [found[0] for row in rows if (found := re.findall(r"^\| `([A-Za-z_.]+)`", row))]


def public(cls: type[Any]) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_")}


# --- the tables -------------------------------------------------------------------------------------------


def test_every_method_of_a_client_is_described() -> None:
    assert set(table("of a client")) == public(duplex.DuplexClient)


def test_the_synchronous_client_has_the_same_names() -> None:
    assert public(duplex.DuplexClient) <= public(duplex.SyncDuplexClient)


def test_everything_of_an_answer_is_described() -> None:
    handle = ResponseHandle("r", lambda handle, plays: None)  # type: ignore[arg-type,return-value]  # never asked
    kept = {name for name in vars(handle) if not name.startswith("_")}
    assert set(table("of an answer")) == (public(ResponseHandle) | kept) - BY_THE_CLIENT


def test_every_event_of_the_clients_own_is_described() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "clients" / "duplex").glob("*.py"))
    told = set(re.findall(r'"((?:client|connection)\.[a-z_]+)"', sources))
    assert set(table("event")) == told


def test_every_error_is_described() -> None:
    classes = {name for name in vars(errors) if name.startswith("Duplex")}
    assert set(table("error")) == classes


def test_the_codes_that_end_a_session_are_named() -> None:
    section = CLIENTS.split("\n## Lost connections\n")[1].split("\n## ")[0]
    assert set(re.findall(r"`([a-z_]*resume[a-z_]*)`", section)) == FATAL
    named = re.search(r"close codes other than ([\d, ]+)\)", section)
    assert named is not None
    assert {int(code) for code in named[1].split(",")} == ENDINGS
    policy = ReconnectPolicy()
    written = f"max_attempts={policy.max_attempts},\nbackoff_s={policy.backoff_s}, jitter={policy.jitter}"
    assert written in section


def test_every_name_that_is_exported_is_mentioned() -> None:
    for name in duplex.__all__:
        assert name in CLIENTS, name


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", CLIENTS))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()


# --- the examples -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CLIENTS, README], ids=["docs", "readme"])
def test_the_short_example_runs_as_it_stands(text: str, server: RunningServer, tmp_path: Path) -> None:
    """All but the port, which a test does not choose."""
    [code] = [one for one in re.findall(r"```python\n(.*?)```", text, re.S) if "DuplexClient" in one]
    program = code.replace("127.0.0.1:8765", f"127.0.0.1:{server.port}")
    assert program != code
    done = run(server, tmp_path, "-c", program)
    assert (done.stdout, done.stderr) == ("This is a scripted answer. completed\n", "")


def test_a_recording_is_answered_by_a_file(server: RunningServer, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "question.wav"), "wb") as question:
        question.setparams((1, 2, 16_000, 0, "NONE", ""))
        question.writeframes(b"\x00\x10\x00\xf0" * 4_000)
    example = str(ROOT / "examples" / "file_in_file_out.py")
    done = run(server, tmp_path, example, "question.wav", "answer.wav", server.base)
    assert done.stdout == "This is a scripted answer. [completed, 1000 ms]\n"
    assert re.fullmatch(r"first sound after [\d.]+ ms, by server_monotonic_request_start\n", done.stderr)
    with wave.open(str(tmp_path / "answer.wav"), "rb") as answer:
        assert (answer.getframerate(), answer.getnframes()) == (24_000, 24_000)


def test_who_breaks_in_has_heard_a_part(server: RunningServer, tmp_path: Path) -> None:
    done = run(server, tmp_path, str(ROOT / "examples" / "barge_in.py"), server.base)
    said, heard = re.fullmatch(r"said:   (.*)\nheard:  (.*)\n", done.stdout).groups()  # type: ignore[union-attr]
    assert said == "This is a scripted answer."
    assert said.startswith(heard)


def test_a_pulled_connection_costs_nothing(server: RunningServer, tmp_path: Path) -> None:
    done = run(server, tmp_path, str(ROOT / "examples" / "resume.py"), server.base)
    assert done.stdout == (
        "the connection is gone\n"
        "and back, after 1 attempt\n"
        "This is a scripted answer. [completed, 1000 ms]\n"
        "the server heard: still_here\n"
    )
