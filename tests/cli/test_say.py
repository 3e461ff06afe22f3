"""`antiphon say` as a person or a script uses it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from antiphon.cli.main import main
from antiphon.media.wav import read_wav, write_wav
from bench.ports import free_port
from tests.clients.fake_server import Line, fake_server
from tests.serving import RunningServer

ANSWER = (np.arange(2400, dtype=np.int16)).astype("<i2").tobytes()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A tenth of a second at a telephone's rate."""
    path = tmp_path / "question.wav"
    path.write_bytes(write_wav(np.full(800, 0.1, np.float32), 8000))
    return path


def say(*arguments: object, key: str | None = None) -> Result:
    return CliRunner().invoke(main, ["say", *map(str, arguments)], env={"ANTIPHON_API_KEY": key})


def answering(line: Line) -> None:
    line.greet()
    line.await_event("input_audio_buffer.append")
    line.answer("Who are you?", "Nobody. ", ANSWER)
    line.listen_until_hung_up()


def silent(line: Line) -> None:
    line.greet()
    line.listen_until_hung_up()


def test_it_prints_both_transcripts_and_the_delay_and_keeps_the_answer(
    recording: Path, tmp_path: Path
) -> None:
    with fake_server(answering) as url:
        result = say(recording, "--url", url, "-o", tmp_path / "answer.wav")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == ["you     Who are you?", "answer  Nobody."]
    assert lines[2].startswith("delay   0.")
    assert lines[3] == f"saved   {tmp_path / 'answer.wav'} (0.1 s)"
    sound = read_wav((tmp_path / "answer.wav").read_bytes())
    assert (sound.rate, len(sound.samples)) == (24_000, 2400)


def test_for_programs_it_prints_one_object(recording: Path, tmp_path: Path) -> None:
    with fake_server(answering) as url:
        result = say(recording, "--url", url, "-o", tmp_path / "a.wav", "--json")
    said = json.loads(result.stdout)
    assert 0 <= said.pop("delay_s") < 5
    assert said == {
        "question": "Who are you?",
        "answer": "Nobody.",
        "status": "completed",
        "audio_s": 0.1,
        "underruns": 0,
        "output": str(tmp_path / "a.wav"),
    }


def test_without_a_player_it_says_so(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with fake_server(answering) as url:
        result = say(recording, "--url", url)
    assert result.exit_code == 0
    assert "none of aplay, paplay, pw-play is installed" in result.stderr


def test_the_answer_is_played_by_the_first_player_there_is(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = tmp_path / "bin" / "paplay"
    player.parent.mkdir()
    player.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/played.wav\n')
    player.chmod(0o755)
    monkeypatch.setenv("PATH", f"{player.parent}:/bin")
    with fake_server(answering) as url:
        result = say(recording, "--url", url)
    assert result.exit_code == 0
    assert len(read_wav((tmp_path / "played.wav").read_bytes()).samples) == 2400


def test_the_key_comes_from_the_environment(recording: Path) -> None:
    with fake_server(answering, key="secret") as url:
        assert say(recording, "--url", url, key="secret").exit_code == 0
        refused = say(recording, "--url", url, key="other")
    assert refused.exit_code == 1
    assert "invalid_api_key" in refused.stderr


def test_no_server_is_exit_code_1(recording: Path) -> None:
    result = say(recording, "--url", f"ws://127.0.0.1:{free_port()}/v1/realtime", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["code"] == "unreachable"


def test_a_call_that_is_cut_off_is_exit_code_1(recording: Path) -> None:
    with fake_server(lambda line: line.greet()) as url:
        result = say(recording, "--url", url)
    assert result.exit_code == 1
    assert result.stderr.startswith("call_lost")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.wav"],
        [__file__],
        ["RECORDING", "--wait", "0"],
        ["RECORDING", "--url", "http://127.0.0.1"],
        [],
    ],
    ids=["no file", "no WAV", "no time", "no WebSocket URL", "nothing"],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], recording: Path) -> None:
    assert say(*[recording if one == "RECORDING" else one for one in arguments]).exit_code == 2


def test_no_answer_in_time_is_exit_code_3(recording: Path) -> None:
    with fake_server(silent) as url:
        result = say(recording, "--url", url, "--wait", "0.2")
    assert result.exit_code == 3
    assert result.stderr.startswith("no_answer")


def test_ctrl_c_hangs_up_without_a_traceback(recording: Path) -> None:
    connected = []

    def script(line: Line) -> None:
        line.greet()
        line.await_event("input_audio_buffer.append")
        process.send_signal(signal.SIGINT)
        connected.append(line)
        line.listen_until_hung_up()

    with fake_server(script) as url:
        command = [sys.executable, "-m", "antiphon.cli", "say", str(recording), "--url", url]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (out, err) == ("", "stopped\n")
    assert connected[0].socket.close_code == 1000


@pytest.mark.cascade
def test_the_embedded_default_answers_a_spoken_question(
    cascade_server: RunningServer, tmp_path: Path
) -> None:
    question = Path(__file__).parents[2] / "bench" / "questions" / "01-what-is-the-capital-of-france.wav"
    url = f"ws://127.0.0.1:{cascade_server.port}/v1/realtime"
    result = say(question, "--url", url, "-o", tmp_path / "answer.wav", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert "capital of france" in said["question"].lower()
    assert said["status"] == "completed"
    assert said["audio_s"] > 0.5
