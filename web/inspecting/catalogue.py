"""The sessions of a store as a list, newest first, to be searched by their ids and by what was said in them.

A session that is over is read once; of one that goes on what has come is read, each time that it is listed. A
damaged one is listed by what lies before the damage, and read again when its file is another. A search looks
as long as `WITHIN_S` and then says how far it has come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from antiphon.events.errors import LogError, NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Holding
from antiphon.replay.inspect.summary import Summary
from antiphon.replay.lines import clock

MOST_KEPT = 1_000
MOST_CHARACTERS = 10_000_000
"""Of what was said in all sessions that are kept."""
WITHIN_S = 1.5
AROUND = 60
"""Characters that are shown around what was found."""


class Entry:
    """What is known of a life. `ends_at`: the size of its file and when it was written, once nothing more can
    be read of it."""

    def __init__(self) -> None:
        self.summary = Summary()
        self.damage: str | None = None
        self.ends_at: tuple[int, int] | None = None


class Catalogue:
    """Asked in threads, one question after the other."""

    def __init__(self, store: SegmentLog) -> None:
        self._store, self._lock = store, threading.Lock()
        self._known: dict[tuple[SessionId, int], Entry] = {}
        """The last listed behind."""
        self._characters = 0

    def listed(self, search: str, before: int, limit: int) -> dict[str, Any]:
        """At most `limit` sessions that were last written before the moment `before` (ns; 0: now).

        `next` is the moment to go on from, None where there are no more; `looked` how many were looked at. It
        is text: programs that read numbers as floating point would round it.
        """
        with self._lock:
            return self._listed(search.casefold(), before, limit)

    def _listed(self, search: str, before: int, limit: int) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        until, looked, last = time.monotonic() + WITHIN_S, 0, 0
        for held in self._latest(before):
            if len(rows) == limit or (looked and time.monotonic() > until):
                return {"sessions": rows, "next": str(last), "looked": looked}
            looked, last = looked + 1, held.last_written_ns
            row = self._row(held, search)
            if row is not None:
                rows.append(row)
        return {"sessions": rows, "next": None, "looked": looked}

    def _latest(self, before: int) -> Iterator[Holding]:
        """The latest life of each session, the last written first."""
        lives: dict[SessionId, Holding] = {}
        for held in self._store.holdings():
            if held.session not in lives or held.incarnation > lives[held.session].incarnation:
                lives[held.session] = held
        ordered = sorted(lives.values(), key=lambda held: held.last_written_ns, reverse=True)
        return (held for held in ordered if not before or held.last_written_ns < before)

    def _row(self, held: Holding, search: str) -> dict[str, Any] | None:
        """None: it is not what is searched for, or was erased meanwhile."""
        try:
            entry = self._entry(held)
        except NoSuchSession:
            return None
        summary = entry.summary
        found = _found(search, held.session, summary)
        if found is None:
            return None
        return {
            "session": held.session,
            "life": held.incarnation,
            "began": None if summary.began_ns is None else clock(summary.began_ns),
            "seconds": round((summary.last_ns - (summary.began_ns or summary.last_ns)) / 1e9, 3),
            "events": summary.next_seq,
            "mode": summary.mode,
            "dialects": summary.dialects,
            "responses": summary.responses,
            "interruptions": summary.interruptions,
            "faults": summary.faults,
            "live": held.live,
            "erased": held.erased,
            "audio_bytes": 0 if held.erased else held.audio_bytes,
            "ended": entry.damage or summary.ended,
            "damaged": entry.damage is not None,
            "said": found,
        }

    def _entry(self, held: Holding) -> Entry:
        """What is known of a life by now. Raises NoSuchSession."""
        key, size = (held.session, held.incarnation), (held.events_bytes, held.last_written_ns)
        entry = self._known.pop(key, None) or Entry()
        self._characters -= entry.summary.characters
        if entry.ends_at not in (None, size):  # salvaged, or imported anew: it may be another log
            entry = Entry()
        if entry.ends_at is None and self._read(held, entry):
            entry.ends_at = size
        self._known[key] = entry
        self._characters += entry.summary.characters
        self._make_room()
        return entry

    def _read(self, held: Holding, entry: Entry) -> bool:
        """Take what has come since the last time. Whether that is all that there will be."""
        summary, entry.damage = entry.summary, None
        try:
            for stored in self._store.read(
                held.session, incarnation=held.incarnation, start=summary.next_seq
            ):
                summary.take(stored)
        except NoSuchSession:
            raise
        except LogError as error:
            entry.damage = error.code
            return True
        except OSError:  # the next time it may be possible
            entry.damage = "unreadable"
            return False
        return held.sealed

    def _make_room(self) -> None:
        """Those that were not listed for the longest time are forgotten."""
        while len(self._known) > MOST_KEPT or self._characters > MOST_CHARACTERS:
            forgotten = self._known.pop(next(iter(self._known)))
            self._characters -= forgotten.summary.characters


def _found(search: str, session: SessionId, summary: Summary) -> str | None:
    """What was said where it was found, or first; None: it was not found."""
    if not search or search in session.casefold():
        return " ".join(summary.words[: 4 * AROUND].split())[: 2 * AROUND]
    words = " ".join(summary.words.split())
    at = words.casefold().find(search)
    if at < 0:
        return None
    begin = max(at - AROUND, 0)
    return ("…" if begin else "") + words[begin : at + len(search) + AROUND]
