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

from antiphon.events.envelope import Stored
from antiphon.events.vocabulary import (
    ActionDecided,
    ClientAttached,
    ClientDetached,
    ClientReplaced,
    ClientResumed,
    CommandRefused,
    ConfigRefused,
    DelegationFailed,
    EffectFailed,
    EpochAdvanced,
    Event,
    FrameObserved,
    ImageReceived,
    InputCleared,
    InputCommitted,
    InputUndecodable,
    ItemTruncated,
    ModelListened,
    OutputCleared,
    OverlapDecided,
    PlaybackAcknowledged,
    PlaybackEstimated,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionParked,
    StageAway,
    StageLost,
    StageOutputDropped,
    StageRefused,
    SummaryFailed,
    TickFailed,
    ToolCalled,
    TurnEnded,
    UnitRefused,
    VideoFrameReceived,
    VideoFrameUnreadable,
    VideoQueried,
    WriterOpened,
)

Lane = Literal["decisions", "heard", "images", "connections", "faults"]


class Mark(Struct, frozen=True, array_like=True, gc=False):
    """An event on the timeline, `at_ms` after the session's first."""

    seq: int
    at_ms: int
    lane: Lane
    label: str


_LABELS: dict[type[Event], tuple[Lane, Callable[[Any], str]]] = {
    InputCommitted: ("decisions", lambda event: f"committed by {event.by}, {event.outcome}"),
    InputCleared: ("decisions", lambda event: "input cleared"),
    OverlapDecided: ("decisions", lambda event: f"overlap: {event.action}, {event.reason}"),
    EpochAdvanced: ("decisions", lambda event: f"epoch {event.next.epoch}: {event.reason}"),
    ModelListened: ("decisions", lambda event: "the model listens"),
    ToolCalled: ("decisions", lambda event: f"calls {event.name}"),
    TurnEnded: ("decisions", lambda event: "turn ended"),
    VideoQueried: ("decisions", lambda event: "asked about the video"),
    ActionDecided: ("decisions", lambda event: f"decided to {event.action}"),
    ResponseCreated: ("decisions", lambda event: "answer begins"),
    PlaybackAcknowledged: ("heard", lambda event: f"heard {event.heard_ms} ms"),
    PlaybackEstimated: ("heard", lambda event: f"heard {event.heard_ms} ms, estimated"),
    ItemTruncated: ("heard", lambda event: f"cut at {event.audio_end_ms} ms"),
    OutputCleared: ("heard", lambda event: "thrown away by the client"),
    ImageReceived: ("images", lambda event: event.media_type),
    VideoFrameReceived: ("images", lambda event: event.media_type),
    FrameObserved: ("images", lambda event: "frame"),
    WriterOpened: ("connections", lambda event: f"writer {event.writer_epoch} opened"),
    ClientAttached: ("connections", lambda event: f"client {event.attachment} came, {event.dialect}"),
    ClientResumed: ("connections", lambda event: f"client {event.attachment} came back"),
    ClientReplaced: ("connections", lambda event: f"client {event.attachment} was replaced"),
    SessionParked: ("connections", lambda event: f"parked: {event.reason}"),
    SessionClosed: ("connections", lambda event: f"closed: {event.reason}"),
    SessionExpired: ("connections", lambda event: f"expired: {event.reason}"),
    SessionFailed: ("faults", lambda event: f"session failed: {event.code}"),
    CommandRefused: ("faults", lambda event: f"refused: {event.code}"),
    ConfigRefused: ("faults", lambda event: f"configuration refused: {event.code}"),
    UnitRefused: ("faults", lambda event: f"stage refused: {event.code}"),
    StageRefused: ("faults", lambda event: f"{event.stage} refused the session: {event.code}"),
    StageAway: ("faults", lambda event: f"{event.stage} is away: {event.reason}"),
    StageLost: ("faults", lambda event: f"{event.stage} is lost: {event.reason}"),
    StageOutputDropped: ("faults", lambda event: f"output of epoch {event.epoch} came too late"),
    EffectFailed: ("faults", lambda event: f"did not end: {event.code}"),
    InputUndecodable: ("faults", lambda event: "input could not be decoded"),
    VideoFrameUnreadable: ("faults", lambda event: "image could not be read"),
    TickFailed: ("faults", lambda event: "tick failed"),
    SummaryFailed: ("faults", lambda event: "summary failed"),
    DelegationFailed: ("faults", lambda event: "delegation failed"),
}


def mark(stored: Stored, at_ms: int) -> Mark | None:
    """None of an event that is no point on the timeline."""
    event = stored.event
    match event:
        case ClientDetached(reason=reason):
            lane: Lane = "connections" if reason in ("closed", "server") else "faults"
            return Mark(stored.seq, at_ms, lane, f"client {event.attachment} went: {reason}")
        case ResponseEnded(outcome=outcome, reason=reason):
            lane = "faults" if outcome == "failed" else "decisions"
            return Mark(stored.seq, at_ms, lane, f"answer {outcome}" + (f": {reason}" if reason else ""))
    found = _LABELS.get(type(event))
    return None if found is None else Mark(stored.seq, at_ms, found[0], found[1](event))
