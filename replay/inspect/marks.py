"""Which events are points on a session's timeline, in which lane, and by what few words.

decisions    what the server made of what came in: turns, overlaps, answers, epochs
heard        how much of an answer was played
images       what was shown
connections  clients and writers coming and going
faults       what did not go as somebody wanted
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored

Lane = Literal["decisions", "heard", "images", "connections", "faults"]


class Mark(Struct, frozen=True, array_like=True, gc=False):
    """An event on the timeline, `at_ms` after the session's first."""

    seq: int
    at_ms: int
    lane: Lane
    label: str


_LABELS: dict[type[v.Event], tuple[Lane, Callable[[Any], str]]] = {
    v.InputCommitted: ("decisions", lambda event: f"committed by {event.by}, {event.outcome}"),
    v.InputCleared: ("decisions", lambda event: "input cleared"),
    v.OverlapDecided: ("decisions", lambda event: f"overlap: {event.action}, {event.reason}"),
    v.EpochAdvanced: ("decisions", lambda event: f"epoch {event.next.epoch}: {event.reason}"),
    v.ModelListened: ("decisions", lambda event: "the model listens"),
    v.ToolCalled: ("decisions", lambda event: f"calls {event.name}"),
    v.TurnEnded: ("decisions", lambda event: "turn ended"),
    v.VideoQueried: ("decisions", lambda event: "asked about the video"),
    v.ActionDecided: ("decisions", lambda event: f"decided to {event.action}"),
    v.ResponseCreated: ("decisions", lambda event: "answer begins"),
    v.PlaybackAcknowledged: ("heard", lambda event: f"heard {event.heard_ms} ms"),
    v.PlaybackEstimated: ("heard", lambda event: f"heard {event.heard_ms} ms, estimated"),
    v.ItemTruncated: ("heard", lambda event: f"cut at {event.audio_end_ms} ms"),
    v.OutputCleared: ("heard", lambda event: "thrown away by the client"),
    v.ImageReceived: ("images", lambda event: event.media_type),
    v.VideoFrameReceived: ("images", lambda event: event.media_type),
    v.FrameObserved: ("images", lambda event: "frame"),
    v.WriterOpened: ("connections", lambda event: f"writer {event.writer_epoch} opened"),
    v.ClientAttached: ("connections", lambda event: f"client {event.attachment} came, {event.dialect}"),
    v.ClientResumed: ("connections", lambda event: f"client {event.attachment} came back"),
    v.ClientReplaced: ("connections", lambda event: f"client {event.attachment} was replaced"),
    v.SessionParked: ("connections", lambda event: f"parked: {event.reason}"),
    v.SessionClosed: ("connections", lambda event: f"closed: {event.reason}"),
    v.SessionExpired: ("connections", lambda event: f"expired: {event.reason}"),
    v.SessionFailed: ("faults", lambda event: f"session failed: {event.code}"),
    v.CommandRefused: ("faults", lambda event: f"refused: {event.code}"),
    v.ConfigRefused: ("faults", lambda event: f"configuration refused: {event.code}"),
    v.UnitRefused: ("faults", lambda event: f"stage refused: {event.code}"),
    v.StageRefused: ("faults", lambda event: f"{event.stage} refused the session: {event.code}"),
    v.StageAway: ("faults", lambda event: f"{event.stage} is away: {event.reason}"),
    v.StageLost: ("faults", lambda event: f"{event.stage} is lost: {event.reason}"),
    v.StageOutputDropped: ("faults", lambda event: f"output of epoch {event.epoch} came too late"),
    v.EffectFailed: ("faults", lambda event: f"did not end: {event.code}"),
    v.InputUndecodable: ("faults", lambda event: "input could not be decoded"),
    v.VideoFrameUnreadable: ("faults", lambda event: "image could not be read"),
    v.TickFailed: ("faults", lambda event: "tick failed"),
    v.SummaryFailed: ("faults", lambda event: "summary failed"),
    v.DelegationFailed: ("faults", lambda event: "delegation failed"),
}


def mark(stored: Stored, at_ms: int) -> Mark | None:
    """None of an event that is no point on the timeline."""
    event = stored.event
    match event:
        case v.ClientDetached(reason=reason):
            lane: Lane = "connections" if reason in ("closed", "server") else "faults"
            return Mark(stored.seq, at_ms, lane, f"client {event.attachment} went: {reason}")
        case v.ResponseEnded(outcome=outcome, reason=reason):
            lane = "faults" if outcome == "failed" else "decisions"
            return Mark(stored.seq, at_ms, lane, f"answer {outcome}" + (f": {reason}" if reason else ""))
    found = _LABELS.get(type(event))
    return None if found is None else Mark(stored.seq, at_ms, found[0], found[1](event))
