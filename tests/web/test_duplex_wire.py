"""The conformance cases of the duplex contract that are about the wire, by number, over a real port.

Where ours is another outcome than the reference's the test says so.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from websockets.exceptions import ConnectionClosed

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.media.pcm import to_pcm
from antiphon.replay.verify import verify
from antiphon.web.duplex import opening
from antiphon.web.duplex.opening import begin
from antiphon.web.intake import INLINE, READERS
from antiphon.web.realtime.undecodable import Undecodable
from tests.serving import RunningServer, running

from .test_duplex_session import ABLE
from .test_openai_sdk import append, audio_of, tone, until
from .wire import Wire, wire

SCRIPT = Path(__file__).with_name("duplex_script.toml")
DUPLEX = "?duplex=1"
SPEECH = to_pcm((0.3 * np.sin(np.arange(16_000) / 8)).astype(np.float32))
"""A second at the session's usual 16 kHz."""
SILENCE = bytes(32_000)
VAD = {"type": "server_vad"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A scripted model, asked at the end of a turn."""
    with scripted(tmp_path_factory.mktemp("scripted")) as server:
        yield server


@contextlib.contextmanager
def scripted(folder: Path) -> Iterator[RunningServer]:
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


def log_of(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda answer: answer())


async def open_session(client: Wire, **session: Any) -> dict[str, Any]:
    await client.send({"type": "session.update", "session": session})
    return dict((await client.next("session.updated"))["session"])


async def pause(client: Wire) -> list[dict[str, Any]]:
    """Everything that the server says to what was sent so far: it answers a heartbeat behind that."""
    await client.send({"type": "session.heartbeat"})
    return (await client.until("session.heartbeat_ack"))[:-1]


async def say(client: Wire, text: str) -> None:
    content = [{"type": "input_text", "text": text}]
    await client.send({"type": "conversation.item.create", "item": {"role": "user", "content": content}})


async def answer(client: Wire, text: str = "Speak.") -> list[dict[str, Any]]:
    """Ask in writing for an answer; its frames, to the end."""
    await say(client, text)
    await client.send({"type": "response.create"})
    return await client.until("rate_limits.updated")


def of(kind: str, frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [frame for frame in frames if frame["type"] == kind]


def kinds(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["type"] for frame in frames]


# --- opening ----------------------------------------------------------------------------------------------


async def test_case_1_with_a_model_a_session_opens_before_anything_is_said(server: RunningServer) -> None:
    async with wire(server, "?duplex=1&model=m") as client:
        created, updated = await client.next(), await client.next()
        assert (created["type"], updated["type"]) == ("session.created", "session.updated")
        assert created["session"]["model"] == "m"
        assert created["session"] == updated["session"]
        await client.send({"type": "session.update", "session": {"instructions": "be brief"}})
        again = await client.next()
        assert (again["type"], again["config_generation"]) == ("session.updated", 1)
        assert again["session"]["id"] == created["session"]["id"]
        assert again["session"]["instructions"] == "be brief"


async def test_case_2_any_other_first_message_opens_a_session_of_defaults_and_is_then_run(
    server: RunningServer,
) -> None:
    async with wire(server, "?duplex=1&autostart=0&model=m") as client:
        await client.send({"type": "response.create", "event_id": "first"})
        frames = await client.until("error")
        assert kinds(frames) == ["session.created", "session.updated", "error"]
        error = frames[-1]["error"]
        assert (error["code"], error["event_id"]) == ("response_create_without_input", "first")
        assert frames[0]["session"]["model"] == "m"
        assert await pause(client) == []


async def test_case_3_created_comes_before_updated_and_both_are_numbered(server: RunningServer) -> None:
    """In the reference session.created has no number; ours is an event's first frame like any other."""
    async with wire(server, DUPLEX) as client:
        await client.send({"type": "session.update", "session": {"instructions": "be brief"}})
        created, updated = await client.next(), await client.next()
        assert (created["type"], updated["type"]) == ("session.created", "session.updated")
        assert updated["server_event_seq"] == created["server_event_seq"] + 1
        assert created["session"]["instructions"] == "be brief"
        assert created["session"] == updated["session"]


@pytest.mark.parametrize("query", ["?duplex=1", "?duplex=TRUE", "?duplex=on", "?duplex=1&resume=1&model=m"])
async def test_duplex_is_asked_for_in_the_url_and_a_session_may_wait_for_its_client(
    server: RunningServer, query: str
) -> None:
    async with wire(server, query) as client:
        await client.send({"type": "session.heartbeat"})
        assert kinds(await client.until("session.heartbeat_ack"))[0] == "session.created"


@pytest.mark.parametrize("query", ["", "?duplex=0", "?duplex=yes"])
async def test_whoever_does_not_ask_for_duplex_gets_the_plain_dialect(
    server: RunningServer, query: str
) -> None:
    async with wire(server, query) as client:
        created = await client.next()
        assert created["type"] == "session.created"
        assert "server_event_seq" not in created
        await client.send({"type": "session.heartbeat"})
        assert (await client.next())["error"]["code"] == "unknown_event"


FIRST = [
    ("{", "invalid_json"),
    (b"binary", "invalid_json"),
    ("[]", "bad_event"),
    ({"type": "sing"}, "unknown_event"),
    ({"type": "session.resume", "session_id": "s", "resume_token": "t"}, "session_resume_expired"),
    ({"type": "session.update", "session": {"input_audio_format": "opus"}}, "unsupported_audio_format"),
    (
        {"type": "session.update", "session": {"turn_detection": {"type": "none"}}},
        "unsupported_turn_detection",
    ),
    ({"type": "session.update", "session": {"instructions": "x" * 2_000_000}}, "event_too_large"),
]


@pytest.mark.parametrize(("first", "code"), FIRST)
async def test_a_first_message_that_cannot_be_used_ends_the_connection_after_one_error(
    server: RunningServer, first: Any, code: str
) -> None:
    async with wire(server, DUPLEX) as client:
        await client.send(first)
        error = await client.next()
        assert (error["type"], error["error"]["code"]) == ("error", code)
        assert "server_event_seq" not in error
        with pytest.raises(ConnectionClosed):
            await client.next()
        assert client.socket.close_code == 1008


async def test_a_large_first_message_is_read_while_others_are_served() -> None:
    async def opened(size: int) -> str:
        async def receive() -> dict[str, Any]:
            session = {"instructions": "x" * size}
            return {
                "type": "websocket.receive",
                "text": json.dumps({"type": "session.update", "session": session}),
            }

        return (await begin({}, receive, lambda: ABLE, "")).config.instructions

    busy = threading.Event()
    threads = [READERS.submit(busy.wait) for _ in range(2)]
    try:
        large, small = asyncio.create_task(opened(INLINE)), asyncio.create_task(opened(1))
        assert await small == "x"
        assert not large.done()
    finally:
        busy.set()
    assert await large == "x" * INLINE
    assert all(thread.result() for thread in threads)


async def test_who_says_nothing_at_all_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CONFIG_TIMEOUT_S", 0.0)

    async def receive() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(Undecodable) as caught:
        await begin({}, receive, lambda: ABLE, "model")
    assert caught.value.code == "config_timeout"


# --- commits ----------------------------------------------------------------------------------------------


async def test_case_4_a_commit_is_told_before_the_answer_to_it(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client, extra_body={"auto_response": True})
        await client.append(SPEECH)
        await client.send({"type": "input_audio_buffer.commit"})
        frames = await client.until("response.done")
        committed = kinds(frames).index("input_audio_buffer.committed")
        assert committed < kinds(frames).index("response.created")
        assert frames[committed]["event"]["is_speech"] is True


async def test_a_cancel_right_behind_a_commit_stops_the_answer_to_it(server: RunningServer) -> None:
    """Also where the commit still waits for its audio to be read, and the cancel does not."""
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        await client.append(SPEECH * 60)
        await client.send({"type": "input.commit"})
        await client.send({"type": "response.cancel"})
        frames = await client.until("response.done")
        assert not of("error", frames)
        assert frames[-1]["response"]["status"] == "cancelled"
        assert not of("response.output_audio.delta", frames)


async def test_case_5_a_commit_of_nothing_is_one_error_and_no_answer(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client, extra_body={"auto_response": True})
        await client.send({"type": "input_audio_buffer.commit", "event_id": "none"})
        [told] = await pause(client)
        assert (told["type"], told["error"]["code"]) == ("error", "input_audio_buffer_empty")
        assert (told["error"]["event_id"], told["error"]["type"]) == ("none", "invalid_request_error")


async def test_case_6_a_commit_of_silence_makes_no_item_and_the_model_listens(server: RunningServer) -> None:
    """Also in a session that answers by itself, where the reference says nothing of listening."""
    for auto in (False, True):
        async with wire(server, DUPLEX) as client:
            await open_session(client, extra_body={"auto_response": auto})
            await client.append(SILENCE)
            await client.send({"type": "input_audio_buffer.commit"})
            committed, listen = await pause(client)
            assert (committed["type"], listen["type"]) == ("input_audio_buffer.committed", "response.listen")
            assert committed["event"]["no_response"] is True
            assert committed["event"]["is_speech"] is False
            assert listen["response"]["metadata"]["reason"] == "silence_or_noise"
            assert listen["response"]["status"] == "listening"
            assert "response_id" not in listen


# --- answers ----------------------------------------------------------------------------------------------


async def test_case_14_all_deltas_joined_are_the_transcript(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        frames = await answer(client)
        said = "".join(frame["delta"] for frame in of("response.output_audio_transcript.delta", frames))
        [done] = of("response.output_audio_transcript.done", frames)
        assert said == done["transcript"] == "Paris has been the capital since the tenth century."
        for at, frame in enumerate(frames):
            if frame["type"] == "response.output_audio.delta":
                assert frames[at + 1]["type"] == "response.output_audio_transcript.delta"
        audio = of("response.output_audio.delta", frames)
        assert audio[-1]["metadata"]["audio_duration_ms"] == 1_200
        marks = [mark for delta in audio for mark in delta["metadata"]["audio_text_marks"]]
        assert marks == [{"text_chars": 15, "audio_end_ms": 500}]
        assert of("response.done", frames)[0]["response"]["status_details"] is None


@pytest.mark.parametrize(
    ("wanted", "encoding", "rate", "bytes_"),
    [
        ({"output_audio_format": "g711_ulaw"}, "g711_ulaw", 8_000, 9_600),
        ({"audio": {"output": {"format": {"type": "pcm16", "rate": 16_000}}}}, "pcm16", 16_000, 38_400),
        ({"audio": {"output": {"format": "pcm16", "sample_rate_hz": 48_000}}}, "pcm16", 48_000, 115_200),
        ({}, "pcm16", 24_000, 57_600),
    ],
)
async def test_an_answer_comes_in_the_format_that_was_asked_for_to_the_sample(
    server: RunningServer, wanted: dict[str, Any], encoding: str, rate: int, bytes_: int
) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client, **wanted)
        audio = of("response.output_audio.delta", await answer(client))
        assert {(delta["format"], delta["sample_rate_hz"]) for delta in audio} == {(encoding, rate)}
        assert sum(len(base64.b64decode(delta["delta"])) for delta in audio) == bytes_


@pytest.mark.parametrize(
    ("wanted", "encoding", "rate", "bytes_"),
    [
        ({"output_audio_format": "g711_ulaw"}, "g711_ulaw", 8_000, 9_600),
        ({"response_format": "g711_alaw"}, "g711_alaw", 8_000, 9_600),
        ({"audio": {"output": {"format": {"type": "pcm16", "rate": 48_000}}}}, "pcm16", 48_000, 115_200),
        ({"audio": {"output": {"sample_rate_hz": 24_000}}}, "pcm16", 24_000, 57_600),
    ],
)
async def test_a_format_of_one_answer_is_that_of_no_other(
    server: RunningServer, wanted: dict[str, Any], encoding: str, rate: int, bytes_: int
) -> None:
    """However that answer ends."""
    async with wire(server, DUPLEX) as client:
        session = await open_session(client, audio={"output": {"format": {"type": "pcm16", "rate": 16_000}}})
        await say(client, "Speak.")
        await client.send({"type": "response.create", "response": wanted})
        audio = of("response.output_audio.delta", await client.until("rate_limits.updated"))
        assert {(delta["format"], delta["sample_rate_hz"]) for delta in audio} == {(encoding, rate)}
        assert sum(len(base64.b64decode(delta["delta"])) for delta in audio) == bytes_

        await say(client, "Go on.")
        await client.send({"type": "response.create", "response": wanted})
        await client.until("response.output_audio.delta")
        await client.send({"type": "response.cancel"})
        await client.until("rate_limits.updated")
        after = of("response.output_audio.delta", await answer(client))
        assert {(delta["format"], delta["sample_rate_hz"]) for delta in after} == {("pcm16", 16_000)}
        await client.send({"type": "session.close"})
        await client.next("session.closed")
    assert verify(log_of(server), SessionId(session["id"])).same


async def test_case_10_after_a_cancel_nothing_of_the_answer_comes_but_its_end(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        await answer(client)
        await say(client, "Go on.")
        await client.send({"type": "response.create"})
        before = await client.until("response.output_audio.delta")
        response, epoch = before[-1]["response_id"], before[-1]["epoch"]
        await client.send({"type": "response.cancel", "response_id": response})
        ending = await client.until("rate_limits.updated")
        [done] = of("response.done", ending)
        assert (done["response_id"], done["response"]["status"]) == (response, "cancelled")
        assert done["response"]["status_details"]["reason"] == "client_cancelled"

        after = await answer(client)
        assert not [frame for frame in after if frame.get("response_id") == response]
        assert {frame["epoch"] for frame in after if "response_id" in frame} == {epoch + 1}
        frames = [*before, *ending]
        said = "".join(frame["delta"] for frame in of("response.output_audio_transcript.delta", frames))
        assert of("response.output_audio_transcript.done", frames)[0]["transcript"] == said == "One moment, "


async def test_case_13_a_cancel_of_nothing_is_an_error_and_of_something_unknown_no_word(
    server: RunningServer,
) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        await client.send({"type": "response.cancel", "response_id": "resp_unknown"})
        assert await pause(client) == []
        await client.send({"type": "response.cancel", "event_id": "idle"})
        [told] = await pause(client)
        assert (told["error"]["code"], told["error"]["event_id"]) == ("response_not_active", "idle")

        response = of("response.done", await answer(client))[0]["response_id"]
        await client.send({"type": "response.cancel", "response_id": response})
        [told] = await pause(client)  # its audio still plays: barge_in would silence it
        assert told["error"]["code"] == "response_not_active"
        await client.send({"type": "barge_in"})
        [cleared] = await pause(client)
        assert (cleared["type"], cleared["response_id"]) == ("output_audio_buffer.cleared", response)


async def test_case_22_what_was_heard_keeps_its_voice_and_a_session_its_model(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        before = await open_session(client, voice="low")
        assert (await open_session(client, voice="high"))["voice"] == "high"
        await client.send({"type": "session.update", "session": {"model": "another"}})
        assert (await client.next("error"))["error"]["code"] == "model_update_unsupported"
        await answer(client)
        await client.send({"type": "session.update", "session": {"voice": "low", "instructions": "shout"}})
        assert (await client.next("error"))["error"]["code"] == "voice_update_after_audio_unsupported"
        after = await open_session(client)
        assert (after["voice"], after["instructions"], after["model"]) == ("high", "", before["model"])


async def test_case_33_server_vad_is_strict_and_a_refusal_applies_nothing(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        before = await open_session(client, turn_detection=VAD)
        for detection in (
            {**VAD, "eagerness": "high"},
            {"type": "semantic_vad"},
            {**VAD, "interrupt_response": False},
        ):
            update = {
                "turn_detection": detection,
                "instructions": "shout",
                "output_audio_format": "g711_ulaw",
            }
            await client.send({"type": "session.update", "event_id": "no", "session": update})
            [told] = await pause(client)
            error = told["error"]
            assert (error["code"], error["param"], error["event_id"]) == (
                "unsupported_turn_detection",
                "turn_detection",
                "no",
            )
        assert await open_session(client) == before


async def test_case_35_when_an_answer_fails_it_is_told_and_ends_and_the_session_goes_on(
    server: RunningServer,
) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        await answer(client)
        await say(client, "Go on.")
        await client.send({"type": "response.create"})
        await client.until("response.output_audio.delta")
        await client.send({"type": "barge_in"})
        await client.until("rate_limits.updated")
        frames = await answer(client)
        at = kinds(frames).index("error")
        error = frames[at]["error"]
        assert (error["code"], error["type"]) == ("out_of_tune", "server_error")
        [done] = of("response.done", frames[at:])
        assert done["response"]["status"] == "failed"
        assert (await open_session(client))["state"] == "open"


async def client_opened(client: Wire) -> list[dict[str, Any]]:
    await client.send({"type": "session.update", "session": {}})
    return await client.until("session.updated")


# --- the rest of the vocabulary ---------------------------------------------------------------------------


async def test_a_client_that_closes_hears_so_and_why(server: RunningServer) -> None:
    for frame, reason in (
        ({"type": "session.close"}, "client_close"),
        ({"type": "close", "reason": "lunch"}, "lunch"),
        ({"type": "turn.signal", "event": "close"}, "client_close"),
        ({"type": "session.close", "reason": "午" * 64}, "午" * 64),
    ):
        async with wire(server, DUPLEX) as client:
            await open_session(client)
            await client.send(frame)
            last = await client.next()
            assert (last["type"], last["reason"]) == ("session.closed", reason)
            with pytest.raises(ConnectionClosed):
                await client.next()
            assert (client.socket.close_code, client.socket.close_reason) == (1000, reason[:41])


async def test_a_signal_is_passed_on_and_never_obeyed(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        await client.send({"type": "turn.signal", "event": "user_started", "payload": {"at": 1}})
        [started] = await pause(client)
        assert (started["type"], started["event"], started["turn_state"]) == (
            "turn.event",
            "user_started",
            "user_speaking",
        )
        await client.send({"type": "turn.signal", "event": "thinking"})
        [thinking] = await pause(client)
        assert (thinking["event"], thinking["turn_state"]) == ("thinking", "user_speaking")


async def test_acknowledgements_are_each_answered_in_order_or_not(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        done = of("response.done", await answer(client))[0]
        response, item = done["response_id"], done["response"]["output"][0]["id"]
        told = []
        for ack in (
            {"played_ms": 800, "response_id": response},
            {"played_ms": 300, "item_id": item},
            {"played_ms": 1_100, "committed_ms": 900},
        ):
            await client.send({"type": "playback.ack", **ack})
            [frame] = await pause(client)
            told.append(frame["event"])
        assert [(one["played_ms"], one["committed_ms"]) for one in told] == [
            (800, 800),
            (800, 800),
            (1_100, 900),
        ]
        assert {(one["response_id"], one["item_id"], one["history_committed"]) for one in told} == {
            (response, item, True)
        }
        await client.send({"type": "conversation.item.truncate", "item_id": item, "audio_end_ms": 700})
        truncated, acknowledged = await pause(client)
        assert (truncated["type"], acknowledged["type"]) == (
            "conversation.item.truncated",
            "playback.acknowledged",
        )
        assert acknowledged["event"]["committed_ms"] == 700
        assert acknowledged["event"]["truncate"] is True
        for ack, code in (
            ({"played_ms": 1, "response_id": "resp_x"}, "playback_item_not_found"),
            ({"played_ms": 1, "response_id": response, "item_id": "item_x"}, "playback_item_mismatch"),
        ):
            await client.send({"type": "playback.ack", "event_id": "a", **ack})
            [frame] = await pause(client)
            assert (frame["error"]["code"], frame["error"]["event_id"]) == (code, "a")


async def test_frames_that_are_there_can_be_acknowledged(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await client.send({"type": "session.update", "session": {}})
        updated = await client.next("session.updated")
        await client.send({"type": "session.event_ack", "server_event_seq": updated["server_event_seq"]})
        assert await pause(client) == []
        await client.send({"type": "session.event_ack", "event_id": "a", "server_event_seq": 10**9})
        [told] = await pause(client)
        assert told["error"]["code"] == "invalid_event_ack"


async def test_items_are_retrieved_as_they_count_and_deleted(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        done = of("response.done", await answer(client))[0]
        item = done["response"]["output"][0]["id"]
        await client.send({"type": "playback.ack", "played_ms": 500, "item_id": item})
        await client.send({"type": "conversation.item.retrieve", "item_id": item})
        shown = (await client.next("conversation.item.retrieved"))["item"]
        assert shown["content"][0]["transcript"] == "Paris has been"
        await client.send({"type": "conversation.item.delete", "item_id": item})
        [deleted] = await pause(client)
        assert (deleted["type"], deleted["item_id"]) == ("conversation.item.deleted", item)
        await client.send({"type": "conversation.item.retrieve", "item_id": item, "event_id": "gone"})
        [told] = await pause(client)
        assert (told["error"]["code"], told["error"]["event_id"]) == ("item_not_found", "gone")


async def test_a_frame_of_more_than_15_mib_is_refused_and_the_connection_lives(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client)
        await client.send({"type": "input_audio_buffer.append", "audio": "A" * (15 << 20)})
        assert (await client.next())["error"]["code"] == "event_too_large"
        assert await pause(client) == []


async def test_who_is_silent_for_longer_than_it_said_is_let_go(server: RunningServer) -> None:
    async with wire(server, DUPLEX) as client:
        await open_session(client, idle_timeout_s=0.2)
        with pytest.raises(ConnectionClosed):
            await client.until("session.closed")


async def test_everything_a_client_was_sent_can_be_projected_again(server: RunningServer) -> None:
    """By the digests in the log: of what an answer, a cancel and an acknowledgement amounted to."""
    async with wire(server, DUPLEX) as client:
        session = await open_session(client, output_audio_format="g711_alaw")
        done = of("response.done", await answer(client))[0]
        await client.send({"type": "playback.ack", "played_ms": 900, "response_id": done["response_id"]})
        await say(client, "Go on.")
        await client.send({"type": "response.create"})
        await client.until("response.output_audio.delta")
        await client.send({"type": "barge_in"})
        await client.until("rate_limits.updated")
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    verdict = verify(log_of(server), SessionId(session["id"]))
    assert verdict.same
    assert verdict.frames > 40


async def test_the_plain_dialect_counts_what_it_refuses_in_its_own_words(server: RunningServer) -> None:
    """Case 13's other half: without ?duplex=1 a cancel of something unknown is an error."""
    async with wire(server) as client:
        await client.next("session.created")
        await client.send({"type": "response.cancel", "response_id": "resp_unknown"})
        error = (await client.next("error"))["error"]
        assert error["code"] == "response_cancel_not_active"
        assert re.match("Cancellation failed", error["message"])


async def test_the_official_sdk_talks_to_it_once_it_asks_for_it(echo_server: RunningServer) -> None:
    """Plain names do what they do without ?duplex=1; what is more in the frames it passes on."""
    client = AsyncOpenAI(base_url=f"{echo_server.base}/v1", api_key="unused")
    async with client.realtime.connect(model="m", extra_query={"duplex": "1"}) as connection:
        assert [(await connection.recv()).type for _ in range(2)] == ["session.created", "session.updated"]
        sound = {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 24_000}}}}
        await connection.session.update(session={"type": "realtime", **sound})  # type: ignore[typeddict-item]
        updated = await connection.recv()
        assert updated.type == "session.updated"
        assert updated.session.audio.input.format.rate == 24_000
        await append(connection, pcm := tone(1.0))
        await connection.input_audio_buffer.commit()
        events = await until(connection, "response.done")
    assert audio_of(events) == pcm
    assert events[-1].response.status == "completed"
    assert events[-1].epoch == 0
