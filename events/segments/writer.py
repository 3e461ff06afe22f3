"""One life of a session as its only writer knows it.

A batch takes its place in the thread that owns the log, and is written there or in the store's writer thread
(lane.py). Its blobs are written before the frames that name them, its frames in one write. A write that
fails for lack of room is undone and costs nothing but itself, unless others were already taken in behind
it; any other failure ends the writer, because what lies on the disk is then not known.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence

from ..codec import blob_of
from ..completion import Completion
from ..envelope import BlobRef, Draft
from ..errors import LogError, OutcomeUnknown, StoreFull, TooLarge, WrongSequence
from ..ids import Seq
from ..store import Ack, Head, Lease
from . import audio
from .batch import Batch, encode_batch, seal_batch
from .descriptors import BlobFile
from .files import Files, as_log_error, write_rest
from .frame import FRAME_SIZE, frame_at
from .landmarks import Landmark
from .lock import Lock
from .recovery import REMEMBERED, Found, Place


class Writer:
    """Holds the lock until it has sealed or ended, or is dead after an unknown outcome."""

    def __init__(
        self, lease: Lease, lock: Lock, found: Found, blobs: BlobFile, *, seed: int, files: Files
    ) -> None:
        self.lease = lease
        self.dead = self._sealing = False
        self._lock, self._blobs = lock, blobs
        self._seed, self._files = seed, files
        self._open = True
        self._next, self._events_end, self._audio_end = found.next_seq, found.events_end, found.audio_end
        self._recent = deque(found.recent, maxlen=REMEMBERED)
        self.landmarks = found.landmarks
        """What lies before them was found sound when the log was opened, or written by us."""
        self._pending: deque[Batch] = deque()
        blobs.waiting = self._pending
        self._failed = False
        """Set where writes happen: nothing more may be written until `settle` has seen the failure."""

    # --- in the thread that owns the log

    def take(self, expected: Seq, drafts: Sequence[Draft]) -> Batch | Completion[Ack]:
        """Give the batch its place, or the answer it gets instead of one."""
        lease = self.lease
        if self.dead:
            return Completion.failed(
                OutcomeUnknown(f"session {lease.session}: an earlier append is in doubt")
            )
        try:
            if expected != self._next:
                return self._repeated(expected, drafts) or Completion.failed(
                    WrongSequence(lease.session, expected=expected, actual=self._next)
                )
            batch = encode_batch(drafts, expected, self._events_end, self._audio_end, self._seed)
        except TooLarge as error:
            return Completion.failed(error)
        if not self._blobs.used and batch.payloads:
            self._blobs.use()
        self._next += batch.count
        self._events_end += len(batch.frames)
        self._audio_end += len(batch.payloads)
        self._pending.append(batch)
        return batch

    def take_seal(self, reason: str) -> Batch:
        """The last thing to be written, behind everything taken. Raises OutcomeUnknown."""
        if self.dead or self._failed:
            raise OutcomeUnknown(f"session {self.lease.session}: an earlier append is in doubt")
        batch = seal_batch(reason, self._next, self._events_end, self._audio_end, self._seed)
        self._pending.append(batch)
        self._sealing = True
        return batch

    def settle(self, batch: Batch, error: LogError | None) -> None:
        """The batch was written, or was not because of `error`. Called in the order of `take`."""
        self._pending.popleft()
        if error is not None:
            self._fail(batch, error)
            return
        if not self._sealing:
            self._recent.append(Place(batch.first, batch.events_at, len(batch.frames)))
            if self.landmarks.is_due(batch.first):
                here = Landmark(batch.first, batch.events_at, batch.audio_at, self.lease.writer_epoch)
                self.landmarks.add(here)
        elif not self._pending:
            self.close()
        batch.acked.settle(batch.ack)

    def _fail(self, batch: Batch, error: LogError) -> None:
        if isinstance(error, StoreFull) and not self._pending and not self._sealing:
            self._next, self._events_end, self._audio_end = batch.first, batch.events_at, batch.audio_at
            self._failed = False
        else:
            self.dead = True
            self.close()
        batch.acked.fail(error)

    def head(self) -> Head:
        """As far as it is stored and acknowledged."""
        first = self._pending[0] if self._pending else None
        next_seq, audio_end = (first.first, first.audio_at) if first else (self._next, self._audio_end)
        lease = self.lease
        return Head(
            lease.session, lease.incarnation, lease.writer_epoch, Seq(next_seq), audio_end, sealed=False
        )

    def read_blob(self, ref: BlobRef) -> bytes:
        with self._blobs.opened() as blobs:
            return audio.read(blobs, ref, path=f"{self.lease.session}/audio.blob")

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def waits(self) -> bool:
        """Something it has taken has not been answered."""
        return bool(self._pending)

    def unlock(self) -> None:
        """Nothing more will be written, and the events file is closed. In the thread that wrote the last."""
        self._lock.drop()

    def close(self) -> None:
        """Unlock and let go of both files. Repeating is harmless."""
        if self._open:
            self._open = False
            self._blobs.close()
            self._lock.drop()

    def forget(self) -> None:
        """In a forked child: let go of everything without disturbing the parent, whose writer this is."""
        if self._open:
            self._open = False
            self._blobs.close()
            self._lock.forget()

    # --- in the thread that writes

    def write(self, batch: Batch, blobs: int = -1) -> LogError | None:
        """`blobs`: a descriptor of the blob file, if the one that is kept open is not to be used."""
        if self._failed:
            return OutcomeUnknown(f"session {self.lease.session}: an earlier append failed")
        frames, payloads = batch.frames, batch.payloads
        if payloads and blobs < 0 and (blobs := self._blobs.fd) < 0:
            return self._write_apart(batch)
        try:
            write, events = self._files.write, self._lock.events
            if payloads and (written := write(blobs, payloads)) < len(payloads):
                write_rest(self._files, blobs, payloads, written)
            if (written := write(events, frames)) < len(frames):
                write_rest(self._files, events, frames, written)
        except OSError as problem:
            self._failed = True
            error = as_log_error(problem, f"session {self.lease.session}")
            return error if isinstance(error, OutcomeUnknown) else self._undo(batch, blobs, error)
        return None

    def _write_apart(self, batch: Batch) -> LogError | None:
        """There was no place to keep the blob file open, or it could not be opened."""
        try:
            blobs = self._blobs.open()
        except OSError as problem:
            self._failed = True
            return as_log_error(problem, f"session {self.lease.session}")
        try:
            return self.write(batch, blobs)
        finally:
            os.close(blobs)

    def _undo(self, batch: Batch, blobs: int, error: LogError) -> LogError:
        try:
            self._files.truncate(self._lock.events, batch.events_at)
            if batch.payloads:
                self._files.truncate(blobs, batch.audio_at)
        except OSError as problem:
            return OutcomeUnknown(f"session {self.lease.session}: {error}, and undoing it failed: {problem}")
        return error

    # --- repeated appends

    def _repeated(self, expected: Seq, drafts: Sequence[Draft]) -> Completion[Ack] | None:
        """The answer to a batch that already has its place here; None if it has not."""
        for batch in self._pending:
            if batch.first == expected:
                again = encode_batch(drafts, expected, batch.events_at, batch.audio_at, self._seed)
                return _same(batch.acked) if again.frames == batch.frames else None
        for place in reversed(self._recent):
            if place.first == expected:
                return self._stored_before(place, drafts)
        return None

    def _stored_before(self, place: Place, drafts: Sequence[Draft]) -> Completion[Ack] | None:
        stored = os.pread(self._lock.events, place.size, place.offset)
        offsets = [ref.offset for ref in _blobs_in(stored, self._seed) if ref is not None]
        audio_at = offsets[0] if offsets else audio.START
        again = encode_batch(drafts, place.first, place.offset, audio_at, self._seed)
        return Completion.of(again.ack) if again.frames == stored else None


def _same(acked: Completion[Ack]) -> Completion[Ack]:
    """Settles as `acked` does, right after it."""
    copy: Completion[Ack] = Completion()

    def follow(done: Completion[Ack]) -> None:
        if done.error is not None:
            copy.fail(done.error)
        else:
            copy.settle(done.result())

    acked.then(follow)
    return copy


def _blobs_in(frames: bytes, seed: int) -> list[BlobRef | None]:
    view, at, refs = memoryview(frames), 0, []
    while frame := frame_at(view, at, seed):
        at += FRAME_SIZE + len(frame.payload)
        refs.append(blob_of(frame.payload))
    return refs
