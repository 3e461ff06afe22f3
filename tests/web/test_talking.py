"""Spoken conversations with the real models, over a real port: by the `openai` SDK and by our own client."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from antiphon.clients import call as calls
from antiphon.clients.exchange import Event, Exchange
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import SpeechStarted, VoiceScored
from antiphon.media.pcm import Float32, to_pcm
from bench.questions import Question, questions, with_noise, with_pause
from bench.words import edits, normal
from tests.serving import RunningServer

from .test_openai_sdk import append, audio_of, connected, until

pytestmark = pytest.mark.cascade


def errors(said: str, heard: str) -> int:
    """Words to change, drop or add to make one of the other."""
    return edits(normal(said), normal(heard))


@pytest.fixture(scope="module")
def recogniser() -> Any:
    """The same recogniser, in this process, to hear what the server said."""
    from antiphon.actors.stages.cascade.recogniser import Recogniser

    return Recogniser()


async def test_a_spoken_question_is_answered_in_speech_through_the_sdk(
    cascade_server: RunningServer, recogniser: Any
) -> None:
    question = questions("synthesised")[0]
    heard = {"audio": {"input": {"transcription": {"model": "any"}}}}
    async with connected(cascade_server, **heard) as connection:
        await append(connection, question.pcm() + bytes(48_000))
        events = await until(connection, "response.done")
    [understood] = [e.transcript for e in events if e.type.endswith("input_audio_transcription.completed")]
    assert errors(question.text, understood) <= 1
    answer = events[-1].response.output[0].content[0].transcript
    spoken = audio_of(events)
    assert len(spoken) > 24_000
    assert errors(answer, recogniser.text(spoken)) <= max(2, len(normal(answer)) // 3)


def human() -> list[Question]:
    return questions("human")


@pytest.mark.parametrize("question", human(), ids=lambda question: question.file)
async def test_human_speech_is_understood_also_in_noise(
    cascade_server: RunningServer, question: Question
) -> None:
    for samples in (question.samples(), with_noise(question.samples(), snr_db=10)):
        exchange = await say(cascade_server, samples)
        assert errors(question.text, exchange.question) <= max(3, len(normal(question.text)) // 4)
        assert exchange.audio


@pytest.mark.parametrize("question", human(), ids=lambda question: question.file)
async def test_a_pause_inside_a_sentence_does_not_end_the_turn(
    cascade_server: RunningServer, question: Question
) -> None:
    exchange = await say(cascade_server, with_pause(question.samples(), pause_ms=350))
    assert errors(question.text, exchange.question) <= max(3, len(normal(question.text)) // 4)


async def say(server: RunningServer, samples: Float32) -> Exchange:
    url = f"ws://127.0.0.1:{server.port}/v1/realtime"
    async with calls.connect(url) as call:
        return await call.ask(to_pcm(samples))


async def test_speaking_into_an_answer_stops_it_and_the_history_is_what_was_heard(
    cascade_server: RunningServer,
) -> None:
    first, second = questions("synthesised")[2:4]
    url = f"ws://127.0.0.1:{cascade_server.port}/v1/realtime"
    async with calls.connect(url) as call, call.microphone() as microphone:
        microphone.say(first.pcm())
        seen: list[Event] = []
        interrupted = False
        async for event in call.events():
            seen.append(event)
            if event.type == "response.output_audio.delta" and not interrupted:
                microphone.say(second.pcm())
                interrupted = True
            if interrupted and event.type == "input_audio_buffer.speech_started":
                break
        item = next(e.body["item"]["id"] for e in seen if e.type == "response.output_item.added")
        await call.send({"type": "conversation.item.retrieve", "item_id": item})
        retrieved = (await call.expect("conversation.item.retrieved"))["item"]
    said = "".join(e.body["delta"] for e in seen if e.type == "response.output_audio_transcript.delta")
    heard = retrieved["content"][0]["transcript"]
    assert said.startswith(heard)
    assert len(heard) < len(said)


async def test_a_burst_of_noise_is_scored_and_is_no_speech(cascade_server: RunningServer) -> None:
    rng = np.random.default_rng(7)
    burst = np.concatenate([np.zeros(12_000), rng.normal(scale=0.3, size=2_400), np.zeros(36_000)])
    url = f"ws://127.0.0.1:{cascade_server.port}/v1/realtime"
    async with calls.connect(url) as call:
        session = SessionId(call.session["id"])
        await call.append(to_pcm(burst.astype(np.float32)))
        store = SegmentLog(cascade_server.data, deliver=lambda answer: answer())

        def scored() -> bool:
            ends = [s.event.until_sample for s in store.read(session) if isinstance(s.event, VoiceScored)]
            return bool(ends) and ends[-1] >= len(burst) - 768

        await asyncio.to_thread(cascade_server.wait_until, scored)
        assert not [s for s in store.read(session) if isinstance(s.event, SpeechStarted)]
