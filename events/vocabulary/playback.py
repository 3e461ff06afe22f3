"""What the user heard. Positions are ms on the response's own clock."""

from ..ids import ItemId, ResponseId
from ..units import Millis
from .base import Event


class PlaybackAcknowledged(Event, frozen=True, kw_only=True):
    """The client says how much of a response its user has heard.

    May repeat, arrive late or out of order: the fold keeps the maximum. `played_ms` is what was played where
    the client tells that apart from what it counts as heard.
    """

    response: ResponseId
    heard_ms: Millis
    played_ms: Millis | None = None


class PlaybackEstimated(Event, frozen=True, kw_only=True):
    """How much was heard of a response whose client does not say: sent, and time enough to play it."""

    response: ResponseId
    heard_ms: Millis


class OutputCleared(Event, frozen=True, kw_only=True):
    """The client threw away what it had not played of `response`, or was told to: no more of it is heard.

    May repeat, and may be about an answer that ended long ago: whatever is being said now goes on.
    """

    response: ResponseId


class ItemTruncated(Event, frozen=True, kw_only=True):
    """The client cut an assistant item: nothing after `audio_end_ms` was heard. A cap that only falls."""

    item: ItemId
    response: ResponseId | None
    audio_end_ms: Millis
    content_index: int = 0
