"""How a stream begins, without a server: the time that its client has, and what the first message may say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from antiphon.events.vocabulary import Abilities
from antiphon.web.dialect import Left
from antiphon.web.duplex import opening as first
from antiphon.web.realtime.undecodable import Undecodable
from antiphon.web.video import environment
from antiphon.web.video.opening import begin, read_config

ABLE = Abilities(stage="chat", hears="utterances", speaks=False, sees=True)


async def never() -> Mapping[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_client_that_says_nothing_is_told_that_its_time_is_over(monkeypatch: Any) -> None:
    monkeypatch.setattr(first, "CONFIG_TIMEOUT_S", 0.01)
    with pytest.raises(Undecodable, match="Timeout waiting for session") as caught:
        await begin({}, never, lambda: ABLE, "")
    assert caught.value.code == "config_timeout"


async def test_a_client_that_goes_before_it_has_said_anything_has_left() -> None:
    async def gone() -> Mapping[str, Any]:
        return {"type": "websocket.disconnect"}

    with pytest.raises(Left):
        await begin({}, gone, lambda: ABLE, "")


@pytest.mark.parametrize("able", [{"sees": False}, {"hears": "continuously"}, {"reads": False}])
async def test_who_cannot_see_read_and_be_asked_has_no_streams(able: dict[str, Any]) -> None:
    members = {"stage": "other", "hears": "utterances", "sees": True, **able}
    with pytest.raises(Undecodable, match="Streaming video chat is not available"):
        await begin({}, never, lambda: Abilities(**members), "")


@pytest.mark.parametrize(("text", "name"), [("[]", "array"), ("null", "null"), ('"a"', "string"), ("1", "number"), ("true", "boolean")])  # fmt: skip
def test_what_is_no_object_is_named(text: str, name: str) -> None:
    with pytest.raises(Undecodable, match=f"got: {name}"):
        read_config(text)


def test_what_is_not_said_is_as_usual() -> None:
    asked = read_config('{"type": "session.config"}')
    assert (asked.num_frames, asked.max_frames, asked.frame_filter_threshold) == (4, 50, 0.95)
    assert (asked.enable_frame_filter, asked.use_audio_in_video, asked.modalities) == (
        True,
        True,
        ("text", "audio"),
    )


@pytest.mark.parametrize("said", ["false", "off", "no", "0", "F"])
def test_truth_may_be_text(said: str) -> None:
    asked = read_config(json.dumps({"type": "session.config", "evs_enabled": said}))
    assert asked.enable_frame_filter is False


@pytest.mark.parametrize(("value", "streams"), [("", True), ("on", True), (" Off ", False), ("never", True)])
def test_variables_are_trimmed_and_what_they_cannot_mean_counts_as_unset(value: str, streams: bool) -> None:
    assert environment.streams({environment.ASYNC_CHUNK: value}) is streams
