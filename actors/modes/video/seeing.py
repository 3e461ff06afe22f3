"""Which images are kept: the latest that are not like the one before them, as far as there is room.

The edge measures how similar an image is; what that means is decided here. An image that cannot be decoded
takes nobody's place.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.actors.session.mode import Happened
from antiphon.actors.session.refusals import Unsupported
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.ids import Seq
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    Event,
    VideoFrameFiltered,
    VideoFrameReceived,
    VideoFrameUnreadable,
)

from .commands import Show
from .stream import Kept, keep, of, options

MOST_BYTES = 32 * 1024 * 1024
"""Of all images that are kept: a question with all of them still fits into one message to a stage."""


def show(state: Session, command: Show, at: Moment) -> Happened:
    if of(state).finished:
        return []
    if not state.abilities.sees:
        raise Unsupported("the stage behind this session takes no images", parameter="type")
    image, threshold = command.image, options(state).filter_threshold
    if image is None:
        return [VideoFrameUnreadable(size=command.size, labels=command.labels)]
    similarity = command.similarity
    if threshold is not None and similarity is not None and similarity >= threshold:
        return [VideoFrameFiltered(similarity=similarity, labels=command.labels)]
    received = VideoFrameReceived(
        media_type=image.media_type,
        size=len(image.data),
        labels=command.labels,
        evicted=_evicted(of(state).kept, len(image.data), options(state).max_frames),
        similarity=similarity,
    )
    return [Draft(received, at, image.data)]


def _evicted(kept: Sequence[Kept], size: int, most: int) -> tuple[Seq, ...]:
    """The oldest, until there is room for one more of that size."""
    total, first = sum(one.size for one in kept) + size, 0
    while first < len(kept) and (len(kept) - first >= most or total > MOST_BYTES):
        total -= kept[first].size
        first += 1
    return tuple(one.seq for one in kept[:first])


def sampled(kept: Sequence[Kept], most: int) -> tuple[Seq, ...]:
    """At most `most`, evenly spread from the oldest on, and in any case the latest."""
    if len(kept) <= most:
        return tuple(one.seq for one in kept)
    stride = len(kept) // most
    return (*(kept[k * stride].seq for k in range(most - 1)), kept[-1].seq)


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case VideoFrameReceived():
            stream = of(state)
            kept = keep(stream.kept, event, state.seq, at.mono_ns)
            return replace(state, own=replace(stream, kept=kept))
        case _:
            return state
