"""evolve(state, event): the table of folds. What each event means stands in the module of its idea.

Unknown ancillary events move only the sequence number. The folds of one event run in the order given; every
fold of an event sees the seq the event itself has. Those of the session's mode run last.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from antiphon.actors.modes import MODES
from antiphon.events.envelope import Stored
from antiphon.events.errors import UnknownMode
from antiphon.events.ids import Seq
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    AnswerRouted,
    AudioSpoken,
    ClientAttached,
    ClientConfirmed,
    ClientDetached,
    ClientResumed,
    CommandRefused,
    CommandsAccepted,
    ConfigProposed,
    ConfigRefused,
    EffectStarted,
    EpochAdvanced,
    Event,
    EventsAcknowledged,
    FramesSent,
    ImageReceived,
    InputAppended,
    InputCleared,
    InputCommitted,
    InputTranscribed,
    ItemAdded,
    ItemRemoved,
    ItemTruncated,
    ModelListened,
    OutputCleared,
    OverlapDecided,
    PlaybackAcknowledged,
    PlaybackEstimated,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionConfigured,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    SessionParked,
    SpeechStarted,
    SpeechStopped,
    StageAway,
    StageLost,
    StageMeasured,
    StageOpened,
    StageOutputDropped,
    StageRefused,
    StageReleased,
    StageReturned,
    TextSpoken,
    ToolCalled,
    TurnEnded,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    VoiceScored,
    WriterOpened,
)

from . import (
    absence,
    attachment,
    configuration,
    fence,
    history,
    input,
    lease,
    life,
    limits,
    overlap,
    playback,
    turns,
    units,
    voice,
)
from .mode import Fold, Mode
from .state import Session

FOLDS: dict[type[Event], tuple[Fold, ...]] = {
    SessionOpened: (life.fold, fence.fold, attachment.fold, lease.fold, absence.fold_opening),
    SessionConfigured: (voice.fold, units.fold, configuration.fold),
    ConfigProposed: (configuration.fold,),
    ConfigRefused: (configuration.fold,),
    SessionClosed: (life.fold,),
    SessionExpired: (life.fold,),
    SessionFailed: (life.fold,),
    SessionParked: (attachment.fold, lease.fold),
    WriterOpened: (
        absence.fold,
        playback.fold_ends,
        input.fold,
        voice.fold,
        turns.fold,
        units.fold,
        configuration.fold,
        limits.fold,
        lease.fold,
        life.fold,
        absence.fold_opening,
    ),
    CommandRefused: (limits.fold, attachment.fold_accepted),
    ClientAttached: (attachment.fold, lease.fold),
    ClientResumed: (attachment.fold_accepted, attachment.fold, lease.fold, playback.fold_resumed),
    ClientConfirmed: (attachment.fold,),
    ClientDetached: (lease.fold, attachment.fold),
    CommandsAccepted: (attachment.fold_accepted,),
    FramesSent: (attachment.fold, playback.fold),
    EventsAcknowledged: (attachment.fold,),
    InputAppended: (input.fold,),
    ImageReceived: (units.fold_input,),
    OverlapDecided: (overlap.fold,),
    VoiceScored: (voice.fold,),
    SpeechStarted: (voice.fold, input.fold_recognition),
    SpeechStopped: (voice.fold,),
    InputCommitted: (voice.fold, input.fold, history.fold, turns.fold_owed, units.fold_input),
    InputTranscribed: (input.fold, history.fold),
    InputCleared: (voice.fold, input.fold, turns.fold_owed, units.fold_input),
    StageOpened: (absence.fold_opening,),
    StageRefused: (life.fold_stages, absence.fold_opening),
    StageReleased: (life.fold_stages, absence.fold_opening),
    StageLost: (life.fold_stages, absence.fold, absence.fold_opening),
    StageAway: (absence.fold, absence.fold_opening),
    StageReturned: (absence.fold, absence.fold_opening),
    UnitSubmitted: (input.fold_recognition, turns.fold, turns.fold_endings, units.fold, configuration.fold),
    UnitCompleted: (input.fold_recognition, turns.fold_endings, units.fold),
    EffectStarted: (turns.fold,),
    UnitRefused: (turns.fold_endings, input.fold_recognition, units.fold),
    StageOutputDropped: (turns.fold_outputs,),
    StageMeasured: (turns.fold_outputs,),
    ResponseCreated: (
        fence.fold,
        history.fold,
        playback.fold,
        turns.fold,
        overlap.fold,
        units.fold_answer,
    ),
    AnswerRouted: (turns.fold_outputs,),
    TextSpoken: (playback.fold, turns.fold_outputs),
    AudioSpoken: (playback.fold, turns.fold_outputs),
    ToolCalled: (history.fold, turns.fold, turns.fold_outputs),
    ModelListened: (turns.fold_outputs, units.fold),
    TurnEnded: (turns.fold_endings, turns.fold_outputs, units.fold),
    ResponseEnded: (fence.fold, history.fold, playback.fold, turns.fold, units.fold_answer),
    PlaybackAcknowledged: (playback.fold,),
    PlaybackEstimated: (playback.fold,),
    OutputCleared: (playback.fold,),
    ItemTruncated: (playback.fold,),
    ItemAdded: (history.fold,),
    ItemRemoved: (history.fold, turns.fold_owed, units.fold_input),
    EpochAdvanced: (fence.fold, input.fold, playback.fold_ends, turns.fold_endings, units.fold),
}


def _enter(state: Session, event: Event, at: Moment) -> Session:
    """What the mode makes of the opening itself. Raises UnknownMode."""
    mode = MODES.get(state.mode)
    if mode is None:
        raise UnknownMode(state.id, state.mode)
    for fold in mode.folds.get(SessionOpened, ()):
        state = fold(state, event, at)
    return state


def _with_those_of(mode: Mode) -> Mapping[type[Event], tuple[Fold, ...]]:
    """The core's and then the mode's; at the opening it is known only then which mode that is."""
    added = {kind: (*FOLDS.get(kind, ()), *folds) for kind, folds in mode.folds.items()}
    return {**FOLDS, **added, SessionOpened: (*FOLDS[SessionOpened], _enter)}


_FOLDS_OF = {name: _with_those_of(mode) for name, mode in MODES.items()}


def evolve(state: Session, event: Event, at: Moment) -> Session:
    """The state after `event`, which stands at `state.seq`."""
    for fold in _FOLDS_OF[state.mode].get(type(event), ()):
        state = fold(state, event, at)
    return replace(state, seq=Seq(state.seq + 1), at=at)


def refold(state: Session, stored: Stored) -> Session:
    """The same, of an event read from a log."""
    return evolve(state, stored.event, stored.at)
