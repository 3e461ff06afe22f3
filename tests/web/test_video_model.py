"""Both visual modes in front of a real model: the shipped one, behind a chat server that is a process of its own.
It reads the words only; what it is shown is for the scripted server to tell (test_video_wire.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from antiphon.events.segments.log import SegmentLog
from antiphon.replay.verify import verify
from tests.backends.running import backend
from tests.media.images import encoded, jpeg
from tests.serving import RunningServer, running

from .wire import wire

pytestmark = pytest.mark.cascade


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with backend("written_chat") as chat:
        data: Path = tmp_path_factory.mktemp("model") / "data"
        with running(data, "--main-backend-url", chat.url, stage="chat") as one:
            yield one


async def test_a_question_about_a_video_is_answered_by_a_model_word_by_word(server: RunningServer) -> None:
    async with wire(server, path="/v1/video/chat/stream") as client:
        await client.send({"type": "session.config"})
        await client.send({"type": "video.frame", "data": encoded(jpeg(9)), "frame_id": "a"})
        await client.next("video.frame.ack")
        await client.send({"type": "video.query", "text": "What is the capital of France?"})
        frames = await client.until("response.text.done")
        deltas = [frame["delta"] for frame in frames if frame["type"] == "response.text.delta"]
        assert len(deltas) > 2
        assert "".join(deltas) == frames[-1]["text"]
        assert "Paris" in frames[-1]["text"]
        await client.send({"type": "video.done"})
        await client.next("session.done")


def test_a_watcher_says_what_its_model_writes(server: RunningServer) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{encoded(jpeg(9))}"}}
    content = [{"type": "text", "text": "What is the capital of France?"}, image]
    body = {"messages": [{"role": "user", "content": content}]}
    with httpx.Client(base_url=server.base, trust_env=False, timeout=60) as client:
        decided = client.post("/v1/chat/completions", content=json.dumps(body)).json()["interaction"]
    assert not decided["inference_skipped"]
    assert decided["action"] in ("response", "silence")


def test_both_can_be_projected_again(server: RunningServer) -> None:
    store = SegmentLog(server.data, deliver=lambda call: call())
    verdicts = [verify(store, head.session) for head in store.sessions()]
    assert len(verdicts) == 2
    assert all(verdict.same for verdict in verdicts)
