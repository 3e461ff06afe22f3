"""One life of the serving process: its handle of the log, its clock, its lines to the stages, its actor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from thespian.actors import ActorExitRequest

from antiphon.actors.session import commands as c
from antiphon.actors.session.commands import StageRole, TimerName
from antiphon.actors.session_actor import Begin, FromStage, SessionActor, StageBack, StageGone
from antiphon.actors.session_loop import Opening
from antiphon.actors.stages.contract import Acknowledge, Close, Open, StageCommand, StageMessage
from antiphon.events.completion import Completion
from antiphon.events.envelope import Draft
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Ack, Expect, Head, Lease, Log
from antiphon.events.units import Moment
from antiphon.events.wavering import Fate, WaveringLog

from .customer import Attendance
from .far_end import Line

if TYPE_CHECKING:
    from .world import World


class WatchedLog:
    """A process's own handle of the log. Knows what the process has been told is stored."""

    def __init__(self, store: Log, plan: Callable[[], Fate]) -> None:
        self.wavering = WaveringLog(store, plan)
        self.capabilities = store.capabilities
        self.known = 0
        self.lease: Lease | None = None
        self._store = store

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        self.lease, head = self.wavering.open(session, expect=expect, owner=owner)
        self.known = head.next_seq
        return self.lease, head

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        answer = self.wavering.append(lease, expected, batch)
        answer.then(self._noted)  # before the actor hears of it
        return answer

    def _noted(self, answer: Completion[Ack]) -> None:
        if answer.error is None:
            self.known = max(self.known, answer.result().last + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wavering, name)


class Process:
    """One life of the serving process. Implements Runtime for its one actor."""

    def __init__(self, world: World, life: int) -> None:
        self.world, self.alive, self.over = world, True, False
        self.log = WatchedLog(world.store, world.fate)
        self.timers: list[tuple[int, TimerName]] = []
        self.waiting: deque[object] = deque()
        """Told to the actor in a turn of its own."""
        self.commanded: list[StageCommand] = []
        self.attendance = Attendance(life)
        self.attendance.known = lambda: self.log.known
        self.lines: dict[StageRole, Line] = {
            role: Line(stage, role, self._heard) for role, stage in world.stages.items()
        }
        self.actor = world.system.createActor(SessionActor)

    def begin(self, open_session: c.OpenSession | None) -> None:
        writer = c.OpenWriter(writer_epoch=0, code="test", boot=self.world.boot, projections={"realtime": 1})
        opening = Opening(self.world.session, self.log, self, "test", writer, open_session)  # type: ignore[arg-type]
        self.tell(Begin(opening, self.attendance, c.Attach(dialect="realtime")))

    def tell(self, message: object) -> None:
        self.world.system.tell(self.actor, message)

    def hear_of_stages(self) -> None:
        """The next of what waits: that a stage has gone, or that it is back."""
        message = self.waiting.popleft()
        if isinstance(message, StageBack):
            role = message.stage
            self.lines[role] = Line(self.world.stages[role], role, self._heard)
        self.tell(message)
        if isinstance(message, StageGone) and self.lines[message.stage].up:
            self.tell(StageBack(message.stage))  # it was back before the session heard that it had gone

    def die(self) -> None:
        """Nothing of it goes on, and nobody tidies up; the operating system lets go of its files."""
        self.alive = False
        for line in self.lines.values():
            line.cut()
        if self.log.lease is not None:
            self.world.store.release(self.log.lease)
        self.world.system.tell(self.actor, ActorExitRequest())

    # --- Runtime ------------------------------------------------------------------------------------------

    def now(self) -> Moment:
        return self.world.moment

    def later(self, session: SessionId, due_mono_ns: int, name: TimerName) -> None:
        if self.alive:
            self.timers.append((due_mono_ns, name))

    def to_stage(self, stage: StageRole, command: StageCommand) -> None:
        if not self.alive:
            return
        self.commanded.append(command)
        if isinstance(command, Acknowledge):
            self.world.checker.acknowledged(stage, command, self.log.known)
        line = self.lines[stage]
        if line.up:
            line.queue.put(command)
        elif isinstance(command, Open | Close):
            self.waiting.append(StageGone(stage, "gone"))

    def hold(self, session: SessionId, held: bool) -> None:
        pass

    def ended(self, session: SessionId) -> None:
        assert not self.over, "ended twice"
        self.over = True

    def _heard(self, stage: StageRole, message: StageMessage) -> None:
        self.world.checker.heard(stage, message)
        self.tell(FromStage(stage, message))
