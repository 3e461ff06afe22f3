"""What a log leaves, kept beside it: whoever goes on with a long session need not fold it from its beginning.

A checkpoint is derived: of other code, or of events that the log does not hold (any more), it is passed over,
and the log is folded from its beginning, which only takes longer. It names the code that made it by a digest
of its sources, and the events by the last of them: its place in the log and its moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from antiphon.events.envelope import Stored
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Log
from antiphon.events.units import Moment

from .modes import MODES
from .session.state import Session

EVERY = 512
"""Events of a live session between two checkpoints of its state, some ten seconds: to fold as many again
takes some 6 ms, and whoever takes the sessions of a process that died has many to fold, one after the other.
Making one takes a millisecond or two."""
STATE = "state"

T = TypeVar("T")


def next_after(seq: int) -> int:
    """The seq from which on the next is due. At fixed places: also where sessions change hands more often."""
    return (seq // EVERY + 1) * EVERY


class Checkpoint(Struct, Generic[T], frozen=True, array_like=True):
    """`value` is what the events before `seq` leave; `at` is the moment of the last of them."""

    made_by: bytes
    seq: Seq
    at: Moment
    value: T


class Checkpoints:
    """Those that one process makes and may use."""

    def __init__(self, log: Log, made_by: bytes) -> None:
        self._log, self._made_by = log, made_by

    def keep(self, session: SessionId, name: str, seq: Seq, at: Moment, value: Any) -> None:
        """In the place of the one that had this name. Raises NoSuchSession."""
        incarnation = self._log.head(session).incarnation
        data = msgspec.msgpack.encode(Checkpoint(self._made_by, seq, at, value))
        self._log.keep_derived(session, incarnation, name, data)

    def keep_state(self, state: Session) -> None:
        self.keep(state.id, STATE, state.seq, state.at, (replace(state, own=None), state.own))

    def find(self, session: SessionId, name: str, kind: type[T]) -> T | None:
        """The value, if the log holds what it was made of. Raises LogError where the log cannot be read."""
        found = self._found(session, name, kind)
        return None if found is None else found[0]

    def state(self, session: SessionId) -> tuple[Session, Iterator[Stored]]:
        """The latest that was kept, or the empty one, and the events behind it. Raises NoSuchSession."""
        found = self._found(session, STATE, tuple[Session, Raw])
        if found is None:
            return Session(session), self._log.read(session)
        (state, own), behind = found
        return with_own(state, own), behind

    def _found(self, session: SessionId, name: str, kind: type[T]) -> tuple[T, Iterator[Stored]] | None:
        data = self._log.derived(session, self._log.head(session).incarnation, name)
        if data is None:
            return None
        try:
            kept: Checkpoint[T] = msgspec.msgpack.decode(data, type=Checkpoint[kind])  # type: ignore[valid-type]
        except msgspec.MsgspecError:  # of other code
            return None
        behind = self._log.read(session, start=kept.seq - 1)
        last = next(behind, None)
        if kept.made_by != self._made_by or last is None or last.at != kept.at:
            return None
        return kept.value, behind


def with_own(state: Session, own: Raw) -> Session:
    """The state with its mode's slice, encoded by msgpack."""
    kind = MODES[state.mode].slice
    return state if kind is None else replace(state, own=msgspec.msgpack.decode(own, type=kind))


def digest_of(*packages: ModuleType) -> bytes:
    """Of the sources of some packages: equal where the code is."""
    digest = hashlib.blake2b(digest_size=16)
    for package in packages:
        root = Path(package.__path__[0])
        for source in sorted(root.rglob("*.py")):
            digest.update(f"{package.__name__}/{source.relative_to(root)}\0".encode())
            digest.update(source.read_bytes())
    return digest.digest()
