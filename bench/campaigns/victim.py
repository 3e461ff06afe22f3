"""A session of random batches whose every byte is known, among neighbours that nothing may happen to."""

from __future__ import annotations

import os
import random
from pathlib import Path

from antiphon.events.conformance.drafts import as_stored, audio, opened, text
from antiphon.events.envelope import Draft
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Log

from .outcome import Violation
from .stores import handle

VICTIM, NEIGHBOURS = SessionId("victim"), (SessionId("finished"), SessionId("resting"))
MOST_EVENTS, MOST_BLOB = 5, 400


class Victim:
    """A store with one session to damage. `ends` are the sizes of its files before and after each batch."""

    def __init__(self, root: Path, rng: random.Random, *, sealed: bool = False) -> None:
        self.root, self.sealed = root, sealed
        self.batches = _batches(rng, rng.randrange(4, 9))
        self.drafts = [draft for batch in self.batches for draft in batch]
        self.firsts = [sum(map(len, self.batches[:n])) for n in range(len(self.batches) + 1)]
        self.ends: list[tuple[int, int]] = []
        with handle(root) as log:
            self._fill(log, rng)
        self.whole = self.contents()
        self._neighbours = self._look_at_neighbours()

    def put(self, events: bytes, blobs: bytes) -> None:
        """Let the disk hold this of the victim."""
        os.chmod(self.events, 0o600)
        self.events.write_bytes(events)
        self.audio.write_bytes(blobs)
        if self.sealed:  # nobody may write it, and the store takes that for a sign
            os.chmod(self.events, 0o400)

    def put_batches(self, batches: int) -> None:
        """Let the disk hold the first so many batches, whole."""
        events, blobs = self.ends[batches]
        self.put(self.whole[0][:events], self.whole[1][:blobs])

    def contents(self) -> tuple[bytes, bytes]:
        return self.events.read_bytes(), self.audio.read_bytes()

    def whole_batches(self, events_size: int, audio_size: int) -> int:
        """How many batches lie wholly within files cut to these sizes."""
        return sum(events <= events_size and blobs <= audio_size for events, blobs in self.ends) - 1

    def look(self, log: Log) -> int:
        """How many events are shown. Raises Violation when one is not what was written; LogError."""
        count = 0
        for stored in log.read(VICTIM):
            if stored.seq != count or count >= len(self.drafts):
                raise Violation("undetected", f"event {stored.seq} is shown where {count} belongs")
            draft = self.drafts[count]
            if not as_stored(draft, stored):
                raise Violation("undetected", f"event {count} is shown, and is not what was written")
            if stored.blob is not None and log.read_blob(VICTIM, stored.blob) != draft.blob:
                raise Violation("undetected", f"the payload of event {count} is not what was written")
            count += 1
        if count not in self.firsts:
            raise Violation("torn", f"{count} events are shown: part of a batch")
        return count

    def expect(self, log: Log, count: int) -> None:
        """Exactly so many events are shown. Raises Violation."""
        shown = self.look(log)
        if shown < count:
            raise Violation("lost", f"{shown} events are shown, {count} were acknowledged and are whole")
        if shown > count:
            raise Violation("undetected", f"{shown} events are shown, {count} are whole")

    def go_on(self, log: SegmentLog, count: int) -> None:
        """Opened for writing, the log ends after `count` events, and takes the rest. Raises Violation."""
        lease, head = log.open(VICTIM, expect=Expect.RESUME, owner="the campaign")
        if head.next_seq != count:
            raise Violation("lost", f"opened, the log goes on at {head.next_seq} instead of {count}")
        for first, batch in zip(self.firsts, self.batches, strict=False):
            if first >= count:
                log.append(lease, Seq(first), batch).result()
        log.release(lease)
        self.expect(log, len(self.drafts))

    def check_neighbours(self) -> None:
        """Raises Violation when a byte of another session has changed."""
        if self._look_at_neighbours() != self._neighbours:
            raise Violation("disturbed", "another session of the store was touched")

    @property
    def events(self) -> Path:
        return self._life(VICTIM) / "events.log"

    @property
    def audio(self) -> Path:
        return self._life(VICTIM) / "audio.blob"

    def _life(self, session: SessionId) -> Path:
        (life,) = self.root.glob(f"sessions/*/{session}/0")
        return life

    def _fill(self, log: SegmentLog, rng: random.Random) -> None:
        for session in NEIGHBOURS:
            lease, _ = log.open(session, expect=Expect.NEW, owner="the campaign")
            log.append(lease, Seq(0), [opened(1), *_batches(rng, 2)[1]]).result()
            if session == NEIGHBOURS[0]:
                log.seal(lease, "done")
            log.release(lease)
        lease, _ = log.open(VICTIM, expect=Expect.NEW, owner="the campaign")
        self._note_ends()
        for first, batch in zip(self.firsts, self.batches, strict=False):
            log.append(lease, Seq(first), batch).result()
            self._note_ends()
        if self.sealed:
            log.seal(lease, "the end")
        log.release(lease)

    def _note_ends(self) -> None:
        self.ends.append((self.events.stat().st_size, self.audio.stat().st_size))

    def _look_at_neighbours(self) -> list[tuple[str, bytes]]:
        lives = [self._life(session) for session in NEIGHBOURS]
        return [(str(path), path.read_bytes()) for life in lives for path in sorted(life.iterdir())]


def _batches(rng: random.Random, count: int) -> list[list[Draft]]:
    """The first says who writes; the others are of random sizes, with and without payloads."""
    batches, seq = [[opened(1)]], 1
    for _ in range(count - 1):
        size = rng.randrange(1, MOST_EVENTS + 1)
        batches.append([_draft(rng, seq + k) for k in range(size)])
        seq += size
    return batches


def _draft(rng: random.Random, n: int) -> Draft:
    if rng.random() < 0.5:
        return text(n, "word " * rng.randrange(8))
    return audio(n, rng.randrange(MOST_BLOB))


def flipped(content: bytes, at: int, bit: int) -> bytes:
    return content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]
