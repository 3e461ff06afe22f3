"""A log that lives in memory, for tests: encoded and decoded like any other, but kept nowhere.

There is no lock. Opening a session again takes it over: the writer epoch rises and the lease before it is
fenced, as when another process takes over. So several writers can share one MemoryLog.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator, Sequence

from crc32c import crc32c

from .completion import Completion
from .container import Container, Unpacking
from .envelope import BlobRef, Draft, Stored
from .errors import Corrupt, Erased, Fenced, LifeExists, LogError, NoSuchSession, Sealed, WrongSequence
from .ids import Seq, SessionId
from .memory_life import Life, begin, unpacked
from .segments import audio
from .segments.frame import is_session_id
from .store import Ack, CaughtUp, Expect, Head, Lease, Level, Scope, SealedMark


class MemoryLog:
    """Implements `Log` (store.py). Belongs to one thread and, where followed, to one event loop."""

    capabilities = frozenset({Level.MEMORY})

    def __init__(self) -> None:
        self._lives: dict[SessionId, dict[int, Life | None]] = {}
        """By incarnation, in order; None for a life that was erased as a whole."""

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        if not is_session_id(session):
            raise ValueError("a session id is 1 to 128 of A-Z a-z 0-9 _ -")
        latest = self._latest(session)
        if expect is Expect.RESUME:
            if latest is None:
                raise NoSuchSession(session)
            if latest.closed:
                raise Sealed(session)
        elif latest is None or latest.closed:
            latest = self._begin(session)
        elif latest.rows:
            raise WrongSequence(session, expected=0, actual=len(latest.rows))
        latest.epoch += 1
        return Lease(session, latest.header.incarnation, latest.epoch), latest.head()

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        if not batch:
            raise ValueError("an append needs at least one event")
        try:
            return Completion.of(self._writable(lease).append(expected, batch))
        except LogError as error:
            return Completion.failed(error)

    def read(
        self, session: SessionId, *, incarnation: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Stored]:
        life = self._find(session, incarnation)
        end = len(life.rows) if stop is None else min(stop, len(life.rows))
        return (life.stored(seq) for seq in range(start, end))

    def read_blob(self, session: SessionId, ref: BlobRef, *, incarnation: int | None = None) -> bytes:
        life = self._find(session, incarnation)
        if life.erased:
            raise Erased(session, life.header.incarnation)
        payload = bytes(life.audio[ref.offset : ref.offset + ref.length])
        if ref.offset < audio.START or len(payload) != ref.length or crc32c(payload) != ref.crc32c:
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
                    yield life.stored(start)
                    start += 1
                if not caught_up:
                    caught_up = True
                    yield CaughtUp(Seq(len(life.rows)))
                elif life.seal:
                    yield SealedMark(Seq(len(life.rows)))
                    return
                else:
                    await changed.wait()
        finally:
            life.followers.discard(changed)

    def head(self, session: SessionId, *, incarnation: int | None = None) -> Head:
        return self._find(session, incarnation).head()

    def sessions(self) -> Iterator[Head]:
        heads = [life.head() for life in map(self._latest, self._lives) if life is not None]
        return iter(heads)

    def lives(self, session: SessionId) -> tuple[int, ...]:
        self._find(session, None)
        return tuple(number for number, life in self._lives[session].items() if life is not None)

    def export(self, session: SessionId, *, incarnation: int | None = None) -> Container:
        life = self._find(session, incarnation)
        name = f"memory:{session}/{life.header.incarnation}"
        return Container(io.BytesIO(life.events_file()), io.BytesIO(bytes(life.audio)), name=name)

    def import_(self, container: Container) -> Head:
        unpacking = Unpacking(container)
        header = unpacking.header
        lives = self._lives.get(header.session, {})
        if header.incarnation in lives:
            erased = lives[header.incarnation] is None
            raise LifeExists(header.session, header.incarnation, erased=erased)
        life = unpacked(unpacking)
        lives[header.incarnation] = life
        self._lives[header.session] = dict(sorted(lives.items()))
        return life.head()

    def erase(self, session: SessionId, scope: Scope, *, incarnation: int | None = None) -> None:
        lives = self._lives.get(session, {})
        chosen = [number for number in lives if incarnation in (None, number)]
        if not chosen:
            raise NoSuchSession(session)
        for number in chosen:
            life = lives[number]
            if life is not None:
                life.close("erased")
                life.erase_audio()
            if scope is Scope.ALL:
                lives[number] = None

    def keep_derived(self, session: SessionId, incarnation: int, name: str, data: bytes) -> None:
        self._find(session, incarnation).derived[name] = data

    def derived(self, session: SessionId, incarnation: int, name: str) -> bytes | None:
        return self._find(session, incarnation).derived.get(name)

    def seal(self, lease: Lease, reason: str) -> None:
        try:
            self._writable(lease).close(reason)
        except Sealed:
            return

    def release(self, lease: Lease) -> None:
        try:
            self._writable(lease).epoch += 1  # nobody's: no lease carries it
        except LogError:
            return

    def close(self) -> None:
        """Nothing is held; what was stored stays readable."""

    def _begin(self, session: SessionId) -> Life:
        lives = self._lives.setdefault(session, {})
        number = max(lives, default=-1) + 1
        life = lives[number] = begin(session, number)
        return life

    def _latest(self, session: SessionId) -> Life | None:
        lives = self._lives.get(session, {})
        return next((life for life in reversed(lives.values()) if life is not None), None)

    def _find(self, session: SessionId, incarnation: int | None) -> Life:
        lives = self._lives.get(session, {})
        life = self._latest(session) if incarnation is None else lives.get(incarnation)
        if life is None:
            raise NoSuchSession(session)
        return life

    def _writable(self, lease: Lease) -> Life:
        life = self._find(lease.session, lease.incarnation)
        if life.closed:
            raise Sealed(lease.session)
        if life.epoch != lease.writer_epoch:
            raise Fenced(lease.session, given=lease.writer_epoch, current=life.epoch)
        return life
