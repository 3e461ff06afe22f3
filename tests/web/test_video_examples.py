"""The two examples that show a video, on real servers, and what the inspector shows of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from antiphon.cli.main import main
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Scope
from tests.backends.running import backend
from tests.media.images import jpeg, png
from tests.serving import RunningServer, running

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("examples")
    with backend() as chat:
        arguments = ("--main-backend-url", chat.url, "--delegation-kind", "stub")
        with running(folder / "data", *arguments, stage="chat") as one:
            yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    video = tmp_path / "video"
    video.mkdir()
    for n, level in enumerate((0, 0, 100, 200)):
        (video / f"{n}.jpg").write_bytes(jpeg(level))
    (video / "9.png").write_bytes(png(20))
    return video


def run(example: str, *arguments: object) -> str:
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_video_is_shown_and_asked_about(server: RunningServer, folder: Path) -> None:
    url = f"ws://127.0.0.1:{server.port}/v1/video/chat/stream"
    options = ("--url", url, "--video", folder, "--fps", 50, "--query", "Then?")
    told = run("streaming_video_client.py", *options)
    assert "[of 4 images, 1 passed over: frame-1, frame-3, frame-4, frame-5]" in told
    assert "4 images of grey 0 100 200 20" in told


def test_an_animation_is_read_frame_by_frame(server: RunningServer, tmp_path: Path) -> None:
    frames = [Image.new("L", (64, 64), level) for level in (0, 120, 240)]
    file = tmp_path / "clip.gif"
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=100)
    url = f"ws://127.0.0.1:{server.port}/v1/video/chat/stream"
    told = run("streaming_video_client.py", "--url", url, "--video", file, "--fps", 10, "--query", "What?")
    assert "3 images of grey 0 120 240" in told


def test_a_watcher_watches_a_video(server: RunningServer, folder: Path) -> None:
    query = "!say </response> wait </delegation> how many?"
    told = run("joyvl_tick_loop.py", "--url", server.base, "--video", folder, "--query", query, "--every", 0)
    assert "0 s  wait" in told
    assert "deleg-1 submitted: how many?" in told


def test_the_inspector_shows_the_images_of_a_session(
    server: RunningServer, folder: Path, tmp_path: Path
) -> None:
    run("joyvl_tick_loop.py", "--url", server.base, "--video", folder, "--every", 0, "--session", "inspected")
    store = SegmentLog(server.data, deliver=lambda call: call())
    shown = tmp_path / "shown"
    for head in store.sessions():
        arguments = ["log", "show", head.session, "--data", str(server.data), "--images", str(shown)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert " -> " in result.output
    files = sorted(shown.iterdir())
    assert {file.suffix for file in files} == {".jpg", ".png"}
    assert jpeg(200) in [file.read_bytes() for file in files]


def test_images_that_were_erased_are_said_to_be(tmp_path: Path, server: RunningServer, folder: Path) -> None:
    url = f"ws://127.0.0.1:{server.port}/v1/video/chat/stream"
    run("streaming_video_client.py", "--url", url, "--video", folder, "--fps", 50, "--query", "!slow 1")
    store = SegmentLog(server.data, deliver=lambda call: call())
    ended = next(head.session for head in store.sessions() if head.sealed)
    store.erase(ended, Scope.AUDIO)
    arguments = ["log", "show", ended, "--data", str(server.data), "--images", str(tmp_path / "gone")]
    result = CliRunner().invoke(main, arguments)
    assert "-> erased" in result.output
    assert not (tmp_path / "gone").exists()
