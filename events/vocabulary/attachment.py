"""Clients coming, going, and what was really sent to them."""

from typing import ClassVar

from msgspec import Struct

from ..ids import ResponseId
from ..units import Samples
from .base import Event


class ClientAttached(Event, frozen=True, kw_only=True):
    """A connection was bound to the session. `attachment` counts them from 1.

    `token` is the SHA-256 of the secret by which the client can come back; b"": it cannot.
    """

    attachment: int
    dialect: str
    client: str = ""
    token: bytes = b""


class ClientResumed(Event, frozen=True, kw_only=True):
    """A client came back, or another took its place, by the token that it was given.

    It has every frame up to number `after`. `token` is the hash of its new secret; former ones are good
    until ClientConfirmed. Audio of epochs before `epoch` is void. `last_client_event` is the client's id of
    the latest of its frames that the session has taken in.
    """

    attachment: int
    dialect: str
    after: int
    epoch: int
    client: str = ""
    token: bytes = b""
    last_client_event: str | None = None


class ClientConfirmed(Event, frozen=True, kw_only=True):
    """The first frame came from a connection that had resumed: the tokens before its own are void."""

    attachment: int


class ClientReplaced(Event, frozen=True, kw_only=True):
    """Another connection took the place of this one, which may ask nothing any more."""

    attachment: int


class ClientSeen(Event, frozen=True, kw_only=True):
    """The client has said nothing for a while, but that it is there."""

    attachment: int


class CommandsAccepted(Event, frozen=True, kw_only=True):
    """Frames of a client, by its own ids, were taken in with the facts of the same batch (maybe with none).

    Sent again after a resume they are not taken in twice.
    """

    attachment: int
    client_events: tuple[str, ...]


class ClientDetached(Event, frozen=True, kw_only=True):
    """A connection ended: `closed` by the client, `lost`, `slow` (its outbox overflowed), `server` (the
    process stops), `expelled` (nothing it sent could be read)."""

    attachment: int
    reason: str
    code: int | None = None


class AudioSent(Struct, frozen=True, array_like=True, gc=False):
    """A socket accepted the audio of `response` up to `until_sample`.

    `first_mono_ns` is when the first of it was handed over, on the clock of WriterOpened.boot.
    """

    response: ResponseId
    until_sample: Samples
    first_mono_ns: int


class EventsAcknowledged(Event, frozen=True, kw_only=True):
    """The client has every frame up to number `through`; it will not ask for them again."""

    ancillary: ClassVar[bool] = True
    attachment: int
    through: int


class FramesSent(Event, frozen=True, kw_only=True):
    """What the attachment's socket has accepted so far. The only source of `sent`.

    Reported at first audio, at most every 250 ms, and at detach. `through` is the number of the last frame
    accepted (`server_event_seq`). `digest` and `meaning` are BLAKE2b-128 over all frames that the attachment
    was sent from its first to that one: over their bytes, as version `projection` of its dialect makes them
    (secrets masked, audio as the checksum of its blob), and over what they say in any version. `withheld` are
    the numbers of frames since the last report that were taken back before the socket had them.
    """

    version: ClassVar[int] = 2
    attachment: int
    through: int = -1
    projection: int = 0
    digest: bytes = b""
    meaning: bytes = b""
    withheld: tuple[int, ...] = ()
    audio: tuple[AudioSent, ...] = ()
