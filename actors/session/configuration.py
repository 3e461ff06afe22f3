"""The configuration: merged, numbered, and, where the stage must agree, proposed and then settled.

An update counts as a whole or not at all. A stage that confirms is asked in order: what was heard before the
update is given to it first, by the old configuration, and nothing is given to it between the question and its
answer. One update is with the stage at a time; later ones build on it, so that if it is refused they are, too
(`session_update_aborted`). `generation` counts the configurations that held.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.events.ids import Operation
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    Config,
    ConfigProposed,
    ConfigRefused,
    Event,
    SessionConfigured,
    TurnDetection,
    UnitSubmitted,
    WriterOpened,
)

from .answers import updates_aborted
from .commands import Configure, RecordStage
from .refusals import (
    Backpressure,
    InstructionsAreFixed,
    InvalidValue,
    ModelIsFixed,
    Refused,
    Unsupported,
    UpdateAborted,
    VoiceDetectorMissing,
    VoiceIsFixed,
    VoiceWasHeard,
)
from .state import Proposal, Session

MODALITIES = (("audio",), ("text",), ("audio", "text"), ("text", "audio"))

MOST_WAITING = 8
"""Updates that may wait for the stage at once."""

FIXED: dict[str, type[Refused]] = {
    "instructions": InstructionsAreFixed,
    "voice": VoiceIsFixed,
    "temperature": Unsupported,
    "max_output_tokens": Unsupported,
    "engine": Unsupported,
}

MEMBERS = (
    "instructions",
    "voice",
    "output_modalities",
    "turn_detection",
    "transcription",
    "max_output_tokens",
    "temperature",
    "model",
    "auto_response",
    "overlap",
    "playback",
    "tools",
    "tool_choice",
    "engine",
)


def configure(state: Session, command: Configure, at: Moment) -> list[Event]:
    """Merge what was given into the configuration; all of it or nothing."""
    present = state.proposals[-1].config if state.proposals else state.config
    given = {name: getattr(command, name) for name in MEMBERS if getattr(command, name) is not UNSET}
    _check(state, present, command)
    config = _consistent(replace(present, echo=merged(present.echo, command.echo), **given))
    generation = state.generation + len(state.proposals) + 1
    if not state.abilities.confirms_config:
        return [SessionConfigured(config=config, client_event=command.client_event, generation=generation)]
    if state.units.broken:
        raise UpdateAborted("a unit before the update did not reach the stage")
    if len(state.proposals) >= MOST_WAITING:
        raise Backpressure(f"{MOST_WAITING} updates wait already")
    return [ConfigProposed(config=config, generation=generation, client_event=command.client_event)]


def _check(state: Session, present: Config, command: Configure) -> None:
    detection, modalities = command.turn_detection, command.output_modalities
    if isinstance(detection, TurnDetection) and not state.abilities.detects_voice:
        raise VoiceDetectorMissing(
            "this server has no voice detector: set turn_detection to null and commit yourself",
            parameter="session.audio.input.turn_detection",
        )
    if modalities is not UNSET and modalities not in MODALITIES:
        raise InvalidValue(
            'output_modalities is ["audio"], ["text"], or both', parameter="session.output_modalities"
        )
    if command.model not in (UNSET, present.model) and present.model:
        raise ModelIsFixed(f"the session runs {present.model}", parameter="session.model")
    if present.strict and state.abilities.unit_ms and not state.abilities.confirms_config:
        _check_fixed(present, command)
    heard = present.strict and any(played.generated for played in state.played)
    if heard and command.voice not in (UNSET, present.voice):
        raise VoiceWasHeard("the voice cannot change once it was heard", parameter="session.voice")


def _check_fixed(present: Config, command: Configure) -> None:
    """What a stage was opened by, and cannot be told anew."""
    for name, refusal in FIXED.items():
        given = getattr(command, name)
        if given is not UNSET and given != getattr(present, name):
            told = f"the stage keeps the {name} that the session was opened with"
            raise refusal(told, parameter=f"session.{name}")


def _consistent(config: Config) -> Config:
    """Without server VAD nobody is interrupted by what is heard; with it, everybody is."""
    if config.overlap is None:
        return config
    policy: Any = "listen_only" if config.turn_detection is None else "barge_in_on_speech"
    return replace(config, overlap=replace(config.overlap, policy=policy))


def merged(old: dict[str, object], new: dict[str, object]) -> dict[str, object]:
    """`new` over `old`, member by member; a list or a scalar replaces."""
    result = dict(old)
    for key, value in new.items():
        before = result.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        result[key] = merged(before, value) if both else value  # type: ignore[arg-type]
    return result


# --- what the stage says of it ----------------------------------------------------------------------------


def settle(state: Session, command: RecordStage, at: Moment) -> list[Event]:
    """The stage took the configuration, or would not. What it says twice, or of another one, is nothing."""
    asked = state.proposals[0] if state.proposals and state.phase == "open" else None
    if asked is None or asked.operation is None or asked.generation != command.generation:
        return []
    if command.what == "configured":
        config = asked.config
        if not state.abilities.detects_voice:  # the detector went meanwhile
            config = _consistent(replace(config, turn_detection=None))
        return [
            SessionConfigured(config=config, client_event=asked.client_event, generation=asked.generation)
        ]
    refused = ConfigRefused(
        code=command.code,
        message=command.message,
        client_event=asked.client_event,
        generation=asked.generation,
    )
    return [refused, *updates_aborted(state.proposals[1:])]


def put(state: Session) -> UnitSubmitted | None:
    """The earliest update, if it has not been put to the stage."""
    if not state.proposals or state.proposals[0].operation is not None:
        return None
    return UnitSubmitted(work="configure", fence=state.fence)


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    waiting = state.proposals
    match event:
        case ConfigProposed(config=config, generation=generation, client_event=asked):
            proposed = Proposal(generation, config, state.buffer.appended, asked)
            return replace(state, proposals=(*waiting, proposed))
        case UnitSubmitted(work="configure") if waiting:
            first = replace(waiting[0], operation=Operation(state.seq), asked_mono_ns=at.mono_ns)
            return replace(state, proposals=(first, *waiting[1:]))
        case SessionConfigured(config=config, generation=generation):
            left = tuple(proposal for proposal in waiting if proposal.generation != generation)
            return replace(state, config=config, generation=generation, proposals=left)
        case WriterOpened(boot=boot) if boot != state.boot and waiting:
            first = replace(waiting[0], asked_mono_ns=at.mono_ns)
            return replace(state, proposals=(first, *waiting[1:]))
        case ConfigRefused(generation=generation) if generation is not None:
            left = tuple(proposal for proposal in waiting if proposal.generation != generation)
            return replace(state, proposals=left)
        case _:
            return state
