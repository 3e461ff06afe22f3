"""The examples that want a recording say so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WANT_A_RECORDING = ("duplex", "file_in_file_out", "half_duplex", "moshi_client", "raw_pcm_client")


@pytest.mark.parametrize("name", WANT_A_RECORDING)
def test_without_a_recording_it_says_how_it_is_called(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
    ended = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert f"python examples/{name}.py question.wav answer.wav" in ended.stderr
    assert "Traceback" not in ended.stderr
