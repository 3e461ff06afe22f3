"""A call turn by turn: who spoke, what was said, how long it took, how much was heard.

What the session decided is in it (by what a turn began, how it ended, where it was cut off), what was said,
and when. Times are ms since the call began, without what passed while nobody served it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.fence import BROKE_IN
from antiphon.actors.session.heard import heard_ms, heard_text
from antiphon.actors.session.state import Session
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.units import samples_to_ms

from .sources import Life
from .timeline import Timeline

Who = Literal["user", "assistant"]


class Turn(Struct, kw_only=True):
    """One turn. Of the user's, `from_sample` and `until_sample` are the input that it is; both 0: written.

    `how`: by what it was closed or asked for (`voice`, `client`, `text`; of an answer `asked`, `itself`).
    `waited_ms`: from the user's commit, or from its creation where it answers none, to the first audio, or
    the first words of one without. `outcome` and `reason`: of an answer, see ResponseEnded; of a spoken
    turn the outcome of its commit.
    """

    who: Who
    seq: int
    at_ms: int
    words: str = ""
    how: str = ""
    from_sample: int = 0
    until_sample: int = 0
    waited_ms: int | None = None
    audio_ms: int = 0
    heard_ms: int | None = None
    heard_words: str = ""
    outcome: str = ""
    reason: str = ""
    calls: tuple[str, ...] = ()
    """Functions that it called, with their arguments."""


class Course(Struct, frozen=True):
    """A call. `starts`: how often the detector heard the user begin; `interrupted`: how often
    the user broke in; `listened`: units to which the model chose to say nothing."""

    session: SessionId
    lasted_ms: int
    turns: tuple[Turn, ...]
    starts: int
    interrupted: int
    listened: int


def course_of(life: Life) -> Course:
    """Raises LogError for a log that is damaged or gone."""
    reading = _Reading(life.session)
    for stored in life.events():
        reading.read(stored)
    return reading.course()


class _Reading:
    def __init__(self, session: SessionId) -> None:
        self._state, self._timeline = Session(session), Timeline()
        self._at_ms = 0
        self._turns: list[Turn] = []
        self._spoken: dict[str, Turn] = {}
        """By item."""
        self._answers: dict[ResponseId, Turn] = {}
        self._committed_ms: int | None = None
        self._since_ms: dict[ResponseId, int] = {}
        self._starts = self._interrupted = self._listened = 0

    def read(self, stored: Stored) -> None:
        self._timeline.pass_(stored)
        self._at_ms = self._timeline.since_ns(stored.at.mono_ns) // 1_000_000
        self._state = refold(self._state, stored)
        read = _READERS.get(type(stored.event))
        if read is not None:
            read(self, stored, stored.event)

    def course(self) -> Course:
        for response, turn in self._answers.items():
            played = self._state.playback(response)
            if played is not None:
                turn.audio_ms = samples_to_ms(played.generated)
                turn.heard_ms = heard_ms(played, self._state.mono_ns)
                turn.heard_words = heard_text(played, self._state.mono_ns).strip()
            turn.words = turn.words.strip()
        return Course(
            session=self._state.id,
            lasted_ms=self._at_ms,
            turns=tuple(self._turns),
            starts=self._starts,
            interrupted=self._interrupted,
            listened=self._listened,
        )

    def _begin(self, turn: Turn) -> Turn:
        self._turns.append(turn)
        return turn

    def committed(self, stored: Stored, event: v.InputCommitted) -> None:
        self._committed_ms = self._at_ms
        self._spoken[event.item] = self._begin(
            Turn(
                who="user",
                seq=stored.seq,
                at_ms=self._at_ms,
                how=event.by,
                from_sample=event.from_sample,
                until_sample=event.until_sample,
                outcome=event.outcome,
            )
        )

    def transcribed(self, stored: Stored, event: v.InputTranscribed) -> None:
        turn = self._spoken.get(event.item)
        if turn is not None:
            turn.words, turn.reason = event.text.strip(), event.error or ""

    def added(self, stored: Stored, event: v.ItemAdded) -> None:
        item = event.item
        words = " ".join(part.text or f"[{part.kind}]" for part in item.content).strip()
        if item.role == "user" and item.kind == "message":
            self._begin(Turn(who="user", seq=stored.seq, at_ms=self._at_ms, words=words, how="text"))

    def created(self, stored: Stored, event: v.ResponseCreated) -> None:
        self._since_ms[event.response] = self._at_ms if self._committed_ms is None else self._committed_ms
        self._committed_ms = None
        how = "asked" if event.asked else "itself"
        self._answers[event.response] = self._begin(
            Turn(who="assistant", seq=stored.seq, at_ms=self._at_ms, how=how)
        )

    def words(self, stored: Stored, event: v.TextSpoken) -> None:
        turn = self._answers[event.response]
        turn.words += event.text
        created = self._state.playback(event.response)
        if created is not None and not created.audible:
            self._sounded(event.response)

    def sound(self, stored: Stored, event: v.AudioSpoken) -> None:
        self._sounded(event.response)

    def _sounded(self, response: ResponseId) -> None:
        turn = self._answers[response]
        if turn.waited_ms is None:
            turn.waited_ms = self._at_ms - self._since_ms[response]

    def called(self, stored: Stored, event: v.ToolCalled) -> None:
        turn = self._answers[event.response]
        turn.calls = (*turn.calls, f"{event.name}({event.arguments})")

    def ended(self, stored: Stored, event: v.ResponseEnded) -> None:
        turn = self._answers[event.response]
        turn.outcome, turn.reason = event.outcome, event.reason or ""

    def started(self, stored: Stored, event: v.SpeechStarted) -> None:
        self._starts += 1

    def moved(self, stored: Stored, event: v.EpochAdvanced) -> None:
        self._interrupted += event.reason in BROKE_IN

    def listened(self, stored: Stored, event: v.ModelListened) -> None:
        self._listened += event.reason == "model_listen"


_READERS: dict[type[v.Event], Callable[[_Reading, Stored, Any], None]] = {
    v.InputCommitted: _Reading.committed,
    v.InputTranscribed: _Reading.transcribed,
    v.ItemAdded: _Reading.added,
    v.ResponseCreated: _Reading.created,
    v.TextSpoken: _Reading.words,
    v.AudioSpoken: _Reading.sound,
    v.ToolCalled: _Reading.called,
    v.ResponseEnded: _Reading.ended,
    v.SpeechStarted: _Reading.started,
    v.EpochAdvanced: _Reading.moved,
    v.ModelListened: _Reading.listened,
}
