"""What an engine says, kept in order; a test waits for an operation's last output, never for a time."""

import threading
from typing import TypeVar

from antiphon.actors.stages.contract import Body
from antiphon.events.ids import Fence, Operation, SessionId

WAIT_S = 60
"""Bound of every wait: reached only by a test that fails."""

B = TypeVar("B", bound=Body)


def fence(session: str = "s", epoch: int = 0) -> Fence:
    return Fence(SessionId(session), 1, epoch, 0)


class Collected:
    """An `Emit` to hand to an engine."""

    def __init__(self) -> None:
        self.outputs: list[tuple[Fence, Operation, Body, bool]] = []
        self._changed = threading.Condition()

    def __call__(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
        with self._changed:
            self.outputs.append((fence, operation, body, last))
            self._changed.notify_all()

    def bodies(self, operation: int, kind: type[B] = Body) -> list[B]:
        """What was said of an operation so far, of one kind or all."""
        return [body for _, of, body, _ in list(self.outputs) if of == operation and isinstance(body, kind)]

    def ended(self, operation: int) -> list[Body]:
        """Everything said of an operation, once it has ended."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: any(of == operation and last for _, of, _, last in self.outputs), WAIT_S
            )
            assert done, f"operation {operation} did not end; {len(self.outputs)} outputs in all"
        return self.bodies(operation)

    def said(self, operation: int, kind: type[B]) -> B:
        """The first output of a kind, once it is there."""
        with self._changed:
            done = self._changed.wait_for(lambda: self.bodies(operation, kind), WAIT_S)
            assert done, f"operation {operation} said no {kind.__name__}"
        return self.bodies(operation, kind)[0]
