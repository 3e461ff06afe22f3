"""How many operations of one session are at a stage and not yet in the log.

An operation holds its credit from the moment it is asked until the last of its outputs is acknowledged, or
until its epoch is void. Both sides of a link keep this account with the same rules. A heavy one (an
utterance, images) also holds the bytes it came with: one fits always, several together up to HEAVY_LIMIT.
"""

from __future__ import annotations

from antiphon.actors.stages.contract import EndTurn, Listen, Speak
from antiphon.events.ids import Operation

LIGHT = 64 * 1024
"""Bytes of an operation that are not counted: WINDOW of them are no matter."""
HEAVY_LIMIT = 16 * 1024 * 1024
REMEMBERED = 1024
"""Ended operations remembered one by one; older ones are known by being older."""

Work = Listen | EndTurn | Speak


def is_output_side(work: Work, *, role: str) -> bool:
    """Whether a cancel voids this work. The user's own words (voice scores, recognitions) are never void."""
    return type(work) is not Listen or not (work.whole or role == "voice")


def weight_of(work: Work) -> int:
    """Bytes of media that the work comes with."""
    if type(work) is not Listen:
        return 0
    return len(work.pcm) + sum(map(len, work.images)) if work.images else len(work.pcm)


class Window:
    """The operations of one session that hold a credit, and those that have ended."""

    __slots__ = ("_ended", "_ending", "_epochs", "_forgotten", "_heavy", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._epochs: dict[Operation, int | None] = {}
        """The epoch of output-side work; None for work that no cancel voids."""
        self._heavy: dict[Operation, int] = {}
        self._ending: dict[int, Operation] = {}
        """Output number -> the operation it is the last of, until that number is acknowledged."""
        self._ended: dict[Operation, None] = {}
        self._forgotten = Operation(-1)
        """The highest operation that has ended and is no longer remembered one by one."""

    def __len__(self) -> int:
        return len(self._epochs)

    def has_ended(self, operation: Operation) -> bool:
        """Whether the last output of `operation` was said, or its epoch became void."""
        return operation in self._ended or operation <= self._forgotten

    def take(self, operation: Operation, epoch: int | None, weight: int = 0) -> bool:
        """Give `operation` a credit; False when there is none left. Asked again it costs nothing."""
        if operation in self._epochs or operation in self._ended or operation <= self._forgotten:
            return True
        if len(self._epochs) >= self._limit:
            return False
        if weight > LIGHT:
            if self._heavy and sum(self._heavy.values()) + weight > HEAVY_LIMIT:
                return False
            self._heavy[operation] = weight
        self._epochs[operation] = epoch
        return True

    def ended(self, operation: Operation, number: int) -> None:
        """The last output of `operation` is `number`. Said again: nothing happens."""
        self._ending[number] = operation
        self._remember(operation)

    def acknowledged(self, number: int) -> None:
        """Everything up to `number` is in the log: its credits come back."""
        for last in tuple(self._ending):
            if last <= number:
                operation = self._ending.pop(last)
                self._epochs.pop(operation, None)
                if self._heavy:
                    self._heavy.pop(operation, None)

    def taken_over(self) -> None:
        """A new writer does not know what has ended and is not acknowledged: it will ask for other things."""
        for operation in self._ending.values():
            self._release(operation)

    def voided(self, epoch: int) -> None:
        """Output-side work of epochs before `epoch` is void: its credits come back."""
        for operation in [op for op, of in self._epochs.items() if of is not None and of < epoch]:
            self._release(operation)
            self._remember(operation)

    def _release(self, operation: Operation) -> None:
        self._epochs.pop(operation, None)
        if self._heavy:
            self._heavy.pop(operation, None)

    def _remember(self, operation: Operation) -> None:
        self._ended[operation] = None
        if len(self._ended) > REMEMBERED:
            oldest = next(iter(self._ended))
            del self._ended[oldest]
            self._forgotten = max(self._forgotten, oldest)
