"""A batch made ready to be written: every byte, and where it goes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from ..codec import encode
from ..completion import Completion
from ..envelope import Draft
from ..ids import Seq
from ..store import Ack, Level
from .frame import BATCH_END, CRITICAL, HAS_BLOB, Seal, encode_frame, encode_seal


class Batch(Struct, gc=False):
    """`frames` go to byte `events_at` of the events file, `payloads` to `audio_at` of the blob file."""

    first: int
    count: int
    events_at: int
    audio_at: int
    frames: bytes
    payloads: bytes
    ack: Ack
    acked: Completion[Ack]


def encode_batch(drafts: Sequence[Draft], first: int, events_at: int, audio_at: int, seed: int) -> Batch:
    """Raises TooLarge. The same drafts at the same places give the same bytes."""
    frames, payloads, blobs = [], [], []
    audio_end, seq, last = audio_at, first, first + len(drafts) - 1
    for draft in drafts:
        stored, ref = encode(draft, audio_end)
        at, flags = draft.at, 0 if draft.event.ancillary else CRITICAL
        if ref is not None and draft.blob is not None:
            flags |= HAS_BLOB
            audio_end += ref.length
            payloads.append(draft.blob)
        if seq == last:
            flags |= BATCH_END
        frames.append(encode_frame(seq, at.wall_ns, at.mono_ns, flags, stored, seed))
        blobs.append(ref)
        seq += 1
    ack = Ack(Seq(first), Seq(last), Level.PROCESS, tuple(blobs))
    return Batch(
        first, len(drafts), events_at, audio_at, b"".join(frames), b"".join(payloads), ack, Completion()
    )


def seal_batch(reason: str, first: int, events_at: int, audio_at: int, seed: int) -> Batch:
    """The seal of a log that ends before `first` and at these places; it holds no event."""
    seal = Seal(reason, first, events_at, audio_at)
    frame = encode_seal(seal, seq=first, wall_ns=time.time_ns(), mono_ns=time.monotonic_ns(), seed=seed)
    ack = Ack(Seq(first), Seq(first - 1), Level.PROCESS, ())
    return Batch(first, 0, events_at, audio_at, frame, b"", ack, Completion())
