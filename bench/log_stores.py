"""The stores that bench.log measures, each given the same events and asked for the same things.

All encode events with our codec and decode them with it. What they promise differs, and is said: an answer of
level `process` means that the event survives whatever becomes of the process; `power`, that it also survives
a power cut.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol
from uuid import NAMESPACE_OID, UUID, uuid5

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from antiphon.events.codec import decode, encode
from antiphon.events.container import Unpacking
from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Lease
from antiphon.events.units import Moment

Round = Sequence[tuple[str, Draft]]
"""One event of each of several sessions."""


class Store(Protocol):
    """One store in a folder of its own."""

    def begin(self, session: str) -> None:
        """Make the session ready to take its first event."""

    def append(self, seq: int, round_: Round) -> None:
        """Store an event of each session, all at place `seq` of their logs; returns when all are stored."""

    def events(self, session: str) -> Iterator[Stored]:
        """The whole session, decoded; without its audio if the store can leave it."""

    def audio(self, session: str) -> int:
        """Read the whole session with its audio, decoded; the bytes of audio."""

    def close(self) -> None: ...


class Segments:
    """Ours, as the server uses it. Each session is its own file, so each event is its own write."""

    def __init__(self, folder: Path) -> None:
        self._delivered: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._log = SegmentLog(folder, deliver=self._delivered.put)
        self._leases: dict[str, Lease] = {}

    def begin(self, session: str) -> None:
        self._leases[session], _ = self._log.open(SessionId(session), expect=Expect.NEW, owner="bench")

    def append(self, seq: int, round_: Round) -> None:
        log, leases = self._log, self._leases
        answers = [log.append(leases[session], Seq(seq), (draft,)) for session, draft in round_]
        while self._log.stats.backlog:  # a slow disk: the answers come from the writer thread
            self._delivered.get()()
        for answer in answers:
            answer.result()

    def events(self, session: str) -> Iterator[Stored]:
        return self._log.read(SessionId(session))

    def audio(self, session: str) -> int:
        """As everything that reads a whole life does: from start to end, with every byte checked."""
        with self._log.export(SessionId(session)) as container:
            return sum(len(entry.payload) for entry in Unpacking(container))

    def close(self) -> None:
        self._log.close()


TABLE = """
CREATE TABLE IF NOT EXISTS event (
  session TEXT, seq INTEGER, wall INTEGER, mono INTEGER, critical INTEGER, stored BLOB, audio BLOB,
  PRIMARY KEY (session, seq))
"""
INSERT = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)"
COLUMNS = "seq, wall, mono, critical, stored"
OF_SESSION = "FROM event WHERE session = ? ORDER BY seq"


class Sqlite:
    """SQLite as one would use it for this: WAL, one table, one transaction for all events of a round."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        self._db = sqlite3.connect(folder / "events.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {synchronous}")
        self._db.execute(TABLE)

    def begin(self, session: str) -> None:
        """A session is there once it has an event."""

    def append(self, seq: int, round_: Round) -> None:
        rows = [_row(session, seq, draft) for session, draft in round_]
        if len(rows) == 1:
            self._db.execute(INSERT, rows[0])
            return
        self._db.execute("BEGIN")
        self._db.executemany(INSERT, rows)
        self._db.execute("COMMIT")

    def events(self, session: str) -> Iterator[Stored]:
        for row in self._db.execute(f"SELECT {COLUMNS} {OF_SESSION}", (session,)):
            yield _stored(*row)

    def audio(self, session: str) -> int:
        size = 0
        for *row, audio in self._db.execute(f"SELECT {COLUMNS}, audio {OF_SESSION}", (session,)):
            _stored(*row)
            size += len(audio or b"")
        return size

    def close(self) -> None:
        self._db.close()


def _row(session: str, seq: int, draft: Draft) -> tuple[object, ...]:
    stored, _ = encode(draft, 0)
    at = draft.at
    return session, seq, at.wall_ns, at.mono_ns, not draft.event.ancillary, stored, draft.blob


def _stored(seq: int, wall: int, mono: int, critical: int, stored: bytes) -> Stored:
    return decode(stored, seq=seq, at=Moment(mono, wall), critical=bool(critical))


class Recorder:
    """The `eventsourcing` library's SQLite recorder, alone: no aggregate, mapper or transcoder of its own.

    It has one state for each event, so the audio lies behind the event in it. Its settings know no durability
    level; SQLite's default is FULL. For NORMAL the pragma is set by hand.
    """

    def __init__(self, folder: Path, synchronous: str | None = None) -> None:
        self._datastore = SQLiteDatastore(str(folder / "events.db"))
        self._recorder = SQLiteApplicationRecorder(self._datastore)
        self._recorder.create_table()
        if synchronous is not None:
            with self._datastore.get_connection(commit=True) as connection:
                connection.cursor().execute(f"PRAGMA synchronous = {synchronous}")

    def begin(self, session: str) -> None:
        """A session is there once it has an event."""

    def append(self, seq: int, round_: Round) -> None:
        self._recorder.insert_events([_stored_event(session, seq, draft) for session, draft in round_])

    def events(self, session: str) -> Iterator[Stored]:
        for event in self._recorder.select_events(_id(session)):
            yield _of_state(event)[0]

    def audio(self, session: str) -> int:
        return sum(_of_state(event)[1] for event in self._recorder.select_events(_id(session)))

    def close(self) -> None:
        self._datastore.close()


@cache
def _id(session: str) -> UUID:
    return uuid5(NAMESPACE_OID, session)


def _stored_event(session: str, seq: int, draft: Draft) -> StoredEvent:
    """State: length of the event, wall and monotonic time, the event, the audio."""
    stored, _ = encode(draft, 0)
    at = draft.at
    head = len(stored).to_bytes(4) + at.wall_ns.to_bytes(8) + at.mono_ns.to_bytes(8)
    return StoredEvent(_id(session), seq, type(draft.event).__name__, head + stored + (draft.blob or b""))


def _of_state(event: StoredEvent) -> tuple[Stored, int]:
    """The event, and how many bytes of audio lie behind it."""
    state = memoryview(event.state)
    end = 20 + int.from_bytes(state[:4])
    at = Moment(int.from_bytes(state[12:20]), int.from_bytes(state[4:12]))
    return decode(state[20:end], seq=event.originator_version, at=at, critical=True), len(state) - end
