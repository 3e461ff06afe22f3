"""A conversation as people heard it: stereo at 24 kHz, left the user, right what was played to the user.

The user's audio lies where it arrived: a piece that has just been spoken when it comes is placed so that it
ends then. Pieces follow each other without a gap while they come in time, give or take what networks do
(`JITTER`); a client that sends faster than one speaks is placed piece behind piece; silence stands where
nothing came. An answer begins where its first audio was handed to the client's socket, and goes as far as
the user heard of it (see actors/session/heard.py), or to its end where that is asked for.
"""

from __future__ import annotations

import struct
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import IO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.heard import heard_ms
from antiphon.actors.session.state import Played, Session
from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.store import Log
from antiphon.events.units import BYTES_PER_SAMPLE, SAMPLE_RATE, ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import AudioSpoken, FramesSent, InputAppended

from .timeline import Timeline

JITTER = ms_to_samples(200)
"""A piece that comes later than that after the one before it was not spoken right after it."""
WINDOW = SAMPLE_RATE
"""Samples that are mixed at a time."""
FRAME = 2 * BYTES_PER_SAMPLE
LONGEST = (2**32 - 64) // FRAME
"""Samples of each channel that a WAV file can hold: twelve hours."""

Pcm = NDArray[np.int16]
_start = attrgetter("start")


class TooLong(Exception):
    """The conversation is longer than a WAV file can be."""

    code = "too_long"

    def __init__(self, samples: int) -> None:
        hours = samples / SAMPLE_RATE / 3600
        super().__init__(
            f"{hours:.1f} hours do not fit into a WAV file; {LONGEST / SAMPLE_RATE / 3600:.1f} do"
        )


class Piece(Struct, frozen=True, gc=False):
    """Audio of one event, and where it lies: its first `samples` samples begin at `start`."""

    start: int
    samples: int
    blob: BlobRef


class Placed(Struct, frozen=True):
    """Everything that is to be heard, each channel in order of its beginning."""

    user: tuple[Piece, ...]
    played: tuple[Piece, ...]

    @property
    def samples(self) -> int:
        """Where the last sound ends."""
        return max((piece.start + piece.samples for piece in (*self.user, *self.played)), default=0)


class Run(Struct, frozen=True):
    """Pieces on a clock of their own, one behind the other: it begins at `begin`, and `samples` of it sound.

    `pieces` may grow: of what comes later nothing sounds.
    """

    begin: int
    samples: int
    pieces: Sequence[Piece]

    def during(self, start: int, stop: int) -> range:
        """The places of the pieces that may sound from sample `start` to `stop`."""
        first = bisect_right(self.pieces, start - self.begin, key=_start) - 1
        end = min(stop - self.begin, self.samples)
        return range(max(first, 0), bisect_left(self.pieces, end, key=_start))

    def __getitem__(self, place: int) -> Piece:
        """A piece as it lies among everything else, and only what sounds of it."""
        piece = self.pieces[place]
        return Piece(self.begin + piece.start, min(piece.samples, self.samples - piece.start), piece.blob)


class Laid(Struct, frozen=True):
    """Where everything lies: the user's pieces, and each answer's in the order of the answers."""

    user: Run
    played: tuple[Run, ...]

    def between(self, start: int, stop: int) -> Placed:
        """What sounds from sample `start` to `stop`, on a clock that begins at `start`."""

        def cut(run: Run) -> Iterator[Piece]:
            for piece in (run[place] for place in run.during(start, stop)):
                if piece.start + piece.samples > start:
                    yield Piece(piece.start - start, min(piece.samples, stop - piece.start), piece.blob)

        played = (piece for run in self.played for piece in cut(run))
        return Placed(tuple(cut(self.user)), tuple(sorted(played, key=_start)))


class Placing:
    """Lays a life's audio out by its events alone; told of them in order."""

    def __init__(self, session: SessionId) -> None:
        self.timeline, self.state = Timeline(), Session(session)
        self.user: list[Piece] = []
        self.sent: dict[ResponseId, int] = {}
        """Where the first audio of each answer was handed to a client."""
        self.made: dict[ResponseId, int] = {}
        """Where the first audio of each answer came from the model."""
        self._spoken: dict[ResponseId, list[Piece]] = {}

    def take(self, stored: Stored) -> None:
        self.timeline.pass_(stored)
        self.state = refold(self.state, stored)
        match stored.event:
            case InputAppended(samples=samples) if stored.blob is not None:
                start = _follow(self.user, self._arrived(stored) - samples)
                self.user.append(Piece(start, samples, stored.blob))
            case AudioSpoken(response=response, samples=samples, until_sample=until) if stored.blob:
                piece = Piece(until - samples, samples, stored.blob)
                self._spoken.setdefault(response, []).append(piece)
                self.made.setdefault(response, self._arrived(stored))
            case FramesSent(audio=reported):
                for one in reported:
                    self.sent.setdefault(one.response, self.timeline.place(one.first_mono_ns))

    def _arrived(self, stored: Stored) -> int:
        return self.timeline.place(stored.at.mono_ns)

    def laid(self, *, generated: bool = False) -> Laid:
        """All that there is so far. `generated`: also what nobody heard. In any thread."""
        return Laid(Run(0, _end(self.user), self.user), tuple(self._answers(self.state, generated)))

    def _answers(self, state: Session, generated: bool) -> Iterator[Run]:
        for played in state.played:
            begin = self.sent.get(played.response, self.made.get(played.response) if generated else None)
            if begin is not None:
                samples = played.generated if generated else heard_samples(played, state.mono_ns)
                yield Run(begin, samples, self._spoken.get(played.response, ()))


def place(events: Iterable[Stored], session: SessionId, *, generated: bool = False) -> Placed:
    """Lay out a whole life. `generated`: also what nobody heard."""
    placing = Placing(session)
    for stored in events:
        placing.take(stored)
    return placing.laid(generated=generated).between(0, sys.maxsize)


def _follow(before: list[Piece], start: int) -> int:
    """Where a piece begins that by its arrival would begin at `start`."""
    end = _end(before)
    return start if start - end > JITTER or (not before and start > 0) else end


def _end(pieces: Sequence[Piece]) -> int:
    return pieces[-1].start + pieces[-1].samples if pieces else 0


def heard_samples(played: Played, mono_ns: int) -> int:
    """How much of an answer was heard, in samples on its own clock. Whole milliseconds, unless it is all."""
    heard = heard_ms(played, mono_ns)
    return played.generated if heard >= samples_to_ms(played.generated) else ms_to_samples(heard)


def write_wav(placed: Placed, payload: Callable[[BlobRef], bytes], to: IO[bytes]) -> None:
    """Write the WAV file, a second at a time; `to` need not be able to seek.

    `payload` reads an event's audio; what it raises is passed on. Raises TooLong before anything is written.
    """
    samples = placed.samples
    if samples > LONGEST:
        raise TooLong(samples)
    to.write(_header(samples))
    left, right = _mixed(placed.user, payload), _mixed(placed.played, payload)
    for start in range(0, samples, WINDOW):
        stereo = np.stack((next(left), next(right)), axis=1)
        to.write(stereo[: samples - start].astype("<i2").tobytes())


def _header(samples: int) -> bytes:
    """Of a WAV file that is as long as it is said to be before it is written."""
    fmt = struct.pack("<IHHIIHH", 16, 1, 2, SAMPLE_RATE, SAMPLE_RATE * FRAME, FRAME, 8 * BYTES_PER_SAMPLE)
    size = samples * FRAME
    return struct.pack("<4sI8s", b"RIFF", 36 + size, b"WAVEfmt ") + fmt + struct.pack("<4sI", b"data", size)


def _mixed(pieces: Iterable[Piece], payload: Callable[[BlobRef], bytes]) -> Iterator[Pcm]:
    """One channel, window by window, for ever. Only what sounds in a window is held."""
    waiting = iter(pieces)
    coming = next(waiting, None)
    sounding: list[tuple[int, Pcm]] = []
    start = 0
    while True:
        end = start + WINDOW
        while coming is not None and coming.start < end:
            pcm = np.frombuffer(payload(coming.blob), dtype="<i2")[: coming.samples]
            sounding.append((coming.start, pcm.astype(np.int16)))
            coming = next(waiting, None)
        yield _window(sounding, start)
        sounding = [(begin, pcm) for begin, pcm in sounding if begin + len(pcm) > end]
        start = end


def _window(sounding: list[tuple[int, Pcm]], start: int) -> Pcm:
    """What sounds from `start` for a window. Answers that overlap are added; louder than full is cut."""
    total = np.zeros(WINDOW, np.int32)
    for begin, pcm in sounding:
        first, last = max(begin, start), min(begin + len(pcm), start + WINDOW)
        total[first - start : last - start] += pcm[first - begin : last - begin]
    return np.clip(total, -(2**15), 2**15 - 1).astype(np.int16)


def write_conversation(
    log: Log, session: SessionId, to: IO[bytes], *, incarnation: int | None = None, generated: bool = False
) -> None:
    """The sound of one life of a session. Raises LogError (also Erased), TooLong."""
    placed = place(log.read(session, incarnation=incarnation), session, generated=generated)
    write_wav(placed, lambda ref: log.read_blob(session, ref, incarnation=incarnation), to)
