"""`python -m moshi.client`, the official one, unmodified: it talks, is talked to, and is interrupted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from antiphon.events import vocabulary as v
from antiphon.events.segments.log import SegmentLog
from antiphon.replay.verify import verify
from bench.questions import questions
from tests.serving import RunningServer, running
from tests.web.moshi import SCRIPT

from . import environments
from .conftest import DRIVERS

pytestmark = pytest.mark.sdks

FRAMES = 40
RUN_S = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    config = tmp_path / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        yield server


def test_the_official_client_holds_a_conversation(server: RunningServer, tmp_path: Path) -> None:
    """It sends before the handshake, calls that an unknown kind, and prints the words that it is told."""
    microphone, loudspeaker = tmp_path / "mic.f32", tmp_path / "spk.f32"
    questions()[0].samples().astype("<f4").tofile(microphone)
    interpreter = environments.python(*environments.MOSHI_CLIENT)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(environments.client_of_moshi()), str(DRIVERS / "headless"))),
        "MICROPHONE": str(microphone),
        "LOUDSPEAKER": str(loudspeaker),
        "FRAMES": str(FRAMES),
    }
    command = [str(interpreter), "-m", "moshi.client", "--host", "127.0.0.1", "--port", str(server.port)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_S)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert "unknown message kind 0" in said
    assert "Hello" in said
    assert "All done!" in said
    assert not [tag for tag in range(3, 10) if f"unknown message kind {tag}" in said]

    heard = np.fromfile(loudspeaker, "<f4").reshape(-1, 1920)
    loud = np.abs(heard).max(axis=1) > 0.01
    assert loud.sum() == FRAMES
    first = int(loud.argmax())
    assert loud[first:].sum() >= 0.7 * (len(loud) - first), "it seldom had nothing to play"

    server.wait_until(lambda: not server.get("/health").json()["sessions"])
    log = SegmentLog(server.data, deliver=lambda answer: answer())
    [head] = log.sessions()
    events = [stored.event for stored in log.read(head.session)]
    assert [one.reason for one in events if isinstance(one, v.InputDropped)][:1] == ["preparing"]
    assert not [one for one in events if isinstance(one, v.InputUndecodable)]
    assert verify(log, head.session).same
