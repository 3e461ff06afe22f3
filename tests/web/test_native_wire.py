"""Conversations with a native client over a real port."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from antiphon.events.ids import SessionId
from antiphon.media.wav import write_wav
from antiphon.replay.verify import verify
from tests.projections.native_laws import check
from tests.serving import RunningServer, running

from .test_duplex_wire import SILENCE, SPEECH, kinds, log_of, of, pause, say, scripted
from .wire import Wire, wire

DUPLEX = "/v1/duplex"
ASK = {"type": "response.create"}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A scripted model, asked at the end of a turn."""
    with scripted(tmp_path_factory.mktemp("native")) as server:
        yield server


@contextlib.asynccontextmanager
async def opened(server: RunningServer, **session: Any) -> AsyncIterator[tuple[Wire, dict[str, Any]]]:
    async with wire(server, path=DUPLEX) as client:
        await client.send({"type": "session.create", "session": session})
        yield client, await client.next()


async def answer(client: Wire, end: str = "response.done") -> list[dict[str, Any]]:
    await say(client, "Speak.")
    await client.send(ASK)
    return await client.until(end)


# --- opening ----------------------------------------------------------------------------------------------


async def test_a_session_opens_with_what_its_client_creates_and_one_frame_says_so(
    native: RunningServer,
) -> None:
    async with wire(native, "?model=m", path=DUPLEX) as client:
        session = {"instructions": "Be brief."}
        await client.send({"type": "session.create", "session_id": "mine", "session": session})
        created = await client.next()
        assert created["type"] == "session.created"
        assert created["event_id"] == f"event_{created['server_event_seq']}"
        shown = created["session"]
        assert (shown["model"], shown["instructions"], shown["state"]) == ("m", "Be brief.", "open")
        assert shown["id"] != "mine"
        assert await pause(client) == []
        await client.send({"type": "session.update", "session": {"temperature": 1.0}})
        updated = await client.next()
        assert (updated["type"], updated["config_generation"]) == ("session.updated", 1)
        assert updated["session"]["instructions"] == "Be brief."


FIRST = [
    ("{", "invalid_json"),
    (b"binary", "invalid_json"),
    ("[]", "bad_event"),
    ({"type": "sing"}, "unknown_event"),
    ({"type": "session.update", "session": {}}, "unknown_session"),
    ({"type": "input_audio_buffer.append", "audio": "AAAA"}, "unknown_session"),
    ({"type": "session.resume", "session_id": "s", "resume_token": "t"}, "unsupported_session_resume"),
    ({"type": "open_session", "session": {"input_audio_format": "opus"}}, "unsupported_audio_format"),
]


@pytest.mark.parametrize(("first", "code"), FIRST)
async def test_a_first_message_that_opens_nothing_ends_the_connection_after_one_flat_error(
    native: RunningServer, first: Any, code: str
) -> None:
    async with wire(native, path=DUPLEX) as client:
        await client.send(first)
        error = await client.next()
        assert (error["type"], error["code"]) == ("error", code)
        assert isinstance(error["error"], str)
        assert not {"server_event_seq", "session_id"} & error.keys()
        with pytest.raises(ConnectionClosed):
            await client.next()
        assert client.socket.close_code == 1008


async def test_nobody_comes_in_without_a_key_where_one_is_needed(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"ANTIPHON_KEYS": "open-sesame"}) as server:
        with pytest.raises(InvalidStatus) as caught:
            async with wire(server, path=DUPLEX):
                pass
        assert caught.value.response.status_code == 401
        async with wire(server, "?api_key=open-sesame", path=DUPLEX) as client:
            await client.send({"type": "session.create"})
            assert (await client.next())["type"] == "session.created"


# --- input ------------------------------------------------------------------------------------------------


async def test_a_file_is_committed_understood_and_answered(native: RunningServer) -> None:
    sound = write_wav((0.3 * np.sin(np.arange(44_100) / 8)).astype(np.float32), 44_100)
    async with opened(native) as (client, created):
        audio = base64.b64encode(sound).decode()
        await client.send({"type": "push_chunk", "audio": audio})
        await client.send({"type": "input.commit"})
        frames = await client.until("response.done")
        check([created, *frames])
        assert kinds(frames)[0] == "input.committed"
        assert frames[0]["audio_end_ms"] in range(999, 1_002)
        [heard] = of("input.transcribed", frames)
        assert heard["transcript"] == "What is the capital of France?"
        assert heard["realtime_item_id"] == frames[0]["realtime_item_id"]


async def test_silence_is_committed_and_answered_by_listening(native: RunningServer) -> None:
    async with opened(native) as (client, _):
        await client.append(SILENCE)
        await client.send({"type": "input_audio_buffer.commit"})
        committed, listen = await pause(client)
        assert (committed["type"], committed["is_speech"]) == ("input.committed", False)
        assert (listen["type"], listen["reason"]) == ("response.listen", "silence_or_noise")


async def test_input_is_cleared_or_cancelled(native: RunningServer) -> None:
    async with opened(native) as (client, _):
        for kind, told in (
            ("input_audio_buffer.clear", "input_audio_buffer.cleared"),
            ("input.cancel", "input.cancelled"),
        ):
            await client.append(SPEECH)
            await client.send({"type": kind})
            assert kinds(await pause(client)) == [told]


# --- answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "encoding", "rate", "bytes_"),
    [({}, "pcm16", 24_000, 57_600), ({"output_audio_format": "g711_ulaw"}, "g711_ulaw", 8_000, 9_600)],
)
async def test_an_answer_is_words_and_audio_in_the_format_that_was_asked_for(
    native: RunningServer, wanted: dict[str, Any], encoding: str, rate: int, bytes_: int
) -> None:
    async with opened(native, **wanted) as (client, created):
        frames = await answer(client)
        check([created, *frames])
        deltas = of("response.output_audio.delta", frames)
        assert {(delta["format"], delta["sample_rate_hz"]) for delta in deltas} == {(encoding, rate)}
        assert sum(len(base64.b64decode(delta["audio"])) for delta in deltas) == bytes_
        said = "Paris has been the capital since the tenth century."
        assert "".join(delta["text"] for delta in deltas) == said
        assert of("response.output_item.done", frames)[0]["text"] == said
        assert deltas[-1]["audio_duration_ms"] == 1_200
        assert (frames[-1]["status"], frames[-1]["reason"]) == ("completed", None)


async def test_an_answer_that_is_cut_off_ends_as_cancelled_and_nothing_of_it_comes_after(
    native: RunningServer,
) -> None:
    async with opened(native) as (client, created):
        frames = [created, *await answer(client)]
        frames += await answer(client, "response.output_audio.delta")
        await client.send({"type": "barge_in"})
        frames += await client.until("audio.cancelled")
        end = frames[-1]
        assert (end["reason"], end["epoch"]) == ("barge_in", end["cancelled_epoch"] + 1)
        failing = await answer(client)
        check([*frames, *failing])
        assert not [one for one in failing if one.get("response_id") == end["response_id"]]
        [error] = of("error", failing)
        assert (error["code"], error["error"]) == ("out_of_tune", "no string is")
        assert (failing[-1]["status"], failing[-1]["reason"]) == ("failed", "out_of_tune")


# --- all else ---------------------------------------------------------------------------------------------


async def test_what_was_played_is_acknowledged_and_what_was_not_heard_is_cut(native: RunningServer) -> None:
    async with opened(native) as (client, _):
        done = (await answer(client))[-1]
        item, response = done["item_id"], done["response_id"]
        await client.send({"type": "audio.playback_ack", "played_ms": 800, "response_id": response})
        [told] = await pause(client)
        assert (told["type"], told["item_id"], told["committed_ms"], told["history_committed"]) == (
            "playback.acknowledged",
            item,
            800,
            True,
        )
        await client.send({"type": "conversation.item.truncate", "item_id": item, "audio_end_ms": 500})
        truncated, told = await pause(client)
        assert (truncated["type"], truncated["audio_end_ms"]) == ("conversation.item.truncated", 500)
        assert (told["committed_ms"], told["truncate"]) == (500, True)
        await client.send({"type": "conversation.item.retrieve", "item_id": item})
        shown = (await client.next("conversation.item.retrieved"))["item"]
        assert shown["content"][0]["transcript"] == "Paris has been"
        await client.send({"type": "conversation.item.delete", "item_id": item})
        assert (await client.next("conversation.item.deleted"))["item_id"] == item


async def test_what_cannot_be_done_is_a_flat_error_that_names_the_clients_frame(
    native: RunningServer,
) -> None:
    async with opened(native) as (client, created):
        for frame, code in (
            ({"type": "response.cancel"}, "response_not_active"),
            ({"type": "sing"}, "unknown_event"),
            ({"type": "session.create"}, "session_exists"),
            ({"type": "session.resume"}, "unsupported_session_resume"),
            ({"type": "input_audio_buffer.append", "audio": "###"}, "bad_audio"),
        ):
            await client.send({**frame, "event_id": "mine"})
            [error] = await pause(client)
            assert (error["type"], error["code"], error["client_event_id"]) == ("error", code, "mine")
        assert (await client_session(client))["id"] == created["session"]["id"]


async def client_session(client: Wire) -> dict[str, Any]:
    await client.send({"type": "session.update", "session": {}})
    return dict((await client.next("session.updated"))["session"])


@pytest.mark.parametrize("frame", [{"type": "close_session"}, {"type": "signal_turn", "event": "close"}])
async def test_a_client_that_closes_hears_so_and_why(native: RunningServer, frame: dict[str, Any]) -> None:
    async with opened(native) as (client, created):
        await client.send(frame)
        last = await client.next()
        assert (last["type"], last["reason"]) == ("session.closed", "client_close")
        assert last["session_id"] == created["session"]["id"]
        with pytest.raises(ConnectionClosed):
            await client.next()
        assert (client.socket.close_code, client.socket.close_reason) == (1000, "client_close")


async def test_everything_a_client_was_sent_can_be_projected_again(native: RunningServer) -> None:
    async with opened(native, output_audio_format="g711_alaw") as (client, created):
        done = (await answer(client))[-1]
        await client.send({"type": "playback.ack", "played_ms": 900, "response_id": done["response_id"]})
        await answer(client, "response.output_audio.delta")
        await client.send({"type": "barge_in"})
        await client.until("audio.cancelled")
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    verdict = verify(log_of(native), SessionId(created["session"]["id"]))
    assert verdict.same
    assert not verdict.unknown
    assert verdict.frames > 15
