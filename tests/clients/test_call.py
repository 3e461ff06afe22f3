"""Calls over a real socket to a server that follows a script, and to the real one."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from antiphon.clients.call import CallLost, CallRefused, NoAnswer, connect
from bench.ports import free_port
from tests.clients.fake_server import SESSION, Line, fake_server
from tests.serving import RunningServer

SHORT = b"\1\0" * 2400


async def test_a_question_is_spoken_and_its_answer_comes_back() -> None:
    def script(line: Line) -> None:
        line.greet()
        line.await_event("input_audio_buffer.append")
        line.answer("Who?", "Me.", b"\2\0" * 480)
        line.listen_until_hung_up()

    with fake_server(script) as url:
        async with connect(url) as call:
            exchange = await call.ask(SHORT)
    assert (exchange.question, exchange.answer) == ("Who?", "Me.")
    assert bytes(exchange.audio) == b"\2\0" * 480
    assert exchange.speech_ended - exchange.speech_begun == pytest.approx(0.1)


async def test_transcripts_are_switched_on_and_the_callers_settings_kept() -> None:
    asked: list[dict[str, Any]] = []

    def script(line: Line) -> None:
        line.say("session.created", session=SESSION)
        asked.append(line.await_event("session.update")["session"])
        line.say("session.updated", session={**SESSION, "instructions": "Be brief."})

    with fake_server(script) as url:
        async with connect(url, session={"instructions": "Be brief."}) as call:
            assert call.session["instructions"] == "Be brief."
    assert asked == [
        {
            "type": "realtime",
            "instructions": "Be brief.",
            "audio": {"input": {"transcription": {"model": "whisper-1"}}},
        }
    ]


async def test_where_turns_are_not_detected_the_turn_is_closed_after_the_last_sample() -> None:
    heard = bytearray()

    def script(line: Line) -> None:
        line.greet({"type": "realtime", "audio": {"input": {"turn_detection": None}}})
        line.await_event("input_audio_buffer.commit")
        for event in line.received:
            if event["type"] == "input_audio_buffer.append":
                heard.extend(base64.b64decode(event["audio"]))
        line.answer("", "Yes.", b"")
        line.listen_until_hung_up()

    with fake_server(script) as url:
        async with connect(url) as call:
            assert not call.detects_turns
            exchange = await call.ask(SHORT)
    assert exchange.answer == "Yes."
    assert heard.startswith(SHORT)


async def test_no_server_is_a_refusal() -> None:
    with pytest.raises(CallRefused) as refused:
        async with connect(f"ws://127.0.0.1:{free_port()}/v1/realtime"):
            pass
    assert refused.value.code == "unreachable"


async def test_the_key_travels_in_a_header_and_a_wrong_one_is_refused_by_the_servers_code() -> None:
    with fake_server(lambda line: line.greet(), key="right") as url:
        async with connect(url, key="right"):
            pass
        with pytest.raises(CallRefused) as refused:
            async with connect(url, key="wrong"):
                pass
    assert refused.value.code == "invalid_api_key"


async def test_a_server_that_is_full_refuses_after_the_handshake() -> None:
    def script(line: Line) -> None:
        line.say("error", error={"type": "rate_limit_error", "code": "resource_exhausted", "message": "full"})
        line.socket.close(1013)

    with fake_server(script) as url, pytest.raises(CallRefused) as refused:
        async with connect(url):
            pass
    assert refused.value.code == "resource_exhausted"


async def test_a_call_that_ends_in_the_middle_says_how() -> None:
    def script(line: Line) -> None:
        line.greet()
        line.socket.close(1012, "restart")

    with fake_server(script) as url:
        async with connect(url) as call:
            with pytest.raises(CallLost) as lost:
                await call.ask(SHORT)
    assert lost.value.close_code == 1012


async def test_what_came_of_an_answer_that_is_late_is_not_lost() -> None:
    def script(line: Line) -> None:
        line.greet()
        line.say("input_audio_buffer.committed")
        line.say("response.created", response={})
        line.say("response.output_audio_transcript.delta", delta="Well")
        line.listen_until_hung_up()

    with fake_server(script) as url:
        async with connect(url) as call:
            with pytest.raises(NoAnswer) as late:
                await call.ask(SHORT, wait_s=0.1)
    assert late.value.exchange.answer == "Well"


async def test_an_answer_in_a_pause_of_the_speaker_waits_for_the_end_of_the_phrase() -> None:
    def script(line: Line) -> None:
        line.greet()
        line.await_event("input_audio_buffer.append")
        line.answer("One", "Early.", b"")
        line.await_event("input_audio_buffer.append")
        line.answer("two", "Late.", b"")
        line.listen_until_hung_up()

    with fake_server(script) as url:
        async with connect(url) as call:
            exchange = await call.ask(SHORT)
    assert (exchange.question, exchange.answer) == ("One two", "Late.")


async def test_the_real_server_plays_a_tone_back(echo_server: RunningServer) -> None:
    async with connect(
        f"ws://127.0.0.1:{echo_server.port}/v1/realtime",
        session={"audio": {"input": {"turn_detection": None}}},
    ) as call:
        exchange = await call.ask(SHORT)
    assert exchange.status == "completed"
    assert bytes(exchange.audio).startswith(SHORT)
