"""What a session has to say to its stages while they have no credit for it.

A stage takes a bounded number of operations per session; a client may send audio faster than that. What
exceeds the credit waits here, in order, and goes out as acknowledgements give credit back. The edge stops
reading from a client whose queue is long, so the queue is bounded by what one read brings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from antiphon.actors.link.codec import WindowFull
from antiphon.actors.stages.contract import Acknowledge, Cancel, Close, StageCommand

LONG = 64
"""Waiting commands from which on the edge should stop reading."""


class StageQueue:
    """One session's way to one stage, in front of the link's window."""

    __slots__ = ("_send", "_waiting")

    def __init__(self, send: Callable[[StageCommand], None]) -> None:
        self._send = send
        self._waiting: deque[StageCommand] = deque()

    @property
    def is_long(self) -> bool:
        return len(self._waiting) >= LONG

    def put(self, command: StageCommand) -> None:
        """Send now or later, in order. Cancels and acknowledgements wait for nothing."""
        if type(command) is Close:  # the session is over: what waits is not wanted any more
            self._waiting.clear()
            self._send(command)
        elif type(command) is Acknowledge or type(command) is Cancel:
            self._send(command)
            if self._waiting:
                self._drain()
        elif self._waiting:
            self._waiting.append(command)
        else:
            self._try(command)

    def forget(self) -> None:
        """The stage is gone, and with it everybody who could be told what waits."""
        self._waiting.clear()

    def _drain(self) -> None:
        while self._waiting and self._try(self._waiting[0], waiting=True):
            self._waiting.popleft()

    def _try(self, command: StageCommand, *, waiting: bool = False) -> bool:
        try:
            self._send(command)
        except WindowFull:
            if not waiting:
                self._waiting.append(command)
            return False
        return True
