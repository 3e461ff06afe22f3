"""Clients coming, going, and what was really sent to them."""

from typing import ClassVar

from msgspec import Struct

from ..ids import ResponseId
from ..units import Samples
from .base import Event


class ClientAttached(Event, frozen=True, kw_only=True):
    """A connection was bound to the session. `attachment` counts them from 1."""

    attachment: int
    dialect: str
    client: str = ""


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
