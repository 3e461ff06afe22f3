"""What anybody may ask of a life, without its lock: its events, payloads, end, and what comes."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator

from ..envelope import BlobRef, Stored
from ..errors import Corrupt, Erased
from ..ids import Seq
from ..store import CaughtUp, Head, SealedMark
from . import audio, record
from .landmarks import BEGINNING, Landmark
from .layout import Life
from .reader import Reader

SMALL_WINDOW = 1 << 16
"""Bytes that are read at a time: a few ms of decoding between two turns of an event loop; and no slower, as
what was decoded is still in the processor's cache when it is looked at."""
POLL_S = 0.01


def head(life: Life) -> Head:
    """Raises NotALog, Corrupt."""
    with Reader(life) as reader:
        next_seq, sealed = reader.head()
    erased, audio_end = audio.erased_at(life.audio), audio.end(life.audio)
    return Head(
        life.session,
        life.incarnation,
        record.read(life.record).writer_epoch,
        Seq(next_seq),
        audio_bytes=0 if erased or audio_end == sys.maxsize else audio_end,
        sealed=sealed or erased,
        erased=erased,
    )


def events(life: Life, start: int, stop: int | None, begin: Landmark = BEGINNING) -> Iterator[Stored]:
    """Those in [start, stop), looked for from `begin` on. Raises Corrupt after what precedes the damage."""
    with Reader(life, window=SMALL_WINDOW, begin=begin) as reader:
        while (found := reader.step(start)) is not None:
            if stop is not None and reader.next_seq >= stop:
                yield from (stored for stored in found if stored.seq < stop)
                return
            yield from found


def blob(life: Life, ref: BlobRef) -> bytes:
    """Raises Corrupt, Erased."""
    try:
        fd = os.open(life.audio, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Corrupt(life.audio, offset=ref.offset, seq=None, reason="the blob file is gone") from None
    try:
        if not audio.is_erased(fd):
            return audio.read(fd, ref, path=life.audio)
    except Corrupt:
        if not audio.is_erased(fd):  # it may have been while it was read
            raise
    finally:
        os.close(fd)
    raise Erased(life.session, life.incarnation)


async def follow(life: Life, start: int) -> AsyncIterator[Stored | CaughtUp | SealedMark]:
    """Everything from `start`, then what comes; ends with the seal."""
    import asyncio  # for those who follow; whoever only reads need not wait for it

    with Reader(life, window=SMALL_WINDOW) as reader:
        caught_up = False
        while True:
            while reader.has_more() and (found := reader.step(start)) is not None:
                for stored in found:
                    yield stored
                await asyncio.sleep(0)
            if not caught_up:
                caught_up = True
                yield CaughtUp(Seq(reader.next_seq))
            if reader.sealed:
                yield SealedMark(Seq(reader.next_seq))
                return
            await asyncio.sleep(POLL_S)
