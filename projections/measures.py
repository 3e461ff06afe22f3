"""How long answers took, by response and by session: a fold over the log.

Two clocks, never mixed. The *stage's* is what a stage measured of itself (StageMeasured): first token, first
audio, the time from one token to the next. The *server's* is when events were stored and audio was handed to
the client's socket. A client's own clock is the client's business.

A measurement belongs to the operation that it names, and so to the response which that operation spoke for,
whether it comes before the response is created or after. One whose operation spoke for nobody (a unit that
the model only listened to) stays with the units and is never the next response's. Monotonic times are
compared within one boot of the machine only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.envelope import Stored
from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.vocabulary import (
    AudioSpoken,
    Event,
    FramesSent,
    InputAppended,
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

RECENT = 8
"""Responses of which something may still be heard: audio that is sent late, a measurement that comes late."""
REMEMBERED = 64
"""Operations and commits that are looked back at."""
MOST_GAPS = 16_384
"""Intervals between tokens that are kept of one response, and of all units without one."""


class Answer(Struct, frozen=True, kw_only=True):
    """One response. `*_ns` is the server's monotonic clock; None: it did not happen, or in another boot."""

    response: ResponseId
    turn: int
    created_ns: int | None
    commit_ns: int | None = None
    """When the input that it answers was committed."""
    asked_ns: int | None = None
    """When what its first output answers was given to the stage: a unit, a piece, a question."""
    first_output_ns: int | None = None
    first_audio_ns: int | None = None
    last_audio_ns: int | None = None
    sent_ns: int | None = None
    """When the first audio was handed to a client."""
    samples: int = 0
    outcome: str | None = None
    output_tokens: int = 0
    first_token_ms: int | None = None
    first_sound_ms: int | None = None
    gaps_us: tuple[int, ...] = ()


class Unspoken(Struct, frozen=True):
    """What was measured of operations that spoke for no response."""

    first_token_ms: tuple[int, ...] = ()
    gaps_us: tuple[int, ...] = ()
    recognise_ms: tuple[int, ...] = ()


class Measures(Struct, frozen=True):
    """The state of the fold. `settled` and then `recent` are the responses in the order they were created."""

    settled: tuple[Answer, ...] = ()
    recent: tuple[Answer, ...] = ()
    unspoken: Unspoken = Unspoken()
    asked: tuple[tuple[Operation, int], ...] = ()
    owners: tuple[tuple[Operation, ResponseId], ...] = ()
    pending: tuple[StageMeasured, ...] = ()
    """Of operations that are not known yet to speak for anybody."""
    commits: tuple[tuple[ItemId, int], ...] = ()
    commit_ns: int | None = None
    """The latest commit that no response has answered yet."""
    by_pieces: bool = False
    boot: str = ""

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (*self.settled, *self.recent)

    def of(self, response: ResponseId) -> Answer | None:
        """A response by its id."""
        for answer in reversed(self.recent):
            if answer.response == response:
                return answer
        return next((answer for answer in self.settled if answer.response == response), None)


def step(measures: Measures, stored: Stored) -> Measures:
    fold = _FOLDS.get(type(stored.event))
    return measures if fold is None else fold(measures, stored.event, stored)


def _changed(measures: Measures, response: ResponseId, change: Callable[[Answer], Answer]) -> Measures:
    """With one of the recent responses changed; what is said of an older one is too late."""
    recent = measures.recent
    for k in range(len(recent) - 1, -1, -1):
        if recent[k].response == response:
            changed = change(recent[k])
            return replace(measures, recent=(*recent[:k], changed, *recent[k + 1 :]))
    return measures


# --- what is asked ----------------------------------------------------------------------------------------


def _opened(measures: Measures, event: SessionOpened, stored: Stored) -> Measures:
    abilities = event.abilities
    return replace(measures, by_pieces=abilities.hears == "continuously" and not abilities.unit_ms)


def _writer(measures: Measures, event: WriterOpened, stored: Stored) -> Measures:
    """After another boot no earlier time means anything: what is under way is not timed any more."""
    if measures.boot in ("", event.boot):
        return replace(measures, boot=event.boot)
    recent = tuple(
        answer if answer.outcome else replace(answer, created_ns=None, commit_ns=None, asked_ns=None)
        for answer in measures.recent
    )
    return replace(measures, boot=event.boot, recent=recent, asked=(), commits=(), commit_ns=None)


def _appended(measures: Measures, event: InputAppended, stored: Stored) -> Measures:
    if not measures.by_pieces:
        return measures
    given = (Operation(stored.seq), stored.at.mono_ns)
    return replace(measures, asked=(*measures.asked[1 - REMEMBERED :], given))


def _submitted(measures: Measures, event: UnitSubmitted, stored: Stored) -> Measures:
    operation = Operation(stored.seq)
    asked = (*measures.asked[1 - REMEMBERED :], (operation, stored.at.mono_ns))
    if event.work != "speak" or event.response is None:
        return replace(measures, asked=asked)
    return _owned(replace(measures, asked=asked), operation, event.response)


def _committed(measures: Measures, event: InputCommitted, stored: Stored) -> Measures:
    if event.outcome in ("silence", "acknowledgement"):
        return measures
    at_ns = stored.at.mono_ns
    commits = (*measures.commits[1 - REMEMBERED :], (event.item, at_ns))
    return replace(measures, commits=commits, commit_ns=at_ns)


# --- what is answered -------------------------------------------------------------------------------------


def _created(measures: Measures, event: ResponseCreated, stored: Stored) -> Measures:
    commit_ns = measures.commit_ns
    if event.answers is not None:
        commit_ns = next((at_ns for item, at_ns in measures.commits if item == event.answers), None)
    answer = Answer(
        response=event.response, turn=event.fence.turn, created_ns=stored.at.mono_ns, commit_ns=commit_ns
    )
    old = len(measures.recent) - RECENT + 1
    return replace(
        measures,
        settled=(*measures.settled, *measures.recent[:old]) if old > 0 else measures.settled,
        recent=(*measures.recent[max(old, 0) :], answer),
        commit_ns=None,
    )


def _spoke(measures: Measures, event: AudioSpoken | TextSpoken | ToolCalled, stored: Stored) -> Measures:
    at_ns, asked = stored.at.mono_ns, measures.asked

    def later(answer: Answer) -> Answer:
        if answer.first_output_ns is None:
            given = next((given_ns for operation, given_ns in asked if operation == event.operation), None)
            answer = replace(answer, first_output_ns=at_ns, asked_ns=given)
        if type(event) is not AudioSpoken:
            return answer
        first_ns = at_ns if answer.first_audio_ns is None else answer.first_audio_ns
        samples = max(answer.samples, event.until_sample)
        return replace(answer, first_audio_ns=first_ns, last_audio_ns=at_ns, samples=samples)

    measures = _changed(measures, event.response, later)
    if measures.owners and measures.owners[-1][0] == event.operation:
        return measures
    return _owned(measures, event.operation, event.response)


def _owned(measures: Measures, operation: Operation, response: ResponseId) -> Measures:
    """The operation speaks for `response`: so does what was measured of it."""
    if (operation, response) in measures.owners:
        return measures
    measures = replace(measures, owners=(*measures.owners[1 - REMEMBERED :], (operation, response)))
    for measured in measures.pending:
        if measured.operation == operation:
            measures = _credited(measures, measured, response)
    return _forgotten(measures, operation)


def _ended(measures: Measures, event: ResponseEnded, stored: Stored) -> Measures:
    outcome, tokens = event.outcome, event.usage.output_tokens
    return _changed(
        measures, event.response, lambda answer: replace(answer, outcome=outcome, output_tokens=tokens)
    )


def _sent(measures: Measures, event: FramesSent, stored: Stored) -> Measures:
    for audio in event.audio:
        first_ns = audio.first_mono_ns

        def handed_over(answer: Answer, first_ns: int = first_ns) -> Answer:
            return answer if answer.sent_ns is not None else replace(answer, sent_ns=first_ns)

        measures = _changed(measures, audio.response, handed_over)
    return measures


# --- what was measured ------------------------------------------------------------------------------------


def _measured(measures: Measures, event: StageMeasured, stored: Stored) -> Measures:
    if event.name == "recognise_ms":
        return _unspoken(measures, event)
    for operation, response in reversed(measures.owners):
        if operation == event.operation:
            return _credited(measures, event, response)
    return replace(measures, pending=(*measures.pending[1 - REMEMBERED :], event))


def _credited(measures: Measures, event: StageMeasured, response: ResponseId) -> Measures:
    def more(answer: Answer) -> Answer:
        if event.name == "first_token_ms" and answer.first_token_ms is None:
            return replace(answer, first_token_ms=event.value_ms)
        if event.name == "first_audio_ms" and answer.first_sound_ms is None:
            return replace(answer, first_sound_ms=event.value_ms)
        if event.name == "token_gaps_ms":
            return replace(answer, gaps_us=(*answer.gaps_us, *event.each_us)[:MOST_GAPS])
        return answer

    return _changed(measures, response, more)


def _over(measures: Measures, event: UnitCompleted | UnitRefused | ModelListened, stored: Stored) -> Measures:
    """The operation has ended. What was measured of it, and of nobody's words, is the unit's own."""
    if not measures.pending:
        return measures
    for measured in measures.pending:
        if measured.operation == event.operation:
            measures = _unspoken(measures, measured)
    return _forgotten(measures, event.operation)


def _unspoken(measures: Measures, event: StageMeasured) -> Measures:
    own = measures.unspoken
    match event.name:
        case "recognise_ms":
            own = replace(own, recognise_ms=(*own.recognise_ms, event.value_ms))
        case "first_token_ms":
            own = replace(own, first_token_ms=(*own.first_token_ms, event.value_ms))
        case "token_gaps_ms":
            own = replace(own, gaps_us=(*own.gaps_us, *event.each_us)[-MOST_GAPS:])
    return replace(measures, unspoken=own)


def _forgotten(measures: Measures, operation: Operation | None) -> Measures:
    if not measures.pending:
        return measures
    left = tuple(measured for measured in measures.pending if measured.operation != operation)
    return replace(measures, pending=left)


_FOLDS: dict[type[Event], Callable[[Measures, Any, Stored], Measures]] = {
    SessionOpened: _opened,
    WriterOpened: _writer,
    InputAppended: _appended,
    InputCommitted: _committed,
    UnitSubmitted: _submitted,
    ResponseCreated: _created,
    AudioSpoken: _spoke,
    TextSpoken: _spoke,
    ToolCalled: _spoke,
    ResponseEnded: _ended,
    FramesSent: _sent,
    StageMeasured: _measured,
    UnitCompleted: _over,
    UnitRefused: _over,
    ModelListened: _over,
}
