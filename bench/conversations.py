"""Spoken questions put to a server by real clients, and what a listener would notice of the answers.

A question is heard through a microphone that is always on, in frames of 40 ms that leave when their last
sample has been spoken. Where speech begins and ends in a recording is measured, not assumed: the first and
the last 20 ms that are less than 30 dB below its loudest.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from antiphon.clients.call import Call, CallError, connect
from antiphon.clients.exchange import RATE, Exchange
from bench.questions import Question, speech_end

TURN_EVERY_S = 10.0
"""In conversations that run at once, each speaker asks this often."""


class Asked(Struct, frozen=True):
    """A question and its answer. Times in seconds; None for what did not happen in the order it should."""

    file: str
    text: str
    heard: str = ""
    answer: str = ""
    status: str | None = None
    commit_to_audio: float | None = None
    speech_to_audio: float | None = None
    """From the end of speech as measured in the recording to the answer's first sound."""
    onset_to_started: float | None = None
    """From the beginning of speech as measured in the recording to the server's speech_started."""
    streamed: float | None = None
    """How long the answer's sound kept coming in."""
    audio_s: float = 0.0
    underruns: tuple[float, ...] = ()
    failure: str | None = None


class BrokenInto(Struct, frozen=True):
    """An answer that the user spoke over."""

    onset_to_started: float | None
    started_to_last_audio: float | None
    """From speech_started to the last sound of that answer, 0 where none came after it."""
    cut: bool
    """Whether the answer was still being made; if not, there was nothing left to stop."""


class Recording:
    """A question as it is spoken, and where in it speech begins and ends, in seconds."""

    def __init__(self, question: Question) -> None:
        samples = question.samples()
        self.question, self.pcm = question, question.pcm()
        self.ends = speech_end(samples) / RATE
        # Read backwards, the end of speech is its beginning; 20 ms of rounding stay in the silence before it.
        self.begins = max(len(samples) - speech_end(np.ascontiguousarray(samples[::-1])), 0) / RATE

    def from_onset(self) -> bytes:
        return self.pcm[int(self.begins * RATE) * 2 :]


def asked(recording: Recording, exchange: Exchange) -> Asked:
    onset, end = exchange.speech_begun + recording.begins, exchange.speech_begun + recording.ends
    first, last = exchange.first_audio, exchange.last_audio
    return Asked(
        recording.question.file,
        recording.question.text,
        heard=exchange.question,
        answer=exchange.answer.strip(),
        status=exchange.status,
        commit_to_audio=exchange.delay,
        speech_to_audio=None if exchange.delay is None or first is None else first - end,
        onset_to_started=None if exchange.speech_started is None else exchange.speech_started - onset,
        streamed=None if first is None or last is None else last - first,
        audio_s=exchange.audio_seconds,
        underruns=tuple(exchange.underruns()),
        failure=None if exchange.status == "completed" and exchange.audio else f"status {exchange.status}",
    )


async def ask_alone(url: str, key: str | None, recording: Recording) -> Asked:
    """One question in a call of its own."""
    try:
        async with connect(url, key=key) as call:
            return asked(recording, await call.ask(recording.pcm))
    except CallError as error:
        return failed(recording, error)


def failed(recording: Recording, error: CallError) -> Asked:
    return Asked(recording.question.file, recording.question.text, failure=f"{type(error).__name__}: {error}")


async def break_in(url: str, key: str | None, recording: Recording, other: Recording) -> BrokenInto:
    """Ask, and speak again as soon as the answer's first sound is there. Raises CallError."""
    async with connect(url, key=key) as call, call.microphone() as microphone:
        phrase = microphone.say(recording.pcm)
        answer = Exchange(phrase.begun, phrase.ended)
        async for event in call.events():
            answer.note(event)
            if answer.first_audio is not None:
                break
        phrase = microphone.say(other.from_onset())
        return await _spoken_over(call, answer, Exchange(phrase.begun, phrase.ended))


async def _spoken_over(call: Call, answer: Exchange, over: Exchange) -> BrokenInto:
    """Follow both: `answer`, which has begun, and `over`, which is being said, until that is answered too."""
    cut, last_audio = False, answer.last_audio or 0.0
    async for event in call.events():
        over.note(event)
        if event.type == "response.output_audio.delta" and event.body["response_id"] == answer.response_id:
            last_audio = event.at
        if event.type == "response.done" and event.body["response"]["id"] == answer.response_id:
            cut = event.body["response"]["status"] == "cancelled"
        if over.settled:
            break
    started = over.speech_started
    if started is None:
        return BrokenInto(None, None, cut)
    return BrokenInto(started - over.speech_begun, max(last_audio - started, 0.0), cut)


async def converse(
    url: str, key: str | None, recordings: Sequence[Recording], turns: int, seed: int
) -> list[Asked]:
    """One of many conversations at once: questions in an order of its own, begun at a moment of its own."""
    chance = random.Random(seed)
    told: list[Asked] = []
    await asyncio.sleep(chance.uniform(0, TURN_EVERY_S))
    recording = recordings[0]
    try:
        async with connect(url, key=key) as call, call.microphone() as microphone:
            for recording in chance.sample(recordings, turns):
                began = time.monotonic()
                told.append(asked(recording, await call.answer(microphone.say(recording.pcm))))
                await asyncio.sleep(max(began + TURN_EVERY_S - time.monotonic(), 0))
    except CallError as error:
        told.append(failed(recording, error))
    return told
