"""Places of a log at which it may be entered, so that who wants its end need not walk it from its beginning.

A writer knows those of all of its log. They are kept beside it when something derived is kept of a life that
is being written, so that the next writer and readers elsewhere know them, too. Whether the file still has
what a landmark says is looked at whenever one is used; what lies before it is not: it was found sound by the
writer that set it. Whoever reads it finds out whether it still is.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter

import msgspec
from msgspec import Struct

from . import audio, derived
from .files import Files
from .frame import HEADER_SIZE
from .layout import Life

EVERY = 256
"""Events between two: whoever enters walks so many in vain, a millisecond of them."""


class Landmark(Struct, frozen=True, array_like=True, gc=False):
    """Where a batch begins: the seq of its first event, its offset, and where the blobs before it end.
    `writer_epoch`: no writer before it had a later one."""

    seq: int
    offset: int
    audio_end: int
    writer_epoch: int


BEGINNING = Landmark(0, HEADER_SIZE, audio.START, 0)

_seq = attrgetter("seq")
_decode = msgspec.msgpack.Decoder(list[Landmark]).decode


class Landmarks:
    """Those of one log, in its order."""

    __slots__ = ("_all", "_kept")

    def __init__(self, known: Iterable[Landmark] = (BEGINNING,)) -> None:
        self._all = list(known)
        self._kept = len(self._all)
        """How many are, or were, beside the log."""

    @property
    def last(self) -> Landmark:
        return self._all[-1]

    def is_due(self, seq: int) -> bool:
        return seq - self._all[-1].seq >= EVERY

    def add(self, landmark: Landmark) -> None:
        self._all.append(landmark)

    def before(self, seq: int) -> Landmark:
        """The last that is not behind `seq`."""
        return self._all[bisect_right(self._all, seq, key=_seq) - 1]

    def without_last(self) -> Landmarks:
        """The beginning stays."""
        others = Landmarks(self._all[:-1] or (BEGINNING,))
        others._kept = self._kept
        return others

    def not_kept(self) -> Landmarks:
        """The same, of which nothing is beside the log any more."""
        return Landmarks(self._all)

    def forget_from(self, seq: int) -> None:
        """The log ends before `seq`. Its beginning stays."""
        del self._all[max(1, bisect_left(self._all, seq, key=_seq)) :]

    def keep(self, life: Life, files: Files) -> None:
        """Beside the log, if there are new ones."""
        if len(self._all) > self._kept:
            self._kept = len(self._all)
            derived.write(life.landmarks, msgspec.msgpack.encode(self._all), files)


def kept(life: Life) -> Landmarks:
    """Those that a writer kept; without any, the beginning."""
    data = derived.read(life.landmarks)
    if data is None:
        return Landmarks()
    try:
        return Landmarks(_decode(data) or (BEGINNING,))
    except msgspec.MsgspecError:  # of other code
        return Landmarks()


def forget(life: Life) -> None:
    """They are not this log's, or not any more."""
    with contextlib.suppress(OSError):
        os.unlink(life.landmarks)
