"""What a stage keeps of one session: work under way, outputs not yet acknowledged, what was done before.

Pure bookkeeping, without engine and without I/O; desk.py decides with it.

* An operation is under way until its last output, its cancel or the session's close. Afterwards it is known:
  asked again it is not done again.
* While `waiting` is a queue the engine is busy with the session itself (opening it, configuring it), and what
  is asked stands in that queue. Its length is bounded by the window.
* An output is numbered when it is first said (1, 2, 3, …) and kept until it is acknowledged. Outputs of a
  void epoch are forgotten, so what is said again after a takeover may skip their numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from antiphon.actors.link.codec import WINDOW
from antiphon.actors.link.window import Window
from antiphon.actors.stages.contract import Body, Output, Said
from antiphon.events.ids import Fence, Operation


class UnderWay(Struct, gc=False):
    """An operation that the engine is doing. `epoch` is None if no cancel voids it."""

    fence: Fence
    epoch: int | None
    outputs: int = 0


class Retained(Struct, frozen=True, gc=False):
    """An output until it is acknowledged."""

    output: Output
    epoch: int | None
    weight: int


class StageSession:
    """One session at one stage."""

    __slots__ = (
        "_next_number",
        "cleaned",
        "current",
        "epoch",
        "fence",
        "generation",
        "opening",
        "retained",
        "retained_bytes",
        "under_way",
        "unit",
        "waiting",
        "window",
        "writer_epoch",
    )

    def __init__(self, fence: Fence, writer_epoch: int) -> None:
        self.fence = fence
        self.current = fence
        """The latest moment that a writer has named: what precedes its epoch is void."""
        self.epoch = fence.epoch
        self.cleaned = fence.epoch
        """The epoch up to which the engine was told what is void, without an error."""
        self.writer_epoch = writer_epoch
        self.opening = ""
        """Names the engine's life and this opening; empty until the engine has opened the session."""
        self.generation: int | None = None
        """The last configuration that the engine took, of those that were asked for here."""
        self.unit: Operation | None = None
        """The last unit that was given to the engine."""
        self.waiting: deque[Callable[[], None]] | None = deque()
        self.under_way: dict[Operation, UnderWay] = {}
        self.window = Window(WINDOW)
        self.retained: deque[Retained] = deque()
        self.retained_bytes = 0
        self._next_number = 1

    def knows(self, operation: Operation) -> bool:
        """Whether `operation` was taken or refused before."""
        return operation in self.under_way or self.window.has_ended(operation)

    def begin(self, operation: Operation, fence: Fence, epoch: int | None) -> None:
        self.under_way[operation] = UnderWay(fence, epoch)

    def say(self, operation: Operation, body: Body, *, last: bool) -> Output | None:
        """Number and keep what the engine says of `operation`; None if it is not (or no longer) under way."""
        work = self.under_way.get(operation)
        if work is None:
            return None
        index = work.outputs
        work.outputs = index + 1
        if last:
            del self.under_way[operation]
        return self._keep(work.fence, operation, index, body, epoch=work.epoch, last=last)

    def refuse(self, operation: Operation, fence: Fence, epoch: int | None, body: Body) -> Output:
        """Number and keep the refusal of an operation that was not begun."""
        return self._keep(fence, operation, 0, body, epoch=epoch, last=True)

    def acknowledged(self, number: int) -> None:
        """Everything up to `number` is in the log. Repeated or earlier: nothing happens."""
        retained = self.retained
        while retained and retained[0].output.number <= number:
            self.retained_bytes -= retained.popleft().weight
        self.window.acknowledged(number)

    def advance(self, following: Fence) -> None:
        """Output-side work before `following.epoch` is void. An earlier or equal epoch changes nothing."""
        epoch = following.epoch
        if epoch <= self.epoch:
            return
        self.epoch, self.current = epoch, following
        void = [op for op, work in self.under_way.items() if work.epoch is not None and work.epoch < epoch]
        for operation in void:
            del self.under_way[operation]
        self.window.voided(epoch)
        self.retained = deque(kept for kept in self.retained if kept.epoch is None or kept.epoch >= epoch)
        self.retained_bytes = sum(kept.weight for kept in self.retained)

    def _keep(
        self, fence: Fence, operation: Operation, index: int, body: Body, *, epoch: int | None, last: bool
    ) -> Output:
        number = self._next_number
        self._next_number = number + 1
        output = Output(fence, operation, number, index, last, body)  # type: ignore[arg-type]  # Body's union
        weight = 256 + len(body.pcm) + 4 * len(body.text) if type(body) is Said else 256
        self.retained.append(Retained(output, epoch, weight))
        self.retained_bytes += weight
        if last:
            self.window.ended(operation, number)
        return output
