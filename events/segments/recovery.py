"""Opening a life for writing: find where its log ends, and cut off what a dead writer left unfinished.

The log ends at the last whole batch whose blobs lie within the blob file; the blobs of that batch must also
be what was written. Frames are cut first, then blobs, so that no crash in between leaves a frame without
its blob. Damage before the end is not repaired: it is Corrupt, and both files stay as they are. Where
landmarks were kept, what lies before them is not looked at: an earlier writer did, and whoever reads it will.
"""

from __future__ import annotations

import os
import sys
from collections import deque

import msgspec
from msgspec import Struct, field

from ..codec import blob_of
from ..envelope import BlobRef
from ..errors import Corrupt, Sealed
from ..vocabulary import WriterOpened
from . import audio, landmarks
from .files import Files
from .frame import BATCH_END, FRAME_SIZE, HAS_BLOB, HEADER_SIZE, FileHeader, Frame
from .landmarks import BEGINNING, Landmark, Landmarks
from .layout import Life
from .scan import Scanner

REMEMBERED = 64
"""Batches back from the end within which a repeated append is recognised."""

_WRITER_OPENED = b"\x95" + msgspec.msgpack.encode(WriterOpened.__name__)


class _Epoch(Struct):
    """All that recovery reads of a WriterOpened, of whatever version."""

    writer_epoch: int


_epoch_of = msgspec.msgpack.Decoder(tuple[str, int, object, object, _Epoch]).decode


class Place(Struct, frozen=True, gc=False):
    """Where a stored batch lies in the events file."""

    first: int
    offset: int
    size: int


class Found(Struct):
    """The end of a log. `recent` are the places of its last batches, oldest first."""

    next_seq: int = 0
    events_end: int = HEADER_SIZE
    audio_end: int = audio.START
    writer_epoch: int = 0
    recent: tuple[Place, ...] = ()
    landmarks: Landmarks = field(default_factory=Landmarks)

    def as_landmark(self) -> Landmark:
        return Landmark(self.next_seq, self.events_end, self.audio_end, self.writer_epoch)


def recover(life: Life, header: FileHeader, events_fd: int, audio_fd: int, files: Files) -> Found:
    """Make both files end where the log does. What lies before the last landmarks is not looked at.

    Raises Corrupt, and Sealed for a life that has ended.
    """
    erased = audio.is_erased(audio_fd)  # then there is nothing to do but to seal it
    if not erased and not audio.belongs(audio_fd, header):
        raise Corrupt(life.audio, offset=0, seq=None, reason="not the blob file of this log")
    audio_size = sys.maxsize if erased else os.fstat(audio_fd).st_size
    found, batches = _end_of_log(life, header, events_fd, audio_size)
    if not erased:
        drop_unsound(found, batches, audio_fd, life)
    found.recent = tuple(_place(batch) for batch in batches)
    if os.fstat(events_fd).st_size > found.events_end:
        files.truncate(events_fd, found.events_end)
    if not erased and os.fstat(audio_fd).st_size > found.audio_end:
        files.truncate(audio_fd, found.audio_end)
    return found


def _end_of_log(
    life: Life, header: FileHeader, events_fd: int, audio_size: int
) -> tuple[Found, deque[list[Frame]]]:
    """Looked for from a landmark near it, or else from the beginning. Raises Corrupt, Sealed."""
    known = landmarks.kept(life).without_last()
    while True:
        scanner = Scanner(events_fd, path=life.events, seed=header.seed, offset=HEADER_SIZE)
        begin, earlier = known.last, known.without_last().not_kept()
        if scanner.enter(begin.seq, begin.offset):
            here = Found(begin.seq, begin.offset, begin.audio_end, begin.writer_epoch, landmarks=known)
            found, batches = find_end(scanner, audio_size, here)
            if scanner.seal is not None:
                raise Sealed(life.session)
            if begin == BEGINNING or len(batches) == REMEMBERED:
                return found, batches
        else:  # it is another log's
            earlier = Landmarks()
        # Those that are kept may be of a log that was longer.
        landmarks.forget(life)
        known = earlier


def find_end(
    scanner: Scanner, audio_size: int, found: Found | None = None
) -> tuple[Found, deque[list[Frame]]]:
    """The end of what the scanner sees, as far as the blobs lie within; and the last batches before it.

    `found` is the place where the scanner stands, if that is not the beginning. Raises Corrupt.
    """
    found = found or Found()
    batches: deque[list[Frame]] = deque(maxlen=REMEMBERED)
    batch: list[Frame] = []
    audio_end = found.audio_end
    while frames := scanner.step():
        for frame in frames:
            batch.append(frame)
            if frame.flags & HAS_BLOB:
                audio_end = _end_of(_blob(frame))
                if audio_end > audio_size:
                    return found, batches
            elif frame.payload[: len(_WRITER_OPENED)] == _WRITER_OPENED:
                found.writer_epoch = _epoch_of(frame.payload)[4].writer_epoch
            if frame.flags & BATCH_END:
                if found.landmarks.is_due(found.next_seq):
                    found.landmarks.add(found.as_landmark())
                found.next_seq, found.events_end, found.audio_end = frame.seq + 1, _end(frame), audio_end
                batches.append(batch)
                batch = []
    return found, batches


def drop_unsound(found: Found, batches: deque[list[Frame]], audio_fd: int, life: Life) -> None:
    """Take back batches from the end until the blobs of the last one are what was written."""
    while found.next_seq:
        if not batches:
            raise Corrupt(
                life.audio, offset=found.audio_end, seq=found.next_seq - 1, reason="damaged payloads"
            )
        refs = [_blob(frame) for frame in batches[-1] if frame.flags & HAS_BLOB]
        if all(_is_sound(audio_fd, ref, life) for ref in refs):
            return
        first = batches.pop()[0]
        found.next_seq, found.events_end, found.audio_end = first.seq, first.offset, refs[0].offset
        found.landmarks.forget_from(found.next_seq)


def _is_sound(audio_fd: int, ref: BlobRef, life: Life) -> bool:
    try:
        audio.read(audio_fd, ref, path=life.audio)
    except Corrupt:
        return False
    return True


def _blob(frame: Frame) -> BlobRef:
    ref = blob_of(frame.payload)
    assert ref is not None, "the frame says it has a blob"
    return ref


def _end_of(ref: BlobRef) -> int:
    return ref.offset + ref.length


def _end(frame: Frame) -> int:
    return frame.offset + FRAME_SIZE + len(frame.payload)


def _place(batch: list[Frame]) -> Place:
    return Place(batch[0].seq, batch[0].offset, _end(batch[-1]) - batch[0].offset)
