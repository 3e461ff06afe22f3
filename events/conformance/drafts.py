"""Small events to fill logs with, recognisable by a number."""

from __future__ import annotations

import hashlib

from crc32c import crc32c

from ..envelope import Draft, Stored
from ..ids import Operation, ResponseId
from ..units import Moment, Samples
from ..vocabulary import AudioSpoken, TextSpoken, WriterOpened


def text(n: int, said: str = "") -> Draft:
    event = TextSpoken(
        response=ResponseId("resp"),
        text=said or f"{n}",
        from_sample=Samples(n),
        operation=Operation(n),
        index=0,
    )
    return Draft(event, Moment(mono_ns=n, wall_ns=10**18 + n))


def audio(n: int, size: int = 64) -> Draft:
    event = AudioSpoken(
        response=ResponseId("resp"),
        samples=Samples(size // 2),
        until_sample=Samples(n),
        operation=Operation(n),
        index=0,
    )
    return Draft(event, Moment(mono_ns=n, wall_ns=10**18 + n), blob=payload(n, size))


def payload(n: int, size: int) -> bytes:
    """`size` bytes that no other number has."""
    return hashlib.shake_128(str(n).encode()).digest(size)


def opened(epoch: int, n: int = 0) -> Draft:
    event = WriterOpened(writer_epoch=epoch, code="test", boot="boot")
    return Draft(event, Moment(mono_ns=n, wall_ns=10**18 + n))


def as_stored(draft: Draft, stored: Stored) -> bool:
    """Is `stored` what was drafted, its blob by length and checksum?"""
    if (stored.event, stored.at, stored.cause) != (draft.event, draft.at, draft.cause):
        return False
    blob, ref = draft.blob, stored.blob
    if blob is None or ref is None:
        return blob is None and ref is None
    return (ref.length, ref.crc32c) == (len(blob), crc32c(blob))
