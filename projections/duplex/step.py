"""step(view, stored): the frames an event amounts to for a duplex client. Each case is in its own module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.ids import Seq
from antiphon.projections import measures
from antiphon.projections.base import frame_number

from . import answering, hearing, lifecycle, playing
from . import frames as f
from .view import Shown, View

F = TypeVar("F")


def step(view: View, stored: Stored) -> tuple[View, list[f.Frame]]:
    """The view after the event, and its frames in order, numbered."""
    view, shown = unnumbered(view, stored)
    return view, numbered(stored.seq, shown) if shown else []


def unnumbered(view: View, stored: Stored) -> tuple[View, Shown]:
    """The view after the event, and what there is to show of it."""
    if view.measures is not None:
        view = replace(view, measures=measures.step(view.measures, stored))
    show = SHOWS.get(type(stored.event))
    return (view, ()) if show is None else show(view, stored, stored.event)


def numbered(seq: Seq, shown: Iterable[tuple[Callable[..., F], f.Json]]) -> list[F]:
    """The frames of one event."""
    return [
        kind(event_id=f"event_{number}", server_event_seq=number, **members)
        for number, (kind, members) in enumerate(shown, frame_number(seq, 0))
    ]


def _asked(view: View, stored: Stored, event: v.UnitSubmitted) -> tuple[View, Shown]:
    """What the model was asked last is shown in the session object."""
    return replace(view, request=stored.seq), []


Show = Callable[[View, Stored, Any], tuple[View, Shown]]  # each takes the event of its key

SHOWS: dict[type[v.Event], Show] = {
    v.SessionOpened: lifecycle.opened,
    v.SessionConfigured: lifecycle.configured,
    v.ConfigRefused: lifecycle.config_refused,
    v.SessionClosed: lifecycle.closed,
    v.SessionExpired: lifecycle.expired,
    v.SessionFailed: lifecycle.failed,
    v.ClientReplaced: lifecycle.replaced,
    v.CommandRefused: lifecycle.refused,
    v.StageRefused: lifecycle.without_stage,
    v.StageLost: lifecycle.without_stage,
    v.TurnSignalled: lifecycle.signalled,
    v.TurnEnded: lifecycle.turn_ended,
    v.UnitSubmitted: _asked,
    v.OverlapDecided: hearing.overlap_decided,
    v.SpeechStarted: hearing.speech_started,
    v.SpeechStopped: hearing.speech_stopped,
    v.InputCommitted: hearing.committed,
    v.InputTranscribed: hearing.transcribed,
    v.InputCleared: hearing.cleared,
    v.ItemAdded: hearing.item_added,
    v.ItemRemoved: hearing.item_removed,
    v.ItemTruncated: playing.truncated,
    v.PlaybackAcknowledged: playing.acknowledged,
    v.PlaybackEstimated: playing.estimated,
    v.FramesSent: playing.sent,
    v.OutputCleared: playing.output_cleared,
    v.EpochAdvanced: playing.epoch_advanced,
    v.ResponseCreated: answering.created,
    v.TextSpoken: answering.text,
    v.AudioSpoken: answering.audio,
    v.ToolCalled: answering.called,
    v.ModelListened: answering.listened,
    v.ResponseEnded: answering.ended,
}
