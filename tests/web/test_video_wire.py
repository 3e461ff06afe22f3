"""`/v1/video/chat/stream` on a real server, in front of a chat server that is a process of its own. What answers
there is scripted: it says what it was shown."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.events.segments.log import SegmentLog
from antiphon.replay.verify import verify
from tests.backends.running import Backend, backend
from tests.media.images import encoded, jpeg, noise, png
from tests.serving import RunningServer, running

from .wire import Wire, wire

PATH = "/v1/video/chat/stream"
TOO_LARGE = 10 * 1024 * 1024 + 4
BOMB = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 60_000, 60_000) + b"\x08\2\0\0\0" + bytes(99)
"""A header that promises 3.6 thousand million pixels."""


@pytest.fixture(scope="module")
def chat() -> Iterator[Backend]:
    with backend() as one:
        yield one


@pytest.fixture(scope="module")
def server(chat: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("video")
    config = folder / "antiphon.toml"
    config.write_text("[stage.chat]\nllm_sees = true\nllm_hears = true\nllm_idle_s = 2.0\n")
    arguments = ("--config", str(config), "--llm-url", chat.url, "--llm-model", "scripted")
    with running(folder / "data", *arguments, stage="chat") as one:
        yield one


@asynccontextmanager
async def stream(server: RunningServer, **config: Any) -> AsyncIterator[Wire]:
    async with wire(server, path=PATH) as client:
        await client.send({"type": "session.config", **config})
        yield client


async def show(client: Wire, contents: bytes | str, **labels: Any) -> None:
    data = contents if isinstance(contents, str) else encoded(contents)
    await client.send({"type": "video.frame", "data": data, **labels})


async def acked(client: Wire, contents: bytes, frame_id: str, **labels: Any) -> dict[str, Any]:
    await show(client, contents, frame_id=frame_id, **labels)
    return await client.next("video.frame.ack")


async def closed(client: Wire) -> int:
    with pytest.raises(ConnectionClosed) as caught:
        await client.until("nothing of this type")
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code


async def done(client: Wire) -> int:
    await client.send({"type": "video.done"})
    await client.next("session.done")
    return await closed(client)


# --- opening ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "message"), [
    ("{", "Invalid JSON in session.config"),
    ("[]", "Expected session.config, got: array"),
    ('{"type": "video.query"}', "Expected session.config, got: video.query"),
    ('{"type": "session.config", "num_frames": 0}', "Invalid session config: "),
    ('{"type": "session.config", "max_frames": 257}', "Invalid session config: "),
    ('{"type": "session.config", "frame_filter_threshold": 1.1}', "Invalid session config: "),
    ('{"type": "session.config", "modalities": "text"}', "Invalid session config: "),
    ('{"type": "session.config", "sampling_params_list": [1]}', "Invalid session config: "),
    (b"\x00", "Invalid JSON in session.config"),
])  # fmt: skip
async def test_a_first_message_that_opens_nothing_ends_the_connection(
    server: RunningServer, first: str | bytes, message: str
) -> None:
    async with wire(server, path=PATH) as client:
        await client.send(first)
        error = await client.next()
        assert error["message"].startswith(message)
        assert (error["type"], error["fatal"]) == ("error", True)
        assert await closed(client) == 1008


async def test_a_stage_that_sees_nothing_has_no_streams(tmp_path: Path) -> None:
    with running(tmp_path / "data", stage="echo") as blind:
        async with wire(blind, path=PATH) as client:
            assert (await client.next())["message"] == "Streaming video chat is not available"
            assert await closed(client) == 1008


async def test_values_are_read_leniently_and_earlier_names_count_where_the_present_are_missing(
    server: RunningServer,
) -> None:
    lenient = {"num_frames": "4", "zzz": 1, "modalities": ["smell"], "enable_frame_filter": "true"}
    async with stream(server, **lenient, evs_enabled=False, num_sample_frames=1) as client:
        assert (await acked(client, png(0), "a"))["accepted"]
        assert not (await acked(client, png(0), "b"))["accepted"], "the present name wins"
    async with stream(server, evs_enabled="off", num_sample_frames=1) as client:
        for name in "ab":
            assert (await acked(client, png(0), name))["accepted"]
        await client.send({"type": "video.query", "text": "What?"})
        assert (await client.next("video.frames.consumed"))["frame_ids"] == ["b"]
    async with stream(server, evs_threshold=0.0) as client:
        await acked(client, png(0), "a")
        assert (await acked(client, png(255), "b"))["reason"] == "filtered"


# --- a conversation ---------------------------------------------------------------------------------------


async def test_a_question_shows_the_model_the_images_and_the_sound_and_the_words(
    server: RunningServer, chat: Backend
) -> None:
    async with stream(server, system_prompt="Be brief.") as client:
        for n, level in enumerate((0, 57, 60, 200)):
            ack = await acked(client, png(level), f"f{n}", pts_ms=n * 100, capture_ts_ms={"mine": n})
            assert (ack["pts_ms"], ack["capture_ts_ms"]) == (n * 100, {"mine": n})
            assert ack["accepted"] == (n != 1), "57 levels from the one before are too few, 60 are not"
        for _ in range(10):
            await client.send({"type": "audio.chunk", "data": encoded(bytes(3_200))})
        more = encoded(bytes(16_000))
        await client.send({"type": "video.query", "text": "What?", "audio_data": more})
        start, consumed, delta, end = await client.until("response.text.done")
        told = "3 images of grey 0 60 200, 1.5 s of sound, asked: What?"
        assert (delta["delta"], end["text"], end["status"]) == (told, told, "completed")
        assert {start["response_id"], delta["response_id"], end["response_id"]} == {consumed["request_id"]}
        assert (consumed["frame_ids"], consumed["latest_pts_ms"]) == (["f0", "f2", "f3"], 300)
        assert await done(client) == 1000
    asked = chat.asked()[-1]
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["messages"][0]["content"] == "Be brief."
    assert asked["mm_processor_kwargs"] == {"use_audio_in_video": True}
    kinds = [part["type"] for part in asked["messages"][1]["content"]]
    assert kinds == ["image_url"] * 3 + ["input_audio", "text"]


async def test_three_questions_and_the_third_knows_of_the_second_in_words_only(
    server: RunningServer, chat: Backend
) -> None:
    async with stream(server) as client:
        await acked(client, jpeg(9), "a")
        for n in (1, 2, 3):
            await client.send({"type": "video.query", "text": f"!say Answer {n}."})
            assert (await client.next("response.text.done"))["text"] == f"Answer {n}."
    messages = chat.asked()[-1]["messages"]
    assert messages[0] == {"role": "user", "content": "!say Answer 2."}
    assert messages[1] == {"role": "assistant", "content": "Answer 2."}
    assert [part["type"] for part in messages[2]["content"]] == ["image_url", "text"]
    assert len(messages) == 3


async def test_a_question_that_comes_over_an_answer_ends_it_and_is_answered(server: RunningServer) -> None:
    async with stream(server) as client:
        await acked(client, jpeg(9), "a")
        await client.send({"type": "video.query", "text": "!slow 200"})
        await client.next("response.text.delta")
        await show(client, jpeg(200), frame_id="b")
        await client.next("video.frame.ack")
        await client.send({"type": "video.query", "text": "!say Now."})
        frames = await client.until("response.start")
        ended, start = frames[-2:]
        assert (ended["type"], ended["status"]) == ("response.text.done", "interrupted")
        rest = await client.until("response.text.done")
        assert {frame["response_id"] for frame in rest if "response_id" in frame} == {start["response_id"]}
        assert rest[-1]["text"] == "Now."
        assert await done(client) == 1000


async def test_done_right_behind_a_question_waits_for_its_answer(server: RunningServer) -> None:
    async with stream(server) as client:
        await show(client, jpeg(9))
        await client.send({"type": "video.query", "text": "!slow 10"})
        await client.send({"type": "video.done"})
        await show(client, jpeg(9), frame_id="unread")
        frames = await client.until("session.done")
        assert [one["type"] for one in frames if one["type"] != "response.text.delta"] == [
            "response.start", "response.text.done", "session.done",
        ]  # fmt: skip
        assert await closed(client) == 1000


async def test_each_query_is_answered_as_a_whole_where_nothing_streams(chat: Backend, tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text("[stage.chat]\nllm_sees = true\n")
    arguments = ("--config", str(config), "--llm-url", chat.url, "--llm-model", "scripted")
    env = {"VLLM_VIDEO_ASYNC_CHUNK": " OFF ", "VLLM_VIDEO_AUDIO_DELTA_MODE": "quick"}
    with running(tmp_path / "data", *arguments, stage="chat", env=env) as server:
        async with stream(server) as client:
            await show(client, jpeg(9))
            for _ in range(2):
                await client.send({"type": "video.query", "text": "!slow 4"})
                frames = await client.until("response.text.done")
                assert [one["type"] for one in frames] == ["response.start", "response.text.done"]
                assert frames[-1]["text"].split() == ["word0.", "word1.", "word2.", "word3."]
        assert server.log().count("video.unknown_setting") == 1


# --- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "message"), [
    ("{", "Invalid JSON"), ('"text"', "Messages must be JSON objects"), ({"type": "nod"}, "Unknown type: nod"),
    ({"type": "session.config"}, "Unknown type: session.config"),
    ({"type": "_internal.frame_failed"}, "Unknown type: _internal.frame_failed"),
    ({"type": "video.frame", "data": 123, "frame_id": "bad"}, "data is a string"),
    ({"type": "video.frame", "data": "!!!!", "frame_id": "bad"}, "Invalid image data"),
    ({"type": "video.frame", "data": encoded(b"no image"), "frame_id": "bad"}, "Invalid image data"),
    ({"type": "video.frame", "data": encoded(noise(1)[:9_000]), "frame_id": "bad"}, "Invalid image data"),
    ({"type": "video.frame", "data": encoded(BOMB), "frame_id": "bad"}, "Invalid image data"),
    ({"type": "video.frame", "data": "A" * TOO_LARGE, "frame_id": "bad"}, "Frame too large"),
    ({"type": "video.frame", "data": encoded(png(1)), "pts_ms": "x" * 5_000}, "more than 4096 characters"),
    ({"type": "audio.chunk", "data": "****"}, "Invalid audio data"),
    ({"type": "audio.chunk", "data": encoded(b"odd")}, "Invalid audio data"),
    ({"type": "audio.chunk", "data": ["AAAA"]}, "data is a string"),
    ({"type": "video.query", "text": {"what": 1}}, "text is a string"),
    ({"type": "video.query", "text": "What?"}, "No frames buffered"),
])  # fmt: skip
async def test_what_cannot_be_used_is_told_and_the_session_goes_on(
    server: RunningServer, sent: Any, message: str
) -> None:
    async with stream(server) as client:
        await client.send(sent)
        error = await client.next()
        assert (error["type"], error["fatal"]) == ("error", False)
        assert error["message"].startswith(message)
        if isinstance(sent, dict) and sent.get("frame_id"):
            assert error["frame_id"] == "bad"
        await client.send({"type": "ping"})
        assert await client.next() == {"type": "pong"}
        assert (await acked(client, jpeg(3), "good"))["buffered_frames"] == 1


async def test_an_empty_image_is_nothing(server: RunningServer) -> None:
    async with stream(server) as client:
        await show(client, "", frame_id="a")
        await client.send({"type": "video.frame", "frame_id": "b"})
        assert (await acked(client, jpeg(3), "c"))["buffered_frames"] == 1


async def test_without_a_filter_what_is_no_image_is_acknowledged_and_then_has_failed(
    server: RunningServer,
) -> None:
    async with stream(server, enable_frame_filter=False) as client:
        assert (await acked(client, b"no image", "a"))["accepted"]
        assert (await client.next())["message"] == "Frame decode failed"
        await client.send({"type": "video.query", "text": "What?"})
        assert (await client.next())["message"] == "No frames buffered"


@pytest.mark.parametrize(("asked", "code", "text"), [
    ("!500", "llm_refused", ""), ("!half", "llm_unreachable", "Half an answer, and"),
    ("!hang", "llm_timeout", "It begins. "),
])  # fmt: skip
async def test_a_backend_that_fails_costs_the_answer_and_not_the_session(
    server: RunningServer, asked: str, code: str, text: str
) -> None:
    async with stream(server) as client:
        await acked(client, jpeg(3), "a")
        await client.send({"type": "video.query", "text": asked})
        frames = await client.until("response.text.done")
        error, end = frames[-2:]
        assert (error["message"], error["code"]) == ("Query processing failed", code)
        assert (end["text"].strip(), end["status"]) == (text.strip(), "failed")
        await client.send({"type": "video.query", "text": "!say Fine."})
        assert (await client.next("response.text.done"))["text"] == "Fine."


async def test_parameters_of_no_model_are_found_out_with_the_question(server: RunningServer) -> None:
    async with stream(server, sampling_params_list=[{"warmth": 3}]) as client:
        await acked(client, jpeg(3), "a")
        await client.send({"type": "video.query", "text": "What?"})
        assert (await client.next())["message"].startswith("Failed to build request: ")
    async with stream(server, sampling_params_list=[{"temperature": 0.5, "top_k": 3}, {}]) as client:
        await acked(client, jpeg(3), "a")
        await client.send({"type": "video.query", "text": "What?"})
        await client.next("response.text.done")


# --- the log ----------------------------------------------------------------------------------------------


async def test_what_was_sent_can_be_projected_again(server: RunningServer) -> None:
    async with stream(server, max_frames=2) as client:
        for n, level in enumerate((0, 0, 100, 200)):
            await acked(client, png(level), f"f{n}")
        await client.send({"type": "audio.chunk", "data": encoded(bytes(3_200))})
        await client.send({"type": "video.query", "text": "What?"})
        await client.until("response.text.done")
        await client.send({"type": "video.query", "text": "!500"})
        await client.until("response.text.done")
        assert await done(client) == 1000
    store = SegmentLog(server.data, deliver=lambda call: call())
    for head in store.sessions():
        verdict = verify(store, head.session)
        assert verdict.same, verdict.difference
    assert verdict.frames > 0


async def test_a_stream_cannot_be_come_back_to(server: RunningServer) -> None:
    async with wire(server, "?session_id=sess_1&resume_token=x", path=PATH) as client:
        await client.send({"type": "session.config"})
        assert (await acked(client, jpeg(3), "a"))["accepted"]


async def test_many_streams_at_once_have_their_own_images(server: RunningServer) -> None:
    async def one(level: int) -> str:
        async with stream(server) as client:
            await acked(client, png(level), "a")
            await client.send({"type": "video.query", "text": "What?"})
            return str((await client.next("response.text.done"))["text"])

    told = await asyncio.gather(*(one(level) for level in range(0, 250, 25)))
    assert [text.split(",")[0] for text in told] == [f"1 images of grey {n}" for n in range(0, 250, 25)]
