"""Streaming video in front of a stage that speaks (a scripted one): audio as WAV files, in order, with an end."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from antiphon.media.wav import read_wav
from tests.media.images import encoded, jpeg
from tests.serving import running

from .test_video_wire import PATH
from .wire import wire

SCRIPT = """
sees = true
transcribes = false

[[replies]]
to = "speak"
[[replies.steps]]
says = { type = "said", text = "One, ", tone_ms = 120 }
[[replies.steps]]
says = { type = "said", text = "two, ", tone_ms = 500 }
[[replies.steps]]
says = { type = "said", text = "three.", tone_ms = 80 }
[[replies.steps]]
says = { type = "finished" }
last = true
"""


async def asked(folder: Path, env: dict[str, str], **config: Any) -> list[dict[str, Any]]:
    """The frames of one answer."""
    settings = folder / "antiphon.toml"
    (folder / "script.toml").write_text(SCRIPT)
    settings.write_text(f'[stage.scripted]\nscript = "{folder / "script.toml"}"\n')
    with running(folder / "data", "--config", str(settings), stage="scripted", env=env) as server:
        async with wire(server, path=PATH) as client:
            await client.send({"type": "session.config", **config})
            await client.send({"type": "video.frame", "data": encoded(jpeg(9))})
            await client.send({"type": "video.query", "text": "Count."})
            await client.send({"type": "video.done"})
            return await client.until("session.done")


def ms(frame: dict[str, Any]) -> float:
    assert frame["format"] == "wav"
    sound = read_wav(base64.b64decode(frame["data"]))
    assert sound.rate == 24_000
    assert abs(sound.samples).max() > 0.01
    return len(sound.samples) / 24


async def test_audio_comes_piece_by_piece_behind_the_words_so_far(tmp_path: Path) -> None:
    frames = await asked(tmp_path, {})
    kinds = [frame["type"].removeprefix("response.") for frame in frames]
    assert kinds[:4] == ["start", "text.delta", "text.done", "output_audio.delta"]
    assert kinds[-2:] == ["output_audio.done", "session.done"]
    assert kinds.count("text.done") == kinds.count("output_audio.done") == 1
    assert kinds.count("text.delta") == 3
    sounds = [ms(frame) for frame in frames if frame["type"] == "response.output_audio.delta"]
    assert sum(sounds) == pytest.approx(700)
    assert max(sounds) <= 200


async def test_without_streaming_all_audio_is_one_file_behind_all_words(tmp_path: Path) -> None:
    frames = await asked(tmp_path, {"VLLM_VIDEO_ASYNC_CHUNK": "off"})
    assert [frame["type"] for frame in frames] == [
        "response.start",
        "response.text.done",
        "response.output_audio.delta",
        "response.output_audio.done",
        "session.done",
    ]
    assert frames[1]["text"] == "One, two, three."
    assert ms(frames[2]) == pytest.approx(700)


async def test_who_wants_words_only_hears_nothing(tmp_path: Path) -> None:
    frames = await asked(tmp_path, {}, modalities=["text"])
    assert not any("audio" in frame["type"] for frame in frames)
    assert frames[-2]["text"] == "One, two, three."
