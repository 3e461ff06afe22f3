"""A desk on a bench: an engine that only notes what it is asked, a post queue that a test runs, writers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal

from antiphon.actors.desk.desk import StageDesk
from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Descriptor,
    Emit,
    EndTurn,
    Listen,
    Open,
    Output,
    Speak,
    StageCommand,
    StageMessage,
    Turn,
)
from antiphon.events.ids import Fence, Operation, SessionId

SESSION = SessionId("s")


def fence(epoch: int = 0, *, session: str = SESSION, incarnation: int = 1) -> Fence:
    return Fence(SessionId(session), incarnation, epoch, epoch)


def speak(operation: int, epoch: int = 0, *, session: str = SESSION) -> Speak:
    return Speak(fence(epoch, session=session), Operation(operation), (Turn(role="user", text="hello"),))


def listen(operation: int, epoch: int = 0, *, whole: bool = False) -> Listen:
    return Listen(fence(epoch), Operation(operation), operation, b"\x00\x00", whole)


class NotingEngine:
    """Does nothing by itself; `emit` is for the test to use.

    What is named in `slow` takes until the test ends the future it finds in `pending`; what is named in
    `fail` raises `error`.
    """

    def __init__(
        self, *, role: Literal["voice", "model"] = "model", max_sessions: int = 4, **what: Any
    ) -> None:
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="noting",
            role=role,
            engine="noting-1",
            max_sessions=max_sessions,
            **what,
        )
        self.slow: set[str] = set()
        self.pending: deque[Future[None]] = deque()
        self.error: Exception = ZeroDivisionError()
        self.calls: list[str] = []
        self.asked: list[Operation] = []
        self.open_sessions: set[SessionId] = set()
        self.cancelled: list[tuple[Fence, Fence]] = []
        self.fail: set[str] = set()
        self.stopped = False

    def start(self, emit: Emit) -> None:
        self.emit = emit

    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        self.open_sessions.add(fence.session)
        return self._take("open")

    def listen(self, command: Listen) -> None:
        self._note("listen", command.operation)

    def end_turn(self, command: EndTurn) -> None:
        self._note("end_turn", command.operation)

    def speak(self, command: Speak) -> None:
        self._note("speak", command.operation)

    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        return self._take("configure")

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self._take("cancel")
        self.cancelled.append((fence, next_fence))

    def close(self, fence: Fence) -> Future[None] | None:
        waited_for = self._take("close")
        self.open_sessions.discard(fence.session)
        return waited_for

    def stop(self) -> None:
        self.stopped = True

    def _note(self, method: str, operation: Operation) -> None:
        self._take(method)
        self.asked.append(operation)

    def _take(self, method: str) -> Future[None] | None:
        self.calls.append(method)
        if method in self.fail:
            raise self.error
        if method not in self.slow:
            return None
        self.pending.append(Future())
        return self.pending[-1]


class Writer:
    """One connection's end: what it was told, in order."""

    def __init__(self, desk: StageDesk) -> None:
        self.told: list[StageMessage] = []
        self._peer = desk.connect(self.told.append)

    def send(self, *commands: StageCommand) -> None:
        self._peer.take(list(commands))

    def open(self, writer_epoch: int = 1, at: Fence | None = None) -> None:
        self.send(Open(at or fence(), writer_epoch, {}))

    def lost(self) -> None:
        self._peer.lost()

    @property
    def outputs(self) -> list[Output]:
        return [message for message in self.told if isinstance(message, Output)]

    @property
    def bodies(self) -> list[object]:
        return [output.body for output in self.outputs]


class Bench:
    """The desk with its engine, a clock that stands still, and what engine threads posted."""

    def __init__(self, engine: Any = None, *, on_death: Callable[[str], None] = lambda why: None) -> None:
        self.engine = NotingEngine() if engine is None else engine
        self.posted: deque[Callable[[], None]] = deque()
        self.now = 0.0
        self.desk = StageDesk(self.engine, self.posted.append, clock=lambda: self.now, on_death=on_death)

    def writer(self) -> Writer:
        return Writer(self.desk)

    def opened(self) -> Writer:
        writer = self.writer()
        writer.open()
        return writer

    def run_posted(self) -> None:
        while self.posted:
            self.posted.popleft()()
