"""What differs between the dialects at the edge: one value of this for each (dialects.py).

A connection is the same for all of them: an attachment, an outbox, a reader.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from antiphon.actors.runtime import Published, Retrieved
from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.vocabulary import Abilities, ClientResumed, Config
from antiphon.projections.base import Projection

from .intake import INLINE
from .outbox import Letter, Outbox
from .wishes import Decoder

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
"""The next ASGI message of a socket."""


class Left(Exception):
    """The client went before its session was open."""


class Return(Struct, frozen=True):
    """A client that was here before: of which session, the token it was given, and the number of the last
    frame it has; None: it does not know."""

    session: SessionId
    token: str
    after: int | None = None


class Beginning(Struct, frozen=True):
    """The configuration to open a session with, and the frame that its client has sent already, if any.
    `returns`: its client may come back, and is given a token for that."""

    config: Config
    first: str | None = None
    returns: bool = True


class Begin(Protocol):
    """How a session of a dialect begins."""

    def __call__(
        self, query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
    ) -> Awaitable[Beginning | Return]:
        """Raises Undecodable, Refused, Left, and whatever asking for `abilities` raises. `model` is the
        server's name for its model; "": the model's own."""


class Sound(Protocol):
    """Puts the audio into frames, which a projection leaves empty: one attachment's."""

    def fill(self, frame: Any, published: Published) -> tuple[Any, int, ResponseId]:
        """The frame with its audio, where that ends on its answer's clock (samples at 24 kHz), and of which.

        Called for every audio frame, in order.
        """

    def is_stream(self, frame: Any) -> bool:
        """Whether the audio of an answer's later events goes on from this frame's."""

    def hold(self, published: Published) -> None:
        """Audio that no frame shows yet."""


class Replies(Protocol):
    """Frames that no event holds."""

    def refused(
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> Any | None:
        """What a client is told of something that cannot be done; None: nothing."""

    def retrieved(self, event_id: str, answer: Retrieved) -> Any:
        """An item as it counts."""

    def alive(self, event_id: str, session: SessionId) -> Any:
        """An answer to a sign of life."""

    def resumed(self, event_id: str, view: Any, event: ClientResumed, token: str) -> Any | None:
        """The client is back, and may come back next with `token`. `view` is as it was at its last frame.
        None: an event says so."""

    def replaced(self, event_id: str, session: SessionId, attachment: int) -> Any | None:
        """Another connection has taken the place of this one, before it had caught up; None: nothing."""

    def resync(self, event_id: str, session: SessionId, reason: str) -> Any:
        """What the client has missed cannot be told: `journal_gap`, `journal_overflow`."""


MakeOutbox = Callable[[Callable[[Letter], None], Callable[[Sequence[Letter]], None], int], Outbox]
"""Of one attachment: `sent` and the most bytes that may wait, as an Outbox has them, and between them who is
told of letters that will not be sent."""


def plain(
    sent: Callable[[Letter], None], withheld: Callable[[Sequence[Letter]], None], most_bytes: int
) -> Outbox:
    """Sends whatever there is as soon as it can."""
    return Outbox(sent, most_bytes)


class Dialect(Struct, frozen=True, kw_only=True):
    """`audio` is the kind of frame that `sound` fills. `decoder` is given the way to the configuration.

    `drops_when_full`: a client that sends more than can be read is told so; otherwise it is read no further
    until there is room. `patience` says of a configuration for how many seconds a client may be silent; None:
    for ever: then its socket alone says that it is there. A frame of more than `inline` characters is read in
    a thread. Where nobody `comes_back` to a session its URL says nothing of that. `greeting` is the kind of
    frame that `entrust` puts the token into by which the client can come back.
    """

    name: str
    mode: str
    projection: Projection
    audio: type
    greeting: type
    entrust: Callable[[Any, str], Any]
    sound: Callable[[], Sound]
    replies: Replies
    begin: Begin
    decoder: Callable[[Callable[[], Config]], Decoder]
    drops_when_full: bool
    patience: Callable[[Config], float] | None = None
    inline: int = INLINE
    comes_back: bool = True
    binary: tuple[type, ...] = ()
    """Frames that are sent as bytes. Where there are such, the client may send bytes, too."""
    live: bool = False
    """Who comes back hears what is said from then on, and nothing of what was missed."""
    outbox: MakeOutbox = plain
    reasons: Mapping[str, str] = {}
    """The dialect's words for why a session was closed, where it has others."""
