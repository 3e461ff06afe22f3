"""An account of what was asked of the stages and not answered, kept from the facts alone.

It shares no code with the core: what the core computes as `outstanding` is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from antiphon.actors.session import effects as e
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored

Named = set[tuple[Any, ...]]


class Books:
    """Asked minus answered, event by event."""

    def __init__(self) -> None:
        self.opened: v.SessionOpened | None = None
        self.over = False
        self.let_go: set[str] = set()
        self.refused: set[str] = set()
        self.detecting = False
        self.recognitions: dict[int, v.UnitSubmitted] = {}
        self.committed: set[str] = set()
        self.speaking: dict[int, v.UnitSubmitted] = {}
        self.started: set[int] = set()
        self.away: set[str] = set()
        self.endings: list[int] = []
        self.pieces: dict[int, int] = {}
        """Input not yet answered by a continuously hearing model: seq and where it ends."""
        self.units: dict[int, v.UnitSubmitted] = {}
        self.void = -1
        """The unit that a cancel overtook, until the next one."""
        self.proposed: list[int] = []
        """Generations of the configurations that are not settled, and whether the first was put to the stage."""
        self.put = False
        self.broken = False
        """A unit failed, and the client has not said more."""
        self.appended = 0
        self.scored = 0

    # --- entering -----------------------------------------------------------------------------------------

    def enter(self, stored: Stored) -> None:
        event = stored.event
        getattr(self, f"_{type(event).__name__}", lambda *_: None)(event, stored.seq)

    def _SessionOpened(self, event: v.SessionOpened, seq: int) -> None:
        self.opened = event
        self.detecting = event.config.turn_detection is not None

    def _ConfigProposed(self, event: v.ConfigProposed, seq: int) -> None:
        self.proposed.append(event.generation)

    def _ConfigRefused(self, event: v.ConfigRefused, seq: int) -> None:
        self._settled(event.generation)

    def _settled(self, generation: int | None) -> None:
        if self.proposed and self.proposed[0] == generation:
            self.put = False
        if generation in self.proposed:
            self.proposed.remove(generation)

    def _SessionConfigured(self, event: v.SessionConfigured, seq: int) -> None:
        self._settled(event.generation)
        before, self.detecting = self.detecting, event.config.turn_detection is not None
        if before != self.detecting:
            self.scored = max(self.scored, self.appended)

    def _SessionClosed(self, event: v.Event, seq: int) -> None:
        self.over = True

    _SessionExpired = _SessionFailed = _SessionClosed

    def _StageReleased(self, event: Any, seq: int) -> None:
        self.let_go.add(event.stage)

    def _StageLost(self, event: v.StageLost, seq: int) -> None:
        self.let_go.add(event.stage)
        self.away.discard(event.stage)

    def _StageAway(self, event: v.StageAway, seq: int) -> None:
        self.away.add(event.stage)

    def _StageReturned(self, event: v.StageReturned, seq: int) -> None:
        self.away.discard(event.stage)

    def _WriterOpened(self, event: v.WriterOpened, seq: int) -> None:
        self.away.clear()

    def _StageRefused(self, event: v.StageRefused, seq: int) -> None:
        self.refused.add(event.stage)

    def _InputAppended(self, event: v.InputAppended, seq: int) -> None:
        self.appended = event.until_sample
        self.broken = False
        if self.opened is not None and not self.opened.abilities.unit_ms:
            self.pieces[seq] = event.until_sample

    def _VoiceScored(self, event: v.VoiceScored, seq: int) -> None:
        self.scored = max(self.scored, event.until_sample)

    def _SpeechStarted(self, event: v.SpeechStarted, seq: int) -> None:
        self._forget_uncommitted(but="")

    def _SpeechStopped(self, event: v.SpeechStopped, seq: int) -> None:
        if event.by != "voice":
            self.scored = max(self.scored, self.appended)

    def _InputCleared(self, event: v.InputCleared, seq: int) -> None:
        self.scored = max(self.scored, self.appended)
        self._forget_uncommitted(but="")

    def _InputCommitted(self, event: v.InputCommitted, seq: int) -> None:
        if event.by == "client":
            self.scored = max(self.scored, self.appended)
        if event.outcome in ("silence", "acknowledgement"):
            self._forget_uncommitted(but="")
            return
        self._forget_uncommitted(but=event.item)
        self.committed.add(event.item)

    def _InputTranscribed(self, event: v.InputTranscribed, seq: int) -> None:
        self.committed.discard(event.item)
        for op in [op for op, asked in self.recognitions.items() if asked.item == event.item]:
            del self.recognitions[op]

    def _UnitSubmitted(self, event: v.UnitSubmitted, seq: int) -> None:
        if event.work == "recognise":
            for op in [op for op, asked in self.recognitions.items() if asked.item == event.item]:
                del self.recognitions[op]
            self.recognitions[seq] = event
        elif event.work == "turn":
            self.endings.append(seq)
        elif event.work == "unit":
            assert not self.units, "two units at a time"
            self.units[seq] = event
            self.void = -1
        elif event.work == "configure":
            assert not self.units, "a configuration overtakes a unit"
            self.put = True
        else:
            self.speaking[seq] = event

    def _UnitCompleted(self, event: Any, seq: int) -> None:
        self.recognitions.pop(event.operation, None)
        self.units.pop(event.operation, None)
        if event.operation in self.endings:
            self.endings.remove(event.operation)

    def _UnitRefused(self, event: v.UnitRefused, seq: int) -> None:
        if event.operation in self.units or event.operation == self.void:
            self.broken = event.code not in ("stale_fence", "stage_lost")
        asked = (*self.recognitions, *self.speaking, *self.endings)
        if event.operation not in asked:  # a piece of input that a continuously hearing model failed at
            for piece in [piece for piece in self.pieces if piece <= event.operation]:
                del self.pieces[piece]
        self._UnitCompleted(event, seq)

    def _ResponseCreated(self, event: v.ResponseCreated, seq: int) -> None:
        self.broken = False

    def _EffectStarted(self, event: v.EffectStarted, seq: int) -> None:
        self.started.add(event.operation)

    def _ResponseEnded(self, event: v.ResponseEnded, seq: int) -> None:
        for op in [op for op, asked in self.speaking.items() if asked.response == event.response]:
            del self.speaking[op]

    def _EpochAdvanced(self, event: v.EpochAdvanced, seq: int) -> None:
        self.endings.clear()
        self.pieces.clear()
        self.void = next(iter(self.units), -1)
        self.units.clear()

    def _heard_up_to(self, event: Any, seq: int) -> None:
        if event.operation in self.pieces:
            for piece in [piece for piece in self.pieces if piece <= event.operation]:
                del self.pieces[piece]

    _ModelListened = _TextSpoken = _AudioSpoken = _StageOutputDropped = _heard_up_to
    _StageMeasured = _AnswerRouted = _ToolCalled = _TurnEnded = _heard_up_to

    def _forget_uncommitted(self, *, but: str) -> None:
        for op, asked in list(self.recognitions.items()):
            if asked.item not in self.committed and asked.item != but:
                del self.recognitions[op]

    # --- the balance --------------------------------------------------------------------------------------

    def open(self) -> Named:
        if self.opened is None:
            return set()
        able = self.opened.abilities
        held = ({"model", "voice"} if able.detects_voice else {"model"}) - self.let_go - self.away
        asked: Named = {("open", stage) for stage in held}
        if self.over:
            return asked | {("close", stage) for stage in held}
        asked |= {("close", stage) for stage in held & self.refused}
        if self.detecting and self.scored < self.appended:
            asked.add(("hear again", "voice", self.scored))
        if able.hears == "continuously" and self.pieces:
            asked.add(("hear again", "model", min(self.pieces)))
        asked |= {("recognise", op, u.from_sample, u.until_sample) for op, u in self.recognitions.items()}
        asked |= {("end turn", op) for op in self.endings}
        asked |= {
            ("unit", op, unit.from_sample, unit.until_sample, unit.silence, unit.final)
            for op, unit in self.units.items()
        }
        asked |= {("configure", self.proposed[0])} if self.put else set()
        return asked | {("answer", op) for op in self.speaking if op not in self.started}


def named(asked: Iterable[e.Effect], books: Books) -> Named:
    """The core's effects in the words of this account."""
    return {_name(effect, books) for effect in asked}


def _name(effect: e.Effect, books: Books) -> tuple[Any, ...]:
    match effect:
        case e.OpenStage(stage):
            return ("open", stage)
        case e.HearAgain("voice", _, after, _):
            return ("hear again", "voice", after)
        case e.HearAgain("model", _, after, _):  # named by the first piece that it gives again
            return ("hear again", "model", min(piece for piece in books.pieces if piece > after))
        case e.Recognise(operation, _, start, until):
            return ("recognise", operation, start, until)
        case e.SubmitUnit(operation, _, start, until, silence, final):
            return ("unit", operation, start, until, silence, final)
        case e.ProposeConfig(_, generation, _):
            return ("configure", generation)
        case e.EndTurn(operation):
            return ("end turn", operation)
        case e.Answer(operation):
            return ("answer", operation)
        case e.CloseStage(stage):
            return ("close", stage)
    raise AssertionError(f"nobody asks again for {effect}")
