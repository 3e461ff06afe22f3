"""Effects: what the outside must do because of an event.

Derived from events and nothing else; each carries the operation id (the seq of the event that asked) and
the fence it belongs to. A new writer asks again what is `outstanding`, which follows from the state alone:
the stage recognises operations it already has, so asking twice does nothing twice. Audio is named by range
or by the event that holds it, never carried here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from antiphon.events.ids import Fence, Operation, Seq
from antiphon.events.vocabulary import (
    Config,
    EffectStarted,
    EpochAdvanced,
    Event,
    InputAppended,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    StageRefused,
    StageReturned,
    UnitSubmitted,
    WriterOpened,
)

from .commands import StageRole
from .history import conversation
from .question import Line
from .state import Session

STAGES: tuple[StageRole, ...] = ("model", "voice")


class Effect(Struct, frozen=True, gc=False):
    """Something to be done outside, after the event that asks for it is in the log."""


class OpenStage(Effect, frozen=True):
    stage: StageRole
    fence: Fence
    config: Config | None = None
    """Where the stage is not told of it with each answer."""
    past_units: int = 0
    """So many of the latest units are told with it, as they stand in the log."""


class Hear(Effect, frozen=True):
    """Give the audio of the InputAppended at seq `operation` to a stage."""

    stage: StageRole
    operation: Operation
    fence: Fence
    until_sample: int


class HearAgain(Effect, frozen=True):
    """Give a stage all input after `after` (a seq for the model, a sample for the voice detector).

    Only what stands before seq `before`: later input asks for itself.
    """

    stage: StageRole
    fence: Fence
    after: int
    before: int


class Recognise(Effect, frozen=True):
    operation: Operation
    fence: Fence
    from_sample: int
    until_sample: int


class SubmitUnit(Effect, frozen=True):
    """Give the model input [from, until), then `silence` samples of zeros, with the images at those seqs."""

    operation: Operation
    fence: Fence
    from_sample: int
    until_sample: int
    silence: int
    final: bool
    force_listen: bool
    images: tuple[Seq, ...]


class ProposeConfig(Effect, frozen=True):
    fence: Fence
    generation: int
    config: Config


class EndTurn(Effect, frozen=True):
    operation: Operation
    fence: Fence


class Answer(Effect, frozen=True):
    """Ask the model to answer the conversation as it was heard.

    `verbatim`, `sampling` and `endpoint`: see the contract's Speak.
    """

    operation: Operation
    fence: Fence
    conversation: tuple[Line, ...]
    instructions: str
    voice: str
    max_output_tokens: int | None
    temperature: float | None
    modalities: tuple[str, ...]
    speed: float | None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: Any = "auto"
    verbatim: bool = False
    sampling: dict[str, Any] = {}
    endpoint: str = ""


class CancelStage(Effect, frozen=True):
    fence: Fence
    next: Fence


class CloseStage(Effect, frozen=True):
    stage: StageRole
    fence: Fence
    reason: str


def _open(state: Session) -> list[Effect]:
    told = state.abilities.confirms_config or state.abilities.unit_ms
    config = state.config if told else None
    past = state.abilities.past_units if state.units.given else 0
    opened = {
        "model": OpenStage("model", state.fence, config, past),
        "voice": OpenStage("voice", state.fence),
    }
    return [opened[stage] for stage in STAGES if stage in state.holding]


def _close(state: Session, reason: str) -> list[Effect]:
    return [CloseStage(stage, state.fence, reason) for stage in STAGES if stage in state.holding]


def _let_go(state: Session, event: StageRefused) -> list[Effect]:
    """A detector that scores no more need not hold the session; a model that refuses ends it anyway."""
    return [CloseStage("voice", state.fence, event.code)] if event.stage == "voice" else []


def _hear(state: Session, event: InputAppended, operation: Operation) -> list[Effect]:
    heard: list[Effect] = []
    if state.config.turn_detection is not None:
        heard.append(Hear("voice", operation, state.fence, event.until_sample))
    if state.abilities.hears == "continuously" and not state.abilities.unit_ms:
        heard.append(Hear("model", operation, state.fence, event.until_sample))
    return heard


def _submit(state: Session, event: UnitSubmitted, operation: Operation) -> list[Effect]:
    match event.work:
        case "recognise":
            return [Recognise(operation, event.fence, event.from_sample, event.until_sample)]
        case "turn":
            return [EndTurn(operation, event.fence)]
        case "unit":
            return _unit(state)
        case "configure":
            return _propose(state)
        case _:
            return [] if state.abilities.must_not_repeat else _answer(state)


def _unit(state: Session) -> list[Effect]:
    """The unit that the stage has and has not ended."""
    unit = state.units.flight
    if unit is None:
        return []
    given = (unit.from_sample, unit.until, unit.silence, unit.final, unit.force_listen, unit.images)
    return [SubmitUnit(unit.operation, unit.fence, *given)]


def _propose(state: Session) -> list[Effect]:
    """The configuration that the stage was asked for and has not settled."""
    if not state.proposals or state.proposals[0].operation is None:
        return []
    return [ProposeConfig(state.fence, state.proposals[0].generation, state.proposals[0].config)]


def _answer(state: Session) -> list[Effect]:
    active = state.turns.active
    if active is None or active.operation is None:
        return []
    config, question = state.config, None if state.own is None else state.own.asks(state)
    instructions = config.instructions if active.instructions is None else active.instructions
    return [
        Answer(
            operation=active.operation,
            fence=active.fence,
            conversation=conversation(state) if question is None else question.conversation,
            instructions=instructions,
            voice=config.voice if active.voice is None else active.voice,
            max_output_tokens=active.max_output_tokens,
            temperature=config.temperature if active.temperature is None else active.temperature,
            modalities=active.modalities,
            speed=active.speed,
            tools=config.tools if state.abilities.calls_tools else (),
            tool_choice=config.tool_choice,
            verbatim=question is not None,
            sampling={} if question is None else question.sampling,
        )
    ]


Derive = Callable[[Session, Any, Operation], list[Effect]]  # each takes the event of its key

EFFECTS: dict[type[Event], Derive] = {
    WriterOpened: lambda state, event, seq: outstanding(state),
    SessionOpened: lambda state, event, seq: _open(state),
    InputAppended: _hear,
    UnitSubmitted: _submit,
    EffectStarted: lambda state, event, seq: _answer(state),
    EpochAdvanced: lambda state, event, seq: [CancelStage(event.cancelled, event.next)],
    StageRefused: lambda state, event, seq: _let_go(state, event),
    StageReturned: lambda state, event, seq: _ask_again(state, event.stage),
    SessionClosed: lambda state, event, seq: _close(state, event.reason),
    SessionExpired: lambda state, event, seq: _close(state, event.reason),
    SessionFailed: lambda state, event, seq: _close(state, event.code),
}


def _ask_again(state: Session, stage: str) -> list[Effect]:
    """What is outstanding at one stage; all that names none is the model's."""
    return [effect for effect in outstanding(state) if getattr(effect, "stage", "model") == stage]


def outstanding(state: Session) -> list[Effect]:
    """Everything asked for and not answered: what a new writer asks again.

    Not what must not run twice: the end of that is decided (turns.fail_interrupted), never asked again.
    """
    if state.phase == "new":
        return []
    if state.phase == "closed":
        return [*_open(state), *_close(state, "recovered")]  # it lets go only for whoever has opened it
    asked = _open(state)
    if "voice" in state.holding and not state.abilities.detects_voice:
        asked.append(CloseStage("voice", state.fence, "recovered"))
    if state.config.turn_detection is not None and state.voice.scored < state.buffer.appended:
        asked.append(HearAgain("voice", state.fence, state.voice.scored, state.seq))
    pieces = state.abilities.hears == "continuously" and not state.abilities.unit_ms
    if pieces and state.turns.listened < state.buffer.submitted:
        asked.append(HearAgain("model", state.fence, state.turns.listened, state.seq))
    for recognition in state.input.recognitions:
        if recognition.text is None:
            asked.append(
                Recognise(
                    recognition.operation,
                    recognition.fence,
                    recognition.from_sample,
                    recognition.until,
                )
            )
    asked.extend(EndTurn(ending.operation, state.fence) for ending in state.turns.endings)
    asked += [*_unit(state), *_propose(state)]
    started = state.turns.active is not None and state.turns.active.started
    return asked if started else [*asked, *_answer(state)]
