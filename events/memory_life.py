"""One life of a session as MemoryLog keeps it: what the two files of the segment store would hold."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence

from msgspec import Struct, field

from .codec import blob_of, decode, encode
from .container import Unpacking
from .envelope import BlobRef, Draft, Stored
from .errors import WrongSequence
from .ids import Seq, SessionId
from .segments import audio
from .segments.frame import (
    BATCH_END,
    CRITICAL,
    FRAME_SIZE,
    HAS_BLOB,
    HEADER_SIZE,
    SEAL,
    FileHeader,
    Seal,
    encode_frame,
    encode_header,
    encode_seal,
)
from .store import Ack, Head, Level
from .units import Moment
from .vocabulary import WriterOpened

Row = tuple[Moment, bool, bytes]
"""When, whether critical, and the stored event."""


class Life(Struct):
    header: FileHeader
    epoch: int = 0
    rows: list[Row] = field(default_factory=list)
    events_bytes: int = HEADER_SIZE
    """What the rows fill in an events file."""
    audio_end: int = audio.START
    """Where the payloads end, or ended."""
    audio: bytearray = field(default_factory=bytearray)
    """As the blob file would be, or the tombstone."""
    acks: dict[int, Ack] = field(default_factory=dict)
    """By the first seq of each batch."""
    seal: bytes = b""
    """The frame, once sealed."""
    erased: bool = False
    derived: dict[str, bytes] = field(default_factory=dict)
    followers: set[asyncio.Event] = field(default_factory=set)

    def head(self) -> Head:
        return Head(
            self.header.session,
            self.header.incarnation,
            self.epoch,
            Seq(len(self.rows)),
            0 if self.erased else len(self.audio),
            sealed=self.closed,
            erased=self.erased,
        )

    @property
    def closed(self) -> bool:
        """Nobody can write it any more: an erasure that was cut short may have left the seal out."""
        return self.erased or bool(self.seal)

    def add(self, rows: list[Row], ack: Ack) -> None:
        self.rows += rows
        self.events_bytes += sum(FRAME_SIZE + len(stored) for _, _, stored in rows)
        self.acks[ack.first] = ack
        for ref in ack.blobs:
            self.audio_end += 0 if ref is None else ref.length

    def wake(self) -> None:
        for follower in self.followers:
            follower.set()

    def close(self, reason: str) -> None:
        """Put the seal at the end. Repeating is harmless."""
        if self.seal:
            return
        footer = Seal(reason, len(self.rows), self.events_bytes, self.audio_end)
        self.seal = encode_seal(
            footer,
            seq=len(self.rows),
            wall_ns=time.time_ns(),
            mono_ns=time.monotonic_ns(),
            seed=self.header.seed,
        )
        self.derived.clear()
        self.wake()

    def erase_audio(self) -> None:
        if not self.erased:
            self.erased, erased_bytes = True, len(self.audio) - audio.START
            self.audio[:] = audio.tombstone(
                self.header.salt, when_ns=time.time_ns(), erased_bytes=erased_bytes
            )

    def stored(self, seq: int) -> Stored:
        at, critical, stored = self.rows[seq]
        return decode(stored, seq=seq, at=at, critical=critical)

    def append(self, expected: Seq, batch: Sequence[Draft]) -> Ack:
        """Raises TooLarge, WrongSequence."""
        if expected != len(self.rows):
            return self._repeated(expected, batch)
        rows, blobs = _encode(batch, len(self.audio))
        for draft in batch:
            self.audio += draft.blob or b""
        ack = Ack(expected, Seq(expected + len(rows) - 1), Level.MEMORY, blobs)
        self.add(rows, ack)
        self.wake()
        return ack

    def _repeated(self, expected: Seq, batch: Sequence[Draft]) -> Ack:
        """The first answer, if this very batch is stored there already."""
        ack = self.acks.get(expected)
        if ack is not None and ack.last - ack.first + 1 == len(batch):
            offsets = [ref.offset for ref in ack.blobs if ref is not None]
            rows, _ = _encode(batch, offsets[0] if offsets else 0)
            if rows == self.rows[ack.first : ack.last + 1]:
                return ack
        raise WrongSequence(self.header.session, expected=expected, actual=len(self.rows))

    def events_file(self) -> bytes:
        ends, seed = {int(ack.last) for ack in self.acks.values()}, self.header.seed
        frames = [encode_header(self.header)]
        for seq, (at, critical, stored) in enumerate(self.rows):
            flags = critical * CRITICAL | (blob_of(stored) is not None) * HAS_BLOB | (seq in ends) * BATCH_END
            frames.append(encode_frame(seq, at.wall_ns, at.mono_ns, flags, stored, seed))
        return b"".join(frames) + self.seal


def begin(session: SessionId, incarnation: int) -> Life:
    header = FileHeader(session, incarnation, time.time_ns(), secrets.token_bytes(16))
    return Life(header, audio=bytearray(audio.encode_header(header)))


def unpacked(unpacking: Unpacking) -> Life:
    """What a container holds. Raises Corrupt."""
    header = unpacking.header
    life = Life(header, audio=bytearray(unpacking.tombstone or audio.encode_header(header)))
    life.erased = unpacking.tombstone is not None
    rows: list[Row] = []
    blobs: list[BlobRef | None] = []
    for entry in unpacking:
        if entry.flags & SEAL or entry.stored is None:
            life.seal = entry.frame
            continue
        stored = entry.stored
        life.audio += entry.payload
        rows.append((stored.at, stored.critical, entry.frame[FRAME_SIZE:]))
        blobs.append(stored.blob)
        if type(stored.event) is WriterOpened:
            life.epoch = stored.event.writer_epoch
        if entry.flags & BATCH_END:
            first = Seq(stored.seq + 1 - len(rows))
            life.add(rows, Ack(first, stored.seq, Level.MEMORY, tuple(blobs)))
            rows, blobs = [], []
    return life


def _encode(batch: Sequence[Draft], audio_end: int) -> tuple[list[Row], tuple[BlobRef | None, ...]]:
    rows: list[Row] = []
    blobs: list[BlobRef | None] = []
    for draft in batch:
        stored, ref = encode(draft, audio_end)
        rows.append((draft.at, not draft.event.ancillary, stored))
        blobs.append(ref)
        audio_end += ref.length if ref is not None else 0
    return rows, tuple(blobs)
