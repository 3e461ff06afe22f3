"""What surrounds an event: before it is stored (Draft) and after (Stored)."""

from __future__ import annotations

from msgspec import Raw, Struct

from .ids import Seq
from .units import Moment
from .vocabulary import Event


class BlobRef(Struct, frozen=True, array_like=True, gc=False):
    """Where a payload lies in the session's blob file, and the CRC32C by which it is recognised."""

    offset: int
    length: int
    crc32c: int


class Draft(Struct, frozen=True, gc=False):
    """An event that has been decided and is not yet in the log, with the bytes it speaks of.

    `cause` is the seq of the event that led to this one, if there is one.
    """

    event: Event
    at: Moment
    blob: bytes | None = None
    cause: Seq | None = None


class Unknown(Event, frozen=True, kw_only=True):
    """An event of a type (or a newer version) this code does not know. Kept byte for byte; folds skip it."""

    type: str
    event_version: int
    body: Raw


class Stored(Struct, frozen=True, gc=False):
    """An event in its place. What `evolve` and every projection fold over."""

    seq: Seq
    at: Moment
    event: Event
    blob: BlobRef | None = None
    cause: Seq | None = None
    critical: bool = True
