"""Clients coming, going, and what was really sent to them."""

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


class FramesSent(Event, frozen=True, kw_only=True):
    """The attachment's socket accepted audio of `response` up to `until_sample`. The only source of `sent`.

    Reported at first audio, at most every 250 ms, and at detach. `first_mono_ns` is when the first audio of
    the response was handed over, on the clock of WriterOpened.boot.
    """

    attachment: int
    response: ResponseId
    until_sample: Samples
    first_mono_ns: int
