"""The contract of a log store. Semantics are proven by the conformance suite on every store.

A session's log is a numbered sequence of events, written by one writer at a time. Who may write is a lease
(session, incarnation, writer_epoch): the epoch rises whenever the log is opened for writing, and an append
under an earlier one is refused inside the append. A session id may live again under the next incarnation
after its log was sealed; the old life stays readable.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from .completion import Completion
from .container import Container
from .envelope import BlobRef, Draft, Stored
from .ids import Seq, SessionId

Deliver = Callable[[Callable[[], None]], None]
"""Runs a callable on the thread that owns the session actors, e.g. `loop.call_soon_threadsafe`."""


class Level(enum.Enum):
    """What an Ack promises to have survived."""

    MEMORY = "memory"
    PROCESS = "process"
    POWER = "power"
    REPLICATED = "replicated"


class Expect(enum.Enum):
    """What the opener believes about the session id.

    NEW: no unsealed life of it exists (a sealed one makes this the next incarnation). RESUME: one exists.
    """

    NEW = "new"
    RESUME = "resume"


class Scope(enum.Enum):
    """What an erasure takes.

    AUDIO: every payload; events keep its length and checksum, so the log still verifies and folds.
    ALL: the events as well; the number of the incarnation stays taken.
    """

    AUDIO = "audio"
    ALL = "all"


class Lease(Struct, frozen=True):
    session: SessionId
    incarnation: int
    writer_epoch: int


class Head(Struct, frozen=True):
    """Where a log ends. `next_seq` is the seq the next event will get; `audio_bytes` the blob file's end.

    `erased`: the audio of this life was erased; then `audio_bytes` is 0 and it counts as sealed.
    """

    session: SessionId
    incarnation: int
    writer_epoch: int
    next_seq: Seq
    audio_bytes: int
    sealed: bool
    erased: bool = False


class Ack(Struct, frozen=True, gc=False):
    first: Seq
    last: Seq
    level: Level
    blobs: tuple[BlobRef | None, ...]
    """One per event of the batch, in order."""


class Holding(Struct, frozen=True):
    """What a store holds of one life. `last_written_ns` is wall time, of the last event or of the import.

    `live`: somebody has it open for writing. `sealed`: nothing will follow. Bytes are those of the files.
    """

    session: SessionId
    incarnation: int
    last_written_ns: int
    events_bytes: int
    audio_bytes: int
    live: bool
    sealed: bool
    erased: bool


class CaughtUp(Struct, frozen=True):
    """Said once by `follow` when everything stored at that moment has been yielded."""

    seq: Seq


class SealedMark(Struct, frozen=True):
    """The last thing `follow` says of a sealed log."""

    next_seq: Seq


class Log(Protocol):
    """Append-only event log of many sessions."""

    capabilities: frozenset[Level]

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        """Become the session's only writer: lock, recover a torn tail, raise the writer epoch.

        The caller's first append is WriterOpened, which makes the epoch part of the log. `owner` is shown
        to whoever is refused. Raises Locked, NoSuchSession (RESUME), WrongSequence (NEW, and an unsealed
        life with events exists), Sealed (RESUME of a sealed life), Corrupt, NotALog.
        """

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        """Store all of `batch` or nothing; completes when it is as safe as the store's level says.

        The same batch at the same place completes with the first Ack and is stored once. An empty batch
        is a ValueError, raised, not delivered. Later batches may be appended before earlier ones are
        acknowledged; they are stored in order and acknowledged in order, and one failure fails all behind
        it with OutcomeUnknown.

        Errors arrive through the completion: WrongSequence(actual), Fenced(current), Sealed, TooLarge,
        StoreFull; OutcomeUnknown when it may or may not be stored: the lease is dead, reopen and read.
        """

    def read(
        self, session: SessionId, *, incarnation: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Stored]:
        """Yield what is stored in [start, stop), oldest first; of the latest incarnation unless told.

        Never shows a torn or unacknowledged-and-lost record. Old versions are upcast. Raises
        NoSuchSession, Corrupt (after yielding what precedes the damage).
        """  # fmt: skip

    def read_blob(self, session: SessionId, ref: BlobRef, *, incarnation: int | None = None) -> bytes:
        """The payload `ref` names. Raises Corrupt when the checksum differs, Erased, NoSuchSession."""

    def follow(self, session: SessionId, *, start: int = 0) -> AsyncIterator[Stored | CaughtUp | SealedMark]:
        """Everything from `start`, then live, in any process: no gap, no duplicate; ends after SealedMark."""

    def head(self, session: SessionId, *, incarnation: int | None = None) -> Head:
        """Where the log ends now. Needs no lock. Raises NoSuchSession."""

    def sessions(self) -> Iterator[Head]:
        """The latest life of every session, in no promised order."""

    def lives(self, session: SessionId) -> tuple[int, ...]:
        """The incarnations that are stored, oldest first; not those erased with ALL. Raises NoSuchSession."""

    def export(self, session: SessionId, *, incarnation: int | None = None) -> Container:
        """A life as it is stored now, its seal included; of the latest incarnation unless told.

        Whole batches only: what is not yet acknowledged may be missing, and is never there in part. The same
        log gives the same bytes in every store. The caller closes it. Raises NoSuchSession, Corrupt.
        """

    def import_(self, container: Container) -> Head:
        """Take in an exported life under its own id and incarnation, once every byte has been checked.

        Nothing of it can be seen before that, and nothing stays when it is refused. Does not close the
        container. Raises LifeExists (also where that life was erased), NotALog, Corrupt, StoreFull.
        """

    def erase(self, session: SessionId, scope: Scope, *, incarnation: int | None = None) -> None:
        """Erase one life, or every life of the session if none is named. Repeating is harmless.

        A life that was never sealed is sealed first (reason `erased`). When it returns, no byte of what was
        to be erased is in any file of the store. A crash in between leaves each life readable or erased.
        Raises Locked while a writer lives (nothing is erased then), NoSuchSession.
        """

    def keep_derived(self, session: SessionId, incarnation: int, name: str, data: bytes) -> None:
        """Keep, in the place of what has that name, something that was computed from a life's events.

        It is no part of the log: nobody else is fenced off from it, it is not exported, and it goes with the
        seal. It may be gone at any time, and where it cannot be kept it is not; what is given back is what
        was kept, whole. `name` is of a-z and -. Raises NoSuchSession.
        """

    def derived(self, session: SessionId, incarnation: int, name: str) -> bytes | None:
        """What was kept under that name; None: nothing is there. Raises NoSuchSession."""

    def seal(self, lease: Lease, reason: str) -> None:
        """Close the log for ever. Later appends are refused as Sealed. Repeating is harmless.

        As safe as the store's level says. It may still be on its way when this returns: whoever asks this Log
        finds it sealed. Raises OutcomeUnknown or StoreFull when it is known to have failed, and Fenced.
        """

    def release(self, lease: Lease) -> None:
        """Give the writer's place up without sealing: flush, unlock. Repeating is harmless."""

    def close(self) -> None:
        """Release everything and stop any threads. The store may not be used afterwards."""
