"""Servers with a script for the SDKs to talk to, the question that they ask, and how a driver is run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import Event
from antiphon.media.outgoing import Outgoing
from bench.questions import RATE, questions
from tests import certificates
from tests.certificates import Files
from tests.serving import RunningServer, running

HERE = Path(__file__).resolve().parent
DRIVERS = HERE / "drivers"
LEAD_S, END_S = 0.3, 1.0
DRIVE_S = 120

Drive = Callable[..., dict[str, Any]]


def _config(folder: Path, script: str) -> tuple[str, str]:
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{HERE / script}"\n')
    return "--config", str(config)


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A model that answers by script.toml; the ear that hears who speaks is the real one."""
    folder = tmp_path_factory.mktemp("scripted")
    with running(folder / "data", *_config(folder, "script.toml"), stage="scripted") as server:
        yield server


@pytest.fixture(scope="session")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A model that calls a function first: tools.toml."""
    folder = tmp_path_factory.mktemp("calling")
    with running(folder / "data", *_config(folder, "tools.toml"), stage="scripted") as server:
        yield server


@pytest.fixture(scope="session")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A model that counts to twelve while it is listened to."""
    folder = tmp_path_factory.mktemp("counting")
    script = "../web/counting_script.toml"
    with running(folder / "data", *_config(folder, script), stage="scripted") as server:
        yield server


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory, files: Files) -> Iterator[RunningServer]:
    """The same behind TLS."""
    folder = tmp_path_factory.mktemp("secured")
    options = (*_config(folder, "script.toml"), *files.flags)
    with running(folder / "data", *options, stage="scripted", trusted=files.certificate) as server:
        yield server


@pytest.fixture(scope="session")
def question(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spoken question, mono pcm16 at 24 kHz, with the silence around it by which it is noticed."""
    [asked] = questions("synthesised")[:1]
    path = tmp_path_factory.mktemp("question") / "question.pcm"
    path.write_bytes(silence(LEAD_S) + asked.pcm() + silence(END_S))
    return path


def silence(seconds: float) -> bytes:
    return bytes(int(seconds * RATE) * 2)


@pytest.fixture(scope="session")
def telephoned(question: Path) -> Path:
    """The same as the telephone has it: mu-law at 8 kHz."""
    path = question.with_suffix(".ulaw")
    stream = Outgoing(RATE, 8_000, "g711_ulaw")
    path.write_bytes(stream.convert(question.read_bytes()) + stream.finish())
    return path


@pytest.fixture
def drive(question: Path, telephoned: Path) -> Drive:
    """Runs a driver in the environment of its SDK: what it reports. Its address is that of the server."""

    def run(server: RunningServer, *command: str | Path, **environment: str) -> dict[str, Any]:
        address = server.base.replace("http", "ws", 1)
        ended = subprocess.run(
            [*map(str, command), address, str(telephoned if "TELEPHONE" in environment else question)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=DRIVE_S,
        )
        assert ended.returncode == 0, ended.stderr[-4000:]
        said: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        assert said["errors"] == []
        return said

    return run


def last_session(server: RunningServer) -> list[Event]:
    """What the server wrote down of the session that began last."""
    log = SegmentLog(server.data, deliver=lambda answer: answer())
    try:
        sessions = [list(log.read(head.session)) for head in log.sessions()]
        return [stored.event for stored in max(sessions, key=lambda one: one[0].at.wall_ns)]
    finally:
        log.close()
