"""The duplex client in conversation with the real server, on a real port; a stub where one must misbehave."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from antiphon.clients.duplex import (
    AudioFormat,
    DuplexClient,
    DuplexClientError,
    DuplexConnectionError,
    DuplexOverflowError,
    DuplexProtocolError,
    DuplexSessionClosedError,
    ReconnectPolicy,
    ResponseHandle,
    SessionConfig,
    presets,
)
from antiphon.clients.duplex import events as e
from antiphon.clients.duplex import response as response_module
from antiphon.clients.duplex.answers import UNTAKEN
from antiphon.clients.duplex.recent import KEPT
from antiphon.media.pcm import to_pcm
from bench.ports import free_port
from tests import certificates
from tests.clients.resuming_stub import resuming_stub
from tests.duplex.conversing import ends, model, sound, speaks
from tests.serving import RunningServer, running

SCRIPT = Path(__file__).parent.parent / "web" / "duplex_script.toml"
SPEECH = to_pcm((0.3 * np.sin(np.arange(16_000) / 8)).astype(np.float32))
"""A second at 16 kHz."""
ASKED = SessionConfig(auto_response=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A model that is asked at the end of a turn. Its first answer of a session is whole, its second is not
    finished before it is cancelled, its third fails."""
    folder = tmp_path_factory.mktemp("scripted")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


def client(server: RunningServer, config: SessionConfig = ASKED) -> DuplexClient:
    return DuplexClient(server.base, config=config)


async def second_answer(one: DuplexClient) -> ResponseHandle:
    """The one that goes on until it is cancelled."""
    await one.send_text("Which is the capital?")
    await (await anext(one.responses())).wait()
    await one.send_text("And before?")
    return await anext(one.responses())


FIRST = "Paris has been the capital since the tenth century."


async def test_an_answer_comes_whole_and_what_was_taken_was_heard(server: RunningServer) -> None:
    async with client(server) as one:
        await one.send_text("Which is the capital?")
        answer = await anext(one.responses())
        pcm = b"".join([piece async for piece in answer.audio("when_taken")])
        assert (answer.decision, answer.status, answer.transcript) == ("speak", "completed", FIRST)
        assert len(pcm) == one.config.output_audio.byte_count(1200)
        assert answer.played_ms == answer.audio_ms == 1200
        told = await one.wait_for("playback.acknowledged")
        while told.event.committed_ms < 1200:  # type: ignore[attr-defined]
            told = await one.wait_for("playback.acknowledged")
        item = answer.done_event.response["output"][0]["id"]  # type: ignore[union-attr]
        await one.send({"type": "conversation.item.retrieve", "item_id": item})
        kept = await one.wait_for("conversation.item.retrieved")
        assert isinstance(kept, e.ItemEvent)
        assert kept.item["content"][0]["transcript"] == FIRST


async def test_every_event_of_a_conversation_has_its_class(server: RunningServer) -> None:
    async with client(server) as one:
        await one.stream_pcm(SPEECH, realtime=False)
        await one.commit(create_response=True)
        heard: list[e.Event] = []
        async for event in one:
            heard.append(event)
            if event.type == "rate_limits.updated":
                break
    for event in heard:
        assert type(event) is e.KINDS.get(event.type, e.Event)
        assert event.type in e.KINDS or event.type in e.RAW, event.type
        assert event.raw["type"] == event.type
    assert len({event.type for event in heard}) > 15
    numbers = [event.server_event_seq for event in heard if event.server_event_seq is not None]
    assert numbers == sorted(set(numbers))


async def test_who_breaks_in_is_believed_to_have_heard_what_was_played_and_no_more(
    server: RunningServer,
) -> None:
    async with client(server) as one:
        answer = await second_answer(one)
        audio = answer.audio()
        await anext(audio)
        await anext(audio)
        assert answer.played_ms <= 400
        await one.barge_in()
        assert answer.interrupted
        assert [piece async for piece in audio] == []
        heard_ms = answer.played_ms
        await answer.wait()
        assert (answer.status, answer.played_ms) == ("cancelled", heard_ms)
        await one.send({"type": "session.heartbeat"})
        committed = [0]
        async for event in one.events():
            if isinstance(event, e.PlaybackAcknowledged) and event.event.response_id == answer.response_id:
                committed.append(event.event.committed_ms)
            if event.type == "session.heartbeat_ack":
                break
        assert committed[-1] == heard_ms


async def test_a_server_that_interrupts_stops_the_player(server: RunningServer) -> None:
    async with client(server) as one:
        answer = await second_answer(one)
        await one.cancel_response(answer.response_id)
        taken = b"".join([piece async for piece in answer.audio("never")])
        await answer.wait()
        assert (answer.status, answer.interrupted, answer.played_ms) == ("cancelled", True, 0)
        assert one.config.output_audio.duration_ms(taken) + answer.discarded_ms == answer.audio_ms


async def test_an_error_names_its_command_and_is_raised_where_it_came(server: RunningServer) -> None:
    async with client(server) as one:
        event_id = await one.commit()
        with pytest.raises(DuplexProtocolError) as refused:
            await anext(one.responses())
        assert (refused.value.code, refused.value.event_id) == ("input_audio_buffer_empty", event_id)
        with pytest.raises(DuplexProtocolError):
            await one.wait_for("input_audio_buffer.committed")
        await one.send_text("Which is the capital?")
        assert (await (await anext(one.responses())).wait()).transcript == FIRST


async def test_a_failed_answer_ends_as_failed(server: RunningServer) -> None:
    async with client(server) as one:
        answers = one.responses()
        answer = await second_answer(one)
        await one.cancel_response()
        await answer.wait()
        await one.send_text("And now?")
        answer = await anext(answers)
        with pytest.raises(DuplexProtocolError) as failed:
            await anext(answers)
        assert failed.value.code == "out_of_tune"
        assert (await answer.wait()).status == "failed"


async def test_a_model_that_listens_and_speaks_as_it_decides(tmp_path: Path) -> None:
    units = (speaks(), ends())
    with model(tmp_path, *units) as serving:
        asked = SessionConfig(input_audio=AudioFormat("pcm16", 24_000))
        async with DuplexClient(serving.base, config=asked) as one:
            assert one.session_info["capabilities"]["supports_model_native_turn_policy"]
            assert await one.stream_pcm(sound(5000, 600), realtime=False) == 3
            answers = one.responses()
            spoken = await anext(answers)
            assert spoken.decision == "speak"
            await spoken.wait()
            assert spoken.transcript.startswith("heard ")


async def test_a_session_that_the_server_will_not_open_says_why(server: RunningServer) -> None:
    wrong = SessionConfig(overlap_policy="barge_in_on_speech")
    with pytest.raises(DuplexProtocolError) as refused:
        await client(server, wrong).connect()
    assert refused.value.code == "unsupported_turn_detection"


async def test_no_server_is_no_connection() -> None:
    with pytest.raises(DuplexConnectionError):
        await DuplexClient(f"ws://127.0.0.1:{free_port()}", handshake_timeout_s=5).connect()


async def test_a_server_that_says_nothing_is_not_waited_for_ever() -> None:
    async with await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(DuplexConnectionError):
            await DuplexClient(f"ws://127.0.0.1:{port}", handshake_timeout_s=0.1).connect()


async def test_the_key_travels_in_a_header_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"ANTIPHON_KEYS": "right"}) as serving:
        async with DuplexClient(serving.base, api_key="right") as one:
            assert one.session_id is not None
        with pytest.raises(DuplexProtocolError) as refused:
            await DuplexClient(serving.base, api_key="wrong").connect()
        assert refused.value.code == "invalid_api_key"


async def test_a_certificate_is_checked_and_one_can_be_trusted(tmp_path: Path) -> None:
    files = certificates.make(tmp_path)
    with running(tmp_path / "data", *files.flags, trusted=files.certificate) as serving:
        trusting = ssl.create_default_context(cafile=str(files.certificate))
        async with DuplexClient(serving.base, tls=trusting) as one:
            assert one.session_id is not None
        with pytest.raises(DuplexConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            await DuplexClient(serving.base).connect()


async def test_no_proxy_is_asked_on_the_way_to_this_machine(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with client(server) as one:
        assert one.session_id is not None


async def test_no_compression_is_offered() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url):
        assert stub.headers is not None
        assert "Sec-WebSocket-Extensions" not in stub.headers


async def test_what_is_served_with_every_preset_that_the_server_can_run(server: RunningServer) -> None:
    async with client(server, presets.cascade("Be brief.")) as one:
        assert one.session_info["instructions"] == "Be brief."
        assert one.session_info["turn_detection"]["type"] == "server_vad"
    async with client(server, presets.nemotron()) as one:
        assert one.session_info["audio"]["output"]["format"]["rate"] == 22_050


# --- ends -------------------------------------------------------------------------------------------------


async def test_after_the_end_events_end_and_nothing_more_can_be_said(server: RunningServer) -> None:
    one = await client(server).connect()
    await one.close()
    assert [event.type async for event in one][-1] == "session.closed"
    assert [answer async for answer in one.responses()] == []
    with pytest.raises(DuplexSessionClosedError):
        await one.append_text("Hello?")
    await one.close()


async def test_what_the_block_ends_with_is_what_is_told(server: RunningServer) -> None:
    with pytest.raises(KeyError):
        async with client(server) as one:
            raise KeyError("mine")
    with pytest.raises(DuplexClientError):
        await one.commit()


async def test_a_client_that_closes_says_first_how_much_was_played(server: RunningServer) -> None:
    async with client(server) as one:
        await one.send_text("Which is the capital?")
        answer = await anext(one.responses())
        [_ async for _ in answer.audio("when_taken")]
    acknowledged = [event async for event in one if isinstance(event, e.PlaybackAcknowledged)]
    assert acknowledged[-1].event.committed_ms == 1200


# --- what there is no room for, and what is sent ----------------------------------------------------------


async def test_a_reader_that_is_too_slow_is_told_how_much_it_missed() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        for number in range(KEPT + 100):
            await stub.say("turn.event", event=str(number), turn_state="idle")
        await stub.say("session.heartbeat_ack")
        await one.wait_for("session.heartbeat_ack")
        missed = one.dropped_events
        events = one.events()
        told, next_ = await anext(events), await anext(events)
        assert told.type == "client.events_dropped"
        assert told.raw["count"] == one.dropped_events - missed == int(next_.raw["event"]) + 1 > 100


async def test_answers_that_nobody_takes_are_let_go_and_that_is_told() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        for number in range(UNTAKEN + 1):
            name = {"response_id": f"r{number}"}
            delta = {"item_id": "i", "delta": "AAAA", "metadata": {"audio_duration_ms": 10}}
            await stub.say("response.output_audio.delta", **name, **delta)
            await stub.say("response.done", **name, response={"status": "completed"})
        told = await one.wait_for("client.answers_dropped")
        assert (told.raw["response_id"], told.raw["audio_ms"]) == ("r0", 10)
        answers = one.responses()
        assert (await anext(answers)).response_id == "r1"


async def test_decisions_to_listen_do_not_push_out_an_answer() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        await stub.say("response.speak", response_id="r", item_id="i")
        for _ in range(UNTAKEN + 5):
            await stub.say("response.listen", response={"metadata": {"reason": "model_listen"}})
        await stub.say("session.heartbeat_ack")
        await one.wait_for("session.heartbeat_ack")
        answers = one.responses()
        assert (await anext(answers)).response_id == "r"
        listening = await anext(answers)
        assert (listening.decision, listening.finished) == ("listen", True)
        assert listening.listen_event is not None
        assert listening.listen_event.reason == "model_listen"


async def test_listening_at_the_end_does_not_take_back_that_it_spoke() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        for name, speaks_first in (("a", True), ("b", False)):
            await stub.say("response.created", response_id=name, response={})
            if speaks_first:
                await stub.say(
                    "response.output_audio_transcript.delta", response_id=name, item_id="i", delta="Hm."
                )
            await stub.say("response.listen", response_id=name, response={})
            await stub.say("response.done", response_id=name, response={"status": "completed"})
        answers = one.responses()
        decisions = [(await (await anext(answers)).wait()).decision for _ in range(2)]
        assert decisions == ["speak", "listen"]


async def test_audio_beyond_what_an_answer_keeps_is_a_gap_that_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response_module, "MOST_AUDIO_BYTES", 5)
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        for _ in range(3):
            await stub.say("response.output_audio.delta", response_id="r", item_id="i", delta="AAAA")
        await stub.say("response.done", response_id="r", response={"status": "completed"})
        answer = await (await anext(one.responses())).wait()
        audio = answer.audio("when_taken")
        assert await anext(audio) == bytes(3)
        with pytest.raises(DuplexOverflowError) as overflow:
            await anext(audio)
        assert (overflow.value.what, overflow.value.lost_bytes) == ("audio", 6)


async def test_a_frame_that_cannot_be_read_is_told_and_the_next_one_is() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        await stub.reply("turn.event", event=7)
        plain = await one.wait_for("turn.event")
        assert (type(plain), plain.raw["event"]) == (e.Event, 7)
        await stub.raw("{")
        assert (await one.wait_for("client.unreadable")).raw["text"] == "{"
        await stub.say("something.new", more=1)
        assert (await one.wait_for("something.new")).raw["more"] == 1


async def test_a_recording_is_sent_in_pieces_with_an_image_to_each_second() -> None:
    image = b"\xff\xd8\xff"
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        sent = await one.stream_pcm(SPEECH * 2 + b"\1\0", 400, realtime=False, images=[image] * 5)
        await one.commit()
        await stub.until(lambda: stub.accepted[-1]["type"] == "input_audio_buffer.commit")
        appended = stub.accepted[1:-1]
        assert len(appended) == sent == 6
        assert b"".join(base64.b64decode(one["audio"]) for one in appended) == SPEECH * 2 + b"\1\0"
        assert [len(one.get("video_frames", [])) for one in appended] == [1, 0, 0, 1, 0, 1]


async def test_a_recording_takes_as_long_to_send_as_to_speak() -> None:
    async with resuming_stub() as stub, DuplexClient(stub.url) as one:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await one.stream_pcm(SPEECH[:3200], 20)
        assert loop.time() - began >= 0.1


async def test_reconnecting_is_a_policy(server: RunningServer) -> None:
    async with DuplexClient(server.base, reconnect=ReconnectPolicy(max_attempts=1), config=ASKED) as one:
        assert one.is_attached
