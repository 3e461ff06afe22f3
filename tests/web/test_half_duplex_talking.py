"""Half-duplex calls with the real models, over a real port: spoken questions, spoken answers."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import InputTranscribed, ResponseCreated
from antiphon.replay.verify import verify
from bench.words import edits, normal
from tests.serving import RunningServer

from .phone import Phone, of, phone, question, silence, sound

pytestmark = pytest.mark.cascade

ANSWER_S = 60.0


def log_of(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda answer: answer())


def understood(server: RunningServer, name: str) -> list[str]:
    events = (stored.event for stored in log_of(server).read(SessionId(name)))
    return [event.text for event in events if isinstance(event, InputTranscribed)]


async def asks(client: Phone, *parts: np.ndarray) -> list[dict[str, Any]]:
    """Say that at the pace of speech; every frame up to the end of the answer."""
    spoken = np.concatenate(parts)
    for start in range(0, len(spoken), 8_000):
        await client.chunk(spoken[start : start + 8_000])
        await asyncio.sleep(0.5)
    async with asyncio.timeout(ANSWER_S):
        return await client.until("turn_done")


async def test_a_spoken_question_is_answered_in_speech_and_the_record_gives_the_same_frames(
    cascade_server: RunningServer,
) -> None:
    from antiphon.actors.stages.cascade.recogniser import Recogniser

    async with phone(cascade_server, "talk_whole") as client:
        await client.begin()
        frames = await asks(client, silence(0.5), question(), silence(1.5))
        await client.send({"type": "stop"})
        await client.next("stopped")
    assert [one["speaking"] for one in of("vad_state", frames)] == [True, False]
    (text,) = understood(cascade_server, "talk_whole")
    assert edits(normal("What is the capital of France?"), normal(text)) <= 1
    answer = frames[-1]["text"]
    heard = Recogniser().text((np.clip(sound(frames), -1, 1) * 32767).astype("<i2").tobytes())
    assert edits(normal(answer), normal(heard)) <= max(2, len(normal(answer)) // 3)
    assert verify(log_of(cascade_server), SessionId("talk_whole")).same


async def test_a_pause_shorter_than_the_silence_is_within_a_question(cascade_server: RunningServer) -> None:
    spoken = question()
    half = len(spoken) // 2
    async with phone(cascade_server, "talk_pause") as client:
        await client.begin()
        frames = await asks(client, silence(0.5), spoken[:half], silence(0.4), spoken[half:], silence(1.5))
        assert len(of("generating", frames)) == 1
        await client.send({"type": "stop"})
        await client.next("stopped")
    assert len(understood(cascade_server, "talk_pause")) == 1


async def test_noise_is_no_question(cascade_server: RunningServer) -> None:
    """Clicks, as of a keyboard, and a hiss: at the usual threshold nobody has spoken."""
    rng = np.random.default_rng(7)
    noise = 0.02 * rng.standard_normal(4 * 16_000).astype(np.float32)
    for start in rng.integers(0, len(noise) - 200, 40):
        noise[start : start + 160] += 0.5 * rng.standard_normal(160).astype(np.float32)
    async with phone(cascade_server, "talk_noise") as client:
        await client.begin()
        await client.speak(np.clip(noise, -1, 1))
        frames = await asks(client, question(), silence(1.5))
        await client.send({"type": "stop"})
        await client.next("stopped")
    assert [one["speaking"] for one in of("vad_state", frames)] == [True, False]


async def test_two_callers_at_one_stage_do_not_hear_each_other(cascade_server: RunningServer) -> None:
    """One asks at once, the other says the same with a pause before it; each is understood, and answered."""

    async def call(name: str, wait_s: float) -> list[dict[str, Any]]:
        async with phone(cascade_server, name) as client:
            await client.begin()
            frames = await asks(client, silence(0.5 + wait_s), question(), silence(1.5))
            await client.send({"type": "stop"})
            await client.next("stopped")
            return frames

    both = await asyncio.gather(call("talk_one", 0.0), call("talk_two", 0.7))
    lengths = [of("generating", frames)[0]["speech_duration_ms"] for frames in both]
    assert abs(lengths[0] - lengths[1]) <= 64, "two windows"
    for name in ("talk_one", "talk_two"):
        (text,) = understood(cascade_server, name)
        assert edits(normal("What is the capital of France?"), normal(text)) <= 1
        events = [stored.event for stored in log_of(cascade_server).read(SessionId(name))]
        assert sum(isinstance(event, ResponseCreated) for event in events) == 1
        assert verify(log_of(cascade_server), SessionId(name)).same
