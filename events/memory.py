"""A log that lives in memory, for tests: encoded and decoded like any other, but kept nowhere.

There is no lock. Opening a session again takes it over: the writer epoch rises and the lease before it is
fenced, as when another process takes over. So several writers can share one MemoryLog.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

from crc32c import crc32c
from msgspec import Struct, field

from .codec import decode, encode
from .completion import Completion
from .envelope import BlobRef, Draft, Stored
from .errors import Corrupt, Fenced, LogError, NoSuchSession, Sealed, WrongSequence
from .ids import Seq, SessionId
from .store import Ack, CaughtUp, Expect, Head, Lease, Level, SealedMark
from .units import Moment

_Row = tuple[Moment, bool, bytes]
"""When, whether critical, and the stored event."""


class _Life(Struct):
    session: SessionId
    incarnation: int
    epoch: int = 0
    sealed: bool = False
    rows: list[_Row] = field(default_factory=list)
    audio: bytearray = field(default_factory=bytearray)
    acks: dict[int, Ack] = field(default_factory=dict)
    """By the first seq of each batch."""
    followers: set[asyncio.Event] = field(default_factory=set)

    def head(self) -> Head:
        return Head(
            self.session, self.incarnation, self.epoch, Seq(len(self.rows)), len(self.audio), self.sealed
        )

    def wake(self) -> None:
        for follower in self.followers:
            follower.set()


class MemoryLog:
    """Implements `Log` (store.py). Belongs to one thread and, where followed, to one event loop."""

    capabilities = frozenset({Level.MEMORY})

    def __init__(self) -> None:
        self._lives: dict[SessionId, list[_Life]] = {}

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        lives = self._lives.get(session, [])
        latest = lives[-1] if lives else None
        if expect is Expect.RESUME:
            if latest is None:
                raise NoSuchSession(session)
            if latest.sealed:
                raise Sealed(session)
        elif latest is None or latest.sealed:
            latest = _Life(session, len(lives))
            self._lives.setdefault(session, []).append(latest)
        elif latest.rows:
            raise WrongSequence(session, expected=0, actual=len(latest.rows))
        latest.epoch += 1
        return Lease(session, latest.incarnation, latest.epoch), latest.head()

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        if not batch:
            raise ValueError("an append needs at least one event")
        try:
            return Completion.of(self._append(self._writable(lease), expected, batch))
        except LogError as error:
            return Completion.failed(error)

    def read(
        self, session: SessionId, *, incarnation: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Stored]:
        life = self._find(session, incarnation)
        end = len(life.rows) if stop is None else min(stop, len(life.rows))
        return (_stored(life, seq) for seq in range(start, end))

    def read_blob(self, session: SessionId, ref: BlobRef, *, incarnation: int | None = None) -> bytes:
        payload = bytes(self._find(session, incarnation).audio[ref.offset : ref.offset + ref.length])
        if len(payload) != ref.length or crc32c(payload) != ref.crc32c:
            raise Corrupt(f"memory:{session}", offset=ref.offset, seq=None, reason="damaged payload")
        return payload

    async def follow(
        self, session: SessionId, *, start: int = 0
    ) -> AsyncIterator[Stored | CaughtUp | SealedMark]:
        life, caught_up, changed = self._find(session, None), False, asyncio.Event()
        life.followers.add(changed)
        try:
            while True:
                changed.clear()
                while start < len(life.rows):
                    yield _stored(life, start)
                    start += 1
                if not caught_up:
                    caught_up = True
                    yield CaughtUp(Seq(len(life.rows)))
                elif life.sealed:
                    yield SealedMark(Seq(len(life.rows)))
                    return
                else:
                    await changed.wait()
        finally:
            life.followers.discard(changed)

    def head(self, session: SessionId, *, incarnation: int | None = None) -> Head:
        return self._find(session, incarnation).head()

    def sessions(self) -> Iterator[Head]:
        return iter([lives[-1].head() for lives in self._lives.values()])

    def seal(self, lease: Lease, reason: str) -> None:
        try:
            life = self._writable(lease)
        except Sealed:
            return
        life.sealed = True
        life.wake()

    def release(self, lease: Lease) -> None:
        try:
            self._writable(lease).epoch += 1  # nobody's: no lease carries it
        except LogError:
            return

    def close(self) -> None:
        """Nothing is held; what was stored stays readable."""

    def _find(self, session: SessionId, incarnation: int | None) -> _Life:
        lives = self._lives.get(session, [])
        try:
            return lives[-1 if incarnation is None else incarnation]
        except IndexError:
            raise NoSuchSession(session) from None

    def _writable(self, lease: Lease) -> _Life:
        life = self._find(lease.session, lease.incarnation)
        if life.sealed:
            raise Sealed(lease.session)
        if life.epoch != lease.writer_epoch:
            raise Fenced(lease.session, given=lease.writer_epoch, current=life.epoch)
        return life

    def _append(self, life: _Life, expected: Seq, batch: Sequence[Draft]) -> Ack:
        if expected != len(life.rows):
            return _repeated(life, expected, batch)
        rows, blobs = _encode(batch, len(life.audio))
        life.rows += rows
        for draft in batch:
            life.audio += draft.blob or b""
        ack = Ack(expected, Seq(expected + len(rows) - 1), Level.MEMORY, blobs)
        life.acks[expected] = ack
        life.wake()
        return ack


def _repeated(life: _Life, expected: Seq, batch: Sequence[Draft]) -> Ack:
    """The first answer, if this very batch is stored there already."""
    ack = life.acks.get(expected)
    if ack is not None and ack.last - ack.first + 1 == len(batch):
        offsets = [ref.offset for ref in ack.blobs if ref is not None]
        rows, _ = _encode(batch, offsets[0] if offsets else 0)
        if rows == life.rows[ack.first : ack.last + 1]:
            return ack
    raise WrongSequence(life.session, expected=expected, actual=len(life.rows))


def _encode(batch: Sequence[Draft], audio_end: int) -> tuple[list[_Row], tuple[BlobRef | None, ...]]:
    rows: list[_Row] = []
    blobs: list[BlobRef | None] = []
    for draft in batch:
        stored, ref = encode(draft, audio_end)
        rows.append((draft.at, not draft.event.ancillary, stored))
        blobs.append(ref)
        audio_end += ref.length if ref is not None else 0
    return rows, tuple(blobs)


def _stored(life: _Life, seq: int) -> Stored:
    at, critical, stored = life.rows[seq]
    return decode(stored, seq=seq, at=at, critical=critical)
