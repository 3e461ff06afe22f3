"""Reading a life without its lock: whole batches only, whose blobs are there.

A blob that is not there yet makes an unfinished batch. In a sealed log nothing is unfinished: its events are
read whatever has become of the blob file, and who asks for the blob is told.
"""

from __future__ import annotations

import os
from types import TracebackType

import msgspec

from ..codec import Known, blob_of, decode, decode_all
from ..envelope import BlobRef, Stored
from ..errors import Corrupt, NoSuchSession
from ..units import Moment
from . import audio
from .frame import BATCH_END, CRITICAL, HEADER_SIZE, SEAL, Frame
from .landmarks import BEGINNING, Landmark
from .layout import Life
from .scan import WINDOW, Scanner, last_batch


class Reader:
    """An open events file and a place in it. A context manager. Raises NotALog when the file is not ours.

    `begin` is where the first frame lies that is looked at; where it does not, the log is read from its
    beginning.
    Raises NoSuchSession when the life was erased meanwhile.
    """

    def __init__(self, life: Life, *, window: int = WINDOW, begin: Landmark = BEGINNING) -> None:
        self._life = life
        try:
            self._fd = os.open(life.events, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # erased since it was found
            raise NoSuchSession(life.session) from None
        try:
            self._seed = life.header(self._fd).seed
        except BaseException:
            os.close(self._fd)
            raise
        self._scanner = Scanner(
            self._fd, path=life.events, seed=self._seed, offset=HEADER_SIZE, window=window
        )
        self._scanner.enter(begin.seq, begin.offset)

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    @property
    def next_seq(self) -> int:
        """The seq of the event that would come next."""
        return self._scanner.seq

    @property
    def sealed(self) -> bool:
        """The seal has been seen: there will be nothing more."""
        return self._scanner.seal is not None

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def has_more(self) -> bool:
        """There are bytes behind what has been read: batches, or what will become or was to become one."""
        return not self.sealed and self.size() > self._scanner.offset

    def step(self, start: int = 0) -> list[Stored] | None:
        """The next whole batches, without the events before `start`; None when there are no more for now.

        Raises Corrupt.
        """
        frames = self._scanner.step()
        if not frames:
            return None
        # Asked after the frames were read: blobs are written first, so every blob they name is within.
        audio_end = self._audio_end()
        at_once = _known(frames, start, audio_end)
        return self._one_by_one(frames, start, audio_end) if at_once is None else at_once

    def _one_by_one(self, frames: list[Frame], start: int, audio_end: int) -> list[Stored] | None:
        events: list[Stored] = []
        whole, batch = 0, 0
        for place, frame in enumerate(frames):
            if frame.seq >= start:
                stored = self._decode(frame, first=batch == 0)
                missing = stored is not None and _blob_end(stored.blob) > audio_end
                if stored is None or (missing and not self._ends_with_seal()):
                    self._scanner.rewind(frames[batch])
                    del events[whole:]
                    return events if batch else None
                events.append(stored)
            if frame.flags & BATCH_END:
                whole, batch = len(events), place + 1
        return events

    def head(self) -> tuple[int, bool]:
        """(next seq, sealed) as of now, without walking the log if its end is whole."""
        last, with_blob = self._last_batch()
        if last is None:
            return 0, False
        if last.flags & SEAL:
            return last.seq, True
        blob = blob_of(with_blob.payload) if with_blob is not None else None
        if _blob_end(blob) > self._audio_end():
            while self.step() is not None:
                pass
            return self.next_seq, self.sealed
        return last.seq + 1, False

    def _last_batch(self) -> tuple[Frame | None, Frame | None]:
        return last_batch(self._fd, size=self.size(), header=HEADER_SIZE, seed=self._seed)

    def _ends_with_seal(self) -> bool:
        last, _ = self._last_batch()
        return last is not None and bool(last.flags & SEAL)

    def _decode(self, frame: Frame, *, first: bool) -> Stored | None:
        """None when it cannot be read and batches before its own can still be handed out."""
        at, critical = Moment(frame.mono_ns, frame.wall_ns), bool(frame.flags & CRITICAL)
        try:
            return decode(frame.payload, seq=frame.seq, at=at, critical=critical)
        except msgspec.MsgspecError as error:
            if not first:
                return None
            before, reason = frame.seq - 1 if frame.seq else None, f"not an event ({error})"
            raise Corrupt(self._life.events, offset=frame.offset, seq=before, reason=reason) from error

    def _audio_end(self) -> int:
        return audio.end(self._life.audio)


def _known(frames: list[Frame], start: int, audio_end: int) -> list[Stored] | None:
    """The events of all frames, if there is nothing about them that has to be looked at one by one."""
    if frames[0].seq < start:
        frames = [frame for frame in frames if frame.seq >= start]
    found = decode_all([frame.payload for frame in frames])
    if found is None or _last_blob_end(found) > audio_end:
        return None
    return [
        Stored(
            frame.seq,  # type: ignore[arg-type]  # a Seq
            Moment(frame.mono_ns, frame.wall_ns),
            known.event,
            known.blob,
            known.cause,
            frame.flags & CRITICAL == CRITICAL,
        )
        for frame, known in zip(frames, found, strict=True)
    ]


def _last_blob_end(found: list[Known]) -> int:
    """Payloads lie in the order of their events."""
    return next((_blob_end(known.blob) for known in reversed(found) if known.blob is not None), 0)


def _blob_end(ref: BlobRef | None) -> int:
    return 0 if ref is None else ref.offset + ref.length
