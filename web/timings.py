"""How long answers take, as histograms: what projections/measures.py says of each, when it is complete.

Two clocks, never mixed: what stages measured of themselves, observed when the answer has ended, and what the
server saw, observed when it is reported that the first audio was handed to a client.

It is told of every event of every session, so most of them must cost nothing: of the pieces of an answer only
the first of each operation is looked at (they say whose the stage's measurements are), and where input comes
in pieces only the first of the answer.
"""

from __future__ import annotations

from msgspec.structs import replace
from prometheus_client import CollectorRegistry, Counter

from antiphon.actors.session_loop import Watch
from antiphon.events.envelope import Stored
from antiphon.events.ids import Operation, ResponseId
from antiphon.events.vocabulary import (
    AudioSpoken,
    Event,
    FramesSent,
    InputCommitted,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    SessionOpened,
    StageMeasured,
    TextSpoken,
    ToolCalled,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)
from antiphon.projections.measures import Measures, Unspoken, step

from .durations import Durations

FIRST = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
TOKEN = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)

_PIECES = (AudioSpoken, TextSpoken)
_NOTED: frozenset[type[Event]] = frozenset(
    {
        SessionOpened, WriterOpened, InputCommitted, UnitSubmitted, UnitCompleted, UnitRefused, FramesSent,
        ResponseCreated, AudioSpoken, TextSpoken, ToolCalled, ModelListened, StageMeasured, ResponseEnded,
    }
)  # fmt: skip


class Timings:
    """Of all sessions of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, documentation: str, bounds: tuple[float, ...]) -> Durations:
            made = Durations(f"antiphon_{name}_seconds", documentation, bounds)
            registry.register(made)
            return made

        stage = "on the stage's clock"
        self.first_token = histogram(
            "stage_time_to_first_token", f"From being asked to the first token, {stage}", FIRST
        )
        self.first_sound = histogram(
            "stage_time_to_first_audio", f"From being asked to the first audio, {stage}", FIRST
        )
        self.per_token = histogram(
            "stage_time_per_output_token", f"Mean time between an answer's tokens, {stage}", TOKEN
        )
        self.between_tokens = histogram(
            "stage_inter_token_latency", f"From one token to the next, {stage}", TOKEN
        )
        self.first_audio = histogram(
            "response_first_audio",
            "From the beginning of an answer to its first audio in a client's socket, on the server's clock",
            FIRST,
        )
        self.after_commit = histogram(
            "commit_to_first_audio",
            "From the end of the user's words to the first audio in a client's socket, on the server's clock",
            FIRST,
        )
        self.ended = Counter("antiphon_responses", "Answers that ended", ["outcome"], registry=registry)

    def watch(self) -> Watch:
        """For one session, from its first event on or from wherever it is gone on with."""
        return _Watched(self).note


class _Watched:
    """One session's answers under way."""

    def __init__(self, timings: Timings) -> None:
        self._timings = timings
        self._measures = Measures()
        self._operation = Operation(-1)
        self._pieces_of: ResponseId | None = None

    def note(self, stored: Stored) -> None:
        event = stored.event
        if type(event) not in _NOTED or (isinstance(event, _PIECES) and not self._is_news(event)):
            return
        before, self._measures = self._measures, step(self._measures, stored)
        if type(event) is ResponseEnded:
            self._complete(event)
        elif type(event) is FramesSent:
            for audio in event.audio:
                self._sent(before, audio.response, audio.first_mono_ns)

    def _is_news(self, event: AudioSpoken | TextSpoken) -> bool:
        if event.operation == self._operation:
            return False
        if self._measures.by_pieces and event.response == self._pieces_of:
            return False
        self._operation, self._pieces_of = event.operation, event.response
        return True

    def _complete(self, event: ResponseEnded) -> None:
        timings, answer = self._timings, self._measures.of(event.response)
        timings.ended.labels(event.outcome).inc()
        # Only of what is under way does anything have to be known.
        self._measures = replace(self._measures, settled=(), unspoken=Unspoken())
        if answer is None:
            return
        if answer.first_token_ms is not None:
            timings.first_token.observe(answer.first_token_ms / 1000)
        if answer.first_sound_ms is not None:
            timings.first_sound.observe(answer.first_sound_ms / 1000)
        if answer.gaps_us:
            timings.per_token.observe(sum(answer.gaps_us) / len(answer.gaps_us) / 1e6)
        for gap in answer.gaps_us:
            timings.between_tokens.observe(gap / 1e6)

    def _sent(self, before: Measures, response: ResponseId, first_ns: int) -> None:
        answer = before.of(response)
        if answer is None or answer.sent_ns is not None or answer.created_ns is None:
            return
        self._timings.first_audio.observe(max(first_ns - answer.created_ns, 0) / 1e9)
        if answer.commit_ns is not None:
            self._timings.after_commit.observe(max(first_ns - answer.commit_ns, 0) / 1e9)
