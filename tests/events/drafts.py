"""Small events to fill logs with, recognisable by a number."""

import hashlib

from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import Operation, ResponseId
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import AudioSpoken, TextSpoken, WriterOpened


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
    return hashlib.shake_128(str(n).encode()).digest(size)


def opened(epoch: int) -> Draft:
    return Draft(WriterOpened(writer_epoch=epoch, code="test", boot="boot"), Moment(0, 0))


def as_stored(draft: Draft, stored: Stored) -> bool:
    """Is `stored` what was drafted?"""
    return (stored.event, stored.at, stored.cause) == (draft.event, draft.at, draft.cause) and (
        (stored.blob is None) == (draft.blob is None)
    )
