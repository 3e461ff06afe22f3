"""docs/personaplex.md: its examples hold a conversation, and its tables name what is there."""

from __future__ import annotations

import re
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.web.personaplex.opening import COUNTS, MOST_PERSONA, SEEDS, TEMPERATURES, VOICES
from bench.questions import questions
from tests.serving import RunningServer, running
from tests.web.moshi import SCRIPT

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "personaplex.md").read_text("utf-8")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("personaplex")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


@pytest.mark.parametrize(
    ("example", "path", "seconds"),
    [("moshi_client.py", "/api/chat", 2.0), ("raw_pcm_client.py", "/v1/audio/duplex", 0.5)],
)
def test_a_recording_goes_in_and_the_answer_comes_out(
    server: RunningServer, tmp_path: Path, example: str, path: str, seconds: float
) -> None:
    question, answer = tmp_path / "question.wav", tmp_path / "answer.wav"
    with wave.open(str(question), "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        file.writeframes(questions()[0].pcm()[: 2 * 24_000])
    url = f"ws://127.0.0.1:{server.port}{path}"
    command = [sys.executable, str(ROOT / "examples" / example), str(question), str(answer), url]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "Hello"
    with wave.open(str(answer)) as file:
        assert file.getnframes() / file.getframerate() >= seconds


def test_the_url_s_members_are_those_that_are_read() -> None:
    for name in (*TEMPERATURES, *COUNTS, *SEEDS, "text_prompt", "voice_prompt", "resumable"):
        assert f"`{name}`" in DOCS, name
    assert f"at most {MOST_PERSONA:,} characters" in DOCS


def test_the_voices_are_all_named() -> None:
    named = re.search(r"`voice_prompt` \| (.*?) \|", DOCS)
    assert named is not None
    spans = re.findall(r"`([A-Z]+)(\d)` to `\1(\d)`", named.group(1))
    assert {f"{name}{n}" for name, low, high in spans for n in range(int(low), int(high) + 1)} == VOICES
