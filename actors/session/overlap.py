"""Overlaps: what becomes of input that comes while an answer is under way, or is still being played.

Decided only where the session asks for it (`config.overlap`), by the first rule of RULES that applies. Where
input streams the model hears everything and decides for itself, unless the client or the policy wants the
user let in. A chunk that is dropped counts as silence and takes nothing from what was said before.

Under server VAD the policy looks at the start of speech, not at chunks: the detector decides when it is one,
unless the client's own says so first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.units import Millis, Moment, Samples, samples_to_ms
from antiphon.events.vocabulary import Event, Overlap, OverlapDecided, ResponseCreated, SpeechStarted

from .commands import AppendAudio, OverlapHints
from .heard import may_be_heard
from .state import Session

Action = Literal["drop", "listen", "barge_in"]

STARTED = "server_vad_speech_started"
"""The rule by which a detector lets the user in, ours or the client's."""

ACKNOWLEDGEMENTS = frozenset((
    "yes", "yeah", "yep", "ok", "okay", "right", "sure", "continue", "go on", "go ahead", "mhm", "mm", "hmm",
    "uh-huh", "i see", "got it", "thanks", "ja", "genau", "weiter", "oui", "d'accord", "sí", "vale", "嗯",
    "嗯嗯", "好", "好的", "对", "是", "是的", "继续", "はい", "うん", "そう", "네", "응",
))  # fmt: skip
"""Words by which people say only that they listen."""


class Overlapping(Struct, frozen=True, gc=False):
    """A chunk of input over an answer. `detected`: a voice detector says when speech starts."""

    speech: bool
    hints: OverlapHints
    policy: str
    streams: bool
    detected: bool

    @property
    def under_way(self) -> bool:
        """Whether a chunk alone lets nobody in: speech began earlier, or a detector says when it does."""
        return self.detected or self.hints.speech_started is False


def _asked_for(one: Overlapping) -> tuple[Action, str] | None:
    return None if one.hints.action is None else (one.hints.action, "client_overlap_action")


def _forced_in(one: Overlapping) -> tuple[Action, str] | None:
    return ("barge_in", "client_force_barge_in") if one.hints.force_barge_in else None


def _streaming(one: Overlapping) -> tuple[Action, str] | None:
    if not one.streams:
        return None
    if one.speech and one.policy == "barge_in_on_speech":
        if one.hints.speech_started:
            return "barge_in", STARTED
        if not one.under_way:
            return "barge_in", "barge_in_on_speech"
    return "listen", "auto_response_continuous"


def _forced_to_listen(one: Overlapping) -> tuple[Action, str] | None:
    return ("listen", "client_force_listen") if one.hints.force_listen else None


def _silence(one: Overlapping) -> tuple[Action, str] | None:
    return None if one.speech else ("drop", "silence_or_noise")


def _acknowledgement(one: Overlapping) -> tuple[Action, str] | None:
    said = one.hints.transcript.strip(" .,!?。，！？、").lower()
    return ("listen", "short_ack_transcript") if said in ACKNOWLEDGEMENTS else None


def _policy(one: Overlapping) -> tuple[Action, str]:
    if one.policy == "listen_only":
        return "listen", "policy_listen_only"
    if one.hints.speech_started:
        return "barge_in", STARTED
    if one.under_way:
        return "listen", "server_vad_utterance_active"
    return "barge_in", "policy_barge_in_on_speech"


RULES: tuple[Callable[[Overlapping], tuple[Action, str] | None], ...] = (
    _asked_for,
    _forced_in,
    _streaming,
    _forced_to_listen,
    _silence,
    _acknowledgement,
    _policy,
)


def over_answer(state: Session, command: AppendAudio, at: Moment) -> list[OverlapDecided]:
    """The decision on audio that is about to be appended; none where it is over no answer."""
    overlap, samples = state.config.overlap, len(command.pcm) // 2
    if overlap is None or not samples or not _is_over(state, at):
        return []
    hints = command.hints or OverlapHints()
    if not _concerns(state, overlap, hints):
        return []
    one = Overlapping(
        speech=command.speech is not False,
        hints=hints,
        policy=overlap.policy,
        streams=state.streams,
        detected=state.config.turn_detection is not None,
    )
    action, reason = next(decided for rule in RULES if (decided := rule(one)) is not None)
    lasted = samples_to_ms(samples)
    return [
        OverlapDecided(
            action=action,
            reason=reason,
            until_sample=Samples(state.buffer.appended + samples),
            duration_ms=lasted,
            overlap_ms=Millis(state.verdicts.over_ms + (lasted if one.speech and action != "drop" else 0)),
        )
    ]


def _is_over(state: Session, at: Moment) -> bool:
    if state.turns.active is not None:
        return True
    return any(may_be_heard(played, at.mono_ns) for played in state.played[-2:])


def _concerns(state: Session, overlap: Overlap, hints: OverlapHints) -> bool:
    """Whether it is decided at all: where input streams only if somebody may want to be let in."""
    wants_in = hints.force_barge_in or hints.action == "barge_in"
    return wants_in or overlap.policy == "barge_in_on_speech" or not state.streams


def let_in(state: Session, event: SpeechStarted, at: Moment) -> list[Event]:
    """The detector heard the user begin to speak over an answer."""
    overlap = state.config.overlap
    if overlap is None or overlap.policy != "barge_in_on_speech" or not _is_over(state, at):
        return []
    over_ms = max(samples_to_ms(state.buffer.appended - event.onset_sample), state.verdicts.over_ms)
    return [
        OverlapDecided(
            action="barge_in",
            reason=STARTED,
            until_sample=Samples(state.buffer.appended),
            duration_ms=samples_to_ms(state.buffer.appended - event.onset_sample),
            overlap_ms=Millis(over_ms),
        )
    ]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case OverlapDecided(overlap_ms=over_ms):
            return replace(state, verdicts=replace(state.verdicts, over_ms=over_ms))
        case ResponseCreated() if state.verdicts.over_ms:
            return replace(state, verdicts=replace(state.verdicts, over_ms=0))
        case _:
            return state
