"""Walking an events file: what of it is the log, and whether what follows is unfinished or damaged.

The log ends at its last sound BATCH_END. Whatever follows is an unfinished write, unless a sound frame that
belongs at or after the log's end lies further on: then bytes in the middle are not what was written, and the
file is Corrupt. Bytes up to the log's end never change, so a reader needs no lock; bytes behind it may be
cut and written anew while they are looked at, so damage must be seen twice before it is believed.
"""

from __future__ import annotations

import os

from ..codec import MAX_EVENT
from ..errors import Corrupt
from .frame import (
    BATCH_END,
    FRAME_SIZE,
    HAS_BLOB,
    SEAL,
    Frame,
    find_frame,
    frame_at,
    frames_in,
    length_of,
)

WINDOW = 1 << 20
"""Bytes looked at in one step. Grows while a batch is longer."""


class Scanner:
    """Stands at the end of what has been seen of a log: at byte `offset`, before event `seq`."""

    def __init__(self, fd: int, *, path: str, seed: int, offset: int, window: int = WINDOW) -> None:
        self._fd, self._path, self._seed, self._window = fd, path, seed, window
        self.offset, self.seq = offset, 0
        self.seal: Frame | None = None

    def enter(self, seq: int, offset: int) -> bool:
        """Stand before event `seq`, which lies at `offset`. Whether it does; if not, nothing has changed."""
        if offset == self.offset:
            return seq == self.seq
        length = length_of(os.pread(self._fd, FRAME_SIZE, offset))
        data = os.pread(self._fd, FRAME_SIZE + length, offset) if length <= MAX_EVENT else b""
        frame = frame_at(memoryview(data), 0, self._seed)
        if frame is None or frame.seq != seq or frame.flags & SEAL:
            return False
        self.offset, self.seq = offset, seq
        return True

    def step(self) -> list[Frame]:
        """The frames of the next whole batches; empty when there is nothing more (for now).

        A seal is not among them; it sets `seal` and is the last thing there is. Raises Corrupt.
        """
        window, suspect = self._window, b""
        while self.seal is None:
            data = os.pread(self._fd, window, self.offset)
            frames, end = self._batches(data)
            if end:
                self.offset += end
                return frames
            if len(data) == window:  # a long batch, or damage whose other side is not in sight yet
                window *= 2
                continue
            if not self._damaged(data):
                break
            if data == suspect:
                raise Corrupt(
                    self._path,
                    offset=self.offset,
                    seq=self.seq - 1 if self.seq else None,
                    reason="damaged frame",
                )
            suspect = data
        return []

    def rewind(self, frame: Frame) -> None:
        """Stand before `frame` again, the first of a batch that is not to be believed yet."""
        self.offset, self.seq, self.seal = frame.offset, frame.seq, None

    def _batches(self, data: bytes) -> tuple[list[Frame], int]:
        """All whole batches at the start of `data`, and the bytes they fill."""
        frames = frames_in(data, self.seq, self._seed, self.offset)
        while frames and not frames[-1].flags & BATCH_END:
            frames.pop()
        if not frames:
            return frames, 0
        last = frames[-1]
        if last.flags & SEAL:
            self.seal = frames.pop()
        self.seq += len(frames)
        return frames, last.offset + FRAME_SIZE + len(last.payload) - self.offset

    def _damaged(self, rest: bytes) -> bool:
        """Does a frame that belongs behind the log's end lie behind bytes that do not?"""
        view, at, seq = memoryview(rest), 0, self.seq
        while (frame := frame_at(view, at, self._seed)) and frame.seq == seq:  # an unfinished batch
            at += FRAME_SIZE + len(frame.payload)
            seq += 1
        later = find_frame(rest, at, self._seed)
        while later is not None and later.seq < seq:
            later = find_frame(rest, later.offset + 1, self._seed)
        return later is not None


def last_batch(fd: int, *, size: int, header: int, seed: int) -> tuple[Frame | None, Frame | None]:
    """The frame that ends the log, and the last one seen with a blob, found from the file's end.

    Reads only as much as needed, so that asking for a head costs the same for every length of log.
    """
    window = 1 << 12
    while True:
        start = max(header, size - window)
        data = os.pread(fd, size - start, start)
        last, with_blob = _walk(data, seed, start)
        if last is not None or start == header:
            return last, with_blob
        window *= 8


def _walk(data: bytes, seed: int, base: int) -> tuple[Frame | None, Frame | None]:
    view, at = memoryview(data), 0
    last: Frame | None = None
    with_blob: Frame | None = None
    unfinished: Frame | None = None
    while frame := frame_at(view, at, seed, base) or find_frame(data, at + 1, seed, base):
        at = frame.offset - base + FRAME_SIZE + len(frame.payload)
        if frame.flags & HAS_BLOB:
            unfinished = frame
        # A lower seq behind a higher one is not the log's: the disk had it there before.
        if frame.flags & BATCH_END and (last is None or frame.seq >= last.seq):
            last, with_blob = frame, unfinished or with_blob
    return last, with_blob
