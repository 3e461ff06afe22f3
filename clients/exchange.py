"""One question and its answer, as a client sees them come in: words, sound, and when each thing happened.

Times are seconds of `time.monotonic()`. An answer that was cut off and begun anew, because the speaker went
on after a pause, counts from the last turn: its words are joined, its sound is the last answer's.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

RATE = 24_000
BYTES_PER_SECOND = RATE * 2


@dataclass(frozen=True, slots=True)
class Event:
    """A frame of the server and when it arrived."""

    at: float
    type: str
    body: dict[str, Any]


@dataclass(slots=True)
class Exchange:
    """Filled by `note`. A time is None until the thing has happened."""

    speech_begun: float
    """When the first sample of the question was spoken, and the last: the sender's own clock."""
    speech_ended: float
    speech_started: float | None = None
    """The server first noticed speech."""
    speech_stopped: float | None = None
    committed: float | None = None
    """The turn was closed; from here on the user waits for the answer."""
    response_id: str | None = None
    response_created: float | None = None
    first_audio: float | None = None
    last_audio: float | None = None
    response_done: float | None = None
    question: str = ""
    """What the server understood."""
    answer: str = ""
    audio: bytearray = field(default_factory=bytearray)
    status: str | None = None
    """How the answer ended: `completed`, `cancelled`, `incomplete` or `failed`."""
    errors: list[str] = field(default_factory=list)
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """When each piece of the answer's sound arrived, and its length in bytes."""
    hearing: bool = False
    """The server hears speech right now."""

    def note(self, event: Event) -> None:
        """Take an event into account. Those that say nothing of the exchange change nothing."""
        noted = _NOTED.get(event.type)
        if noted is not None:
            noted(self, event)

    @property
    def settled(self) -> bool:
        """Whether the last turn has been answered and the server hears no further speech."""
        if self.hearing or self.committed is None or self.response_done is None:
            return False
        return self.response_done >= self.committed

    @property
    def delay(self) -> float | None:
        """Seconds from the end of the turn to the first sound; None unless they came in that order."""
        if self.committed is None or self.first_audio is None or self.first_audio < self.committed:
            return None
        return self.first_audio - self.committed

    @property
    def audio_seconds(self) -> float:
        return len(self.audio) / BYTES_PER_SECOND

    def underruns(self) -> list[float]:
        """The gaps, in seconds, that a player without a buffer would have; see `gaps`."""
        return gaps(self.arrivals)


def gaps(arrivals: Sequence[tuple[float, int]]) -> list[float]:
    """How long a player that starts with the first piece has nothing to play, each time that happens.

    It plays at real time: a piece of n bytes lasts n / 48 000 seconds, and one that arrives after everything
    before it has been played makes a gap.
    """
    found: list[float] = []
    played_until: float | None = None
    for at, length in arrivals:
        if played_until is None:
            played_until = at
        elif at > played_until:
            found.append(at - played_until)
            played_until = at
        played_until += length / BYTES_PER_SECOND
    return found


def _speech_started(exchange: Exchange, event: Event) -> None:
    exchange.hearing = True
    if exchange.speech_started is None:
        exchange.speech_started = event.at


def _speech_stopped(exchange: Exchange, event: Event) -> None:
    exchange.hearing = False
    exchange.speech_stopped = event.at


def _committed(exchange: Exchange, event: Event) -> None:
    exchange.committed = event.at


def _transcribed(exchange: Exchange, event: Event) -> None:
    said = str(event.body["transcript"]).strip()
    exchange.question = f"{exchange.question} {said}".strip()


def _created(exchange: Exchange, event: Event) -> None:
    exchange.response_id = event.body["response"].get("id")
    exchange.response_created = event.at
    exchange.first_audio = exchange.last_audio = exchange.response_done = exchange.status = None
    exchange.answer = ""
    exchange.audio.clear()
    exchange.arrivals.clear()


def _audio(exchange: Exchange, event: Event) -> None:
    piece = base64.b64decode(event.body["delta"])
    if exchange.first_audio is None:
        exchange.first_audio = event.at
    exchange.last_audio = event.at
    exchange.audio += piece
    exchange.arrivals.append((event.at, len(piece)))


def _words(exchange: Exchange, event: Event) -> None:
    exchange.answer += event.body["delta"]


def _done(exchange: Exchange, event: Event) -> None:
    exchange.response_done = event.at
    exchange.status = event.body["response"]["status"]


def _error(exchange: Exchange, event: Event) -> None:
    exchange.errors.append(str(event.body["error"].get("code")))


_NOTED: dict[str, Callable[[Exchange, Event], None]] = {
    "input_audio_buffer.speech_started": _speech_started,
    "input_audio_buffer.speech_stopped": _speech_stopped,
    "input_audio_buffer.committed": _committed,
    "conversation.item.input_audio_transcription.completed": _transcribed,
    "response.created": _created,
    "response.output_audio.delta": _audio,
    "response.output_audio_transcript.delta": _words,
    "response.output_text.delta": _words,
    "response.done": _done,
    "error": _error,
}
