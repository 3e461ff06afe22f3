"""A whole server in one thread: one actor, its log, its stages, its client, one clock, one scheduler.

Everything that may happen next is an action; a seeded random source picks one. So a run is its seed, and a
crash can be put before any step of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from thespian.actors import ActorSystem

from antiphon.actors.session import commands as c
from antiphon.actors.session.commands import StageRole
from antiphon.actors.session_actor import Ask, Retrieve, StageBack, StageGone, TimerDue
from antiphon.events.errors import NoSuchSession
from antiphon.events.ids import ItemId, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Log
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Abilities, AudioSent, Config, Overlap, Terms, TurnDetection
from antiphon.events.wavering import Fate

from .checker import Checker
from .customer import Customer
from .far_end import FarStage, Hears, model_script, voice_script
from .process import Process

CrashKind = Literal["process", "stages too", "machine"]

UNIT_MS = 200
Units = Literal["", "stream", "held"]
UNITS: tuple[Units, ...] = ("", "", "", "stream", "held")
"""Whether input comes in units, and by itself or when an answer is asked for."""

ROLES: tuple[StageRole, ...] = ("model", "voice")

WEATHER: dict[str, list[tuple[Fate, int]]] = {
    "calm": [(Fate.NOW, 1)],
    "late": [(Fate.NOW, 2), (Fate.LATE, 3)],
    "rough": [(Fate.NOW, 20), (Fate.LATE, 20), (Fate.FULL, 1), (Fate.STORED, 1), (Fate.LOST, 1)],
}


class Plan(Struct, frozen=True, kw_only=True):
    """What kind of run this is. All of it follows from the seed unless a test says otherwise."""

    seed: int
    steps: int = 140
    weather: str = "rough"
    hears: Hears = "utterances"
    detection: bool = True
    crashes: dict[int, CrashKind] = {}
    """Before which step what dies."""
    stage_dies_at: int | None = None
    closes: bool = True
    must_not_repeat: bool = False
    units: Units = ""

    @classmethod
    def of(cls, seed: int) -> Plan:
        rng = random.Random(f"plan {seed}")
        steps = rng.choice((60, 140, 260))
        crashes: dict[int, CrashKind] = {}
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            crashes[rng.randrange(steps)] = rng.choice(("process", "process", "stages too", "machine"))
        units = random.Random(f"units {seed}").choice(UNITS)
        return cls(
            seed=seed,
            units=units,
            steps=steps,
            weather=rng.choice(("calm", "late", "rough", "rough")),
            hears=_hears(rng.choice(("utterances", "utterances", "utterances", "continuously")), units),
            detection=rng.random() < 0.75,
            crashes=crashes,
            stage_dies_at=rng.randrange(steps) if rng.random() < 0.1 else None,
            closes=rng.random() < 0.8,
            must_not_repeat=rng.random() < 0.1,
        )


def _hears(chosen: Hears, units: Units) -> Hears:
    return "continuously" if units else chosen


class World:
    """The run of one plan."""

    def __init__(self, system: ActorSystem, plan: Plan, root: Path | None = None) -> None:
        self.system, self.plan = system, plan
        self.rng = random.Random(plan.seed)
        self.store: Log = (
            MemoryLog()
            if root is None
            else SegmentLog(root, deliver=lambda call: call(), slow_limit=1_000_000)
        )
        self.ms, self._booted_at, self._boots, self._wall_back = 0, 0, 0, 0
        self._weather = WEATHER[plan.weather]
        self._lives, self._sessions, self._stages_started = 0, 0, 0
        self.stages: dict[StageRole, FarStage] = {}
        self._start_stages()
        self.customer = Customer(self.rng, detection=plan.detection, duplex=bool(plan.units))
        self._open()

    # --- births and deaths --------------------------------------------------------------------------------

    def _start_stages(self) -> None:
        for role in ROLES:
            self._start_stage(role)

    def _start_stage(self, role: StageRole) -> None:
        unit_ms = UNIT_MS if self.plan.units else 0
        script = model_script(self.plan.hears, unit_ms=unit_ms) if role == "model" else voice_script()
        self._stages_started += 1
        self.stages[role] = FarStage(script, f"{role}-{self._stages_started}")

    def _open(self) -> None:
        """A client comes and a session begins."""
        self._sessions += 1
        self.session = SessionId(f"sess_{self._sessions}")
        self.checker = Checker(self.store, self.session)
        units = self.plan.units
        config = Config(
            turn_detection=TurnDetection() if self.plan.detection else None,
            auto_response=units == "stream",
            overlap=Overlap(policy="barge_in_on_speech" if self.plan.detection else "listen_only")
            if units
            else None,
        )
        abilities = Abilities(
            stage="scripted",
            hears=self.plan.hears,
            detects_voice=True,
            transcribes=self.plan.hears == "utterances",
            must_not_repeat=self.plan.must_not_repeat,
            unit_ms=UNIT_MS if units else 0,
            confirms_config=bool(units),
        )
        terms = Terms(disconnect_grace_s=3_600)
        self._live(
            c.OpenSession(incarnation=0, mode="duplex", abilities=abilities, config=config, terms=terms)
        )

    def _live(self, open_session: c.OpenSession | None) -> None:
        self.process = Process(self, self._lives)
        self._lives += 1
        self.checker.life(self.process.attendance)
        self.process.begin(open_session)

    def crash(self, kind: CrashKind) -> None:
        """The process dies; its successor finds the log, and perhaps the stages."""
        self.process.die()
        if kind != "process":
            self._start_stages()
        if kind == "machine":
            self._boots += 1
            self._booted_at = self.ms
        self._wall_back += self.rng.choice((0, 0, 5_000))
        self._resume()

    def _resume(self) -> None:
        try:
            sealed = self.store.head(self.session).sealed
        except NoSuchSession:
            sealed = True
        if sealed:
            self._open()
        else:
            self._live(None)

    def _after_an_abort(self) -> None:
        """The process told its client that it cannot go on."""
        code = self.process.attendance.aborted
        self.process.die()
        if code == "session_closed":  # it had ended while nobody was there
            self.checker.over(self)
            self._open()
        elif code == "no_such_session":  # it died before there was a session: nobody can miss it
            assert not any(
                type(stored.event).__name__ == "SessionOpened" for stored in self.store.read(self.session)
            )
            self._open()
        else:
            assert code == "log_unavailable", code
            self._resume()

    # --- time ---------------------------------------------------------------------------------------------

    @property
    def boot(self) -> str:
        return f"boot-{self._boots}"

    @property
    def moment(self) -> Moment:
        mono = (self.ms - self._booted_at + 1_000) * 1_000_000
        return Moment(mono, 10**18 + (self.ms - self._wall_back) * 1_000_000)

    def advance(self, ms: int) -> None:
        self.ms += ms
        for stage in self.stages.values():
            stage.engine.advance(ms)

    def fate(self) -> Fate:
        fates, weights = zip(*self._weather, strict=True)
        fate: Fate = self.rng.choices(fates, weights)[0]
        return fate

    # --- the scheduler ------------------------------------------------------------------------------------

    def run(self) -> World:
        """All steps, then whatever is still under way, then the end of the session, and all checks."""
        for at in range(self.plan.steps):
            if at in self.plan.crashes:
                self.crash(self.plan.crashes[at])
            if at == self.plan.stage_dies_at:
                self._kill_stage()
            self._step()
        self._weather = WEATHER["calm"]
        self._settle()
        self.checker.at_rest(self)
        if self.plan.closes and not self.process.over:
            self.process.tell(
                Ask(self.process.attendance, c.Detach(attachment=0, reason="closed", code=1000))
            )
            self._settle()
            self.checker.closed(self)
        self.process.die()
        return self

    def _step(self) -> None:
        actions = list(self._possible())
        pick = self.rng.choices([action for _, action in actions], [weight for weight, _ in actions])[0]
        pick()
        self._after_step()

    def _after_step(self) -> None:
        self.checker.after_step(self.process.commanded, self.process.log.known)
        self.process.commanded.clear()
        if self.process.attendance.aborted is not None:
            self._after_an_abort()
            self._after_step()
        elif self.process.over:
            self.checker.over(self)
            self.process.die()
            self._open()

    def _possible(self) -> Iterator[tuple[int, Callable[[], None]]]:
        yield 6, lambda: self.advance(self.rng.choice((5, 20, 80)))
        yield 1, lambda: self.advance(self.rng.choice((400, 1_500)))
        if not self.process.attendance.over:
            yield 8, lambda: self.customer.speak(self.process.attendance)
        yield from self._pending()

    def _pending(self) -> Iterator[tuple[int, Callable[[], None]]]:
        """What is under way: each of it can happen at any time, and nothing else is needed for it."""
        process = self.process
        if process.attendance.outgoing:
            yield 12, self._deliver_frame
        if process.attendance.unsent:
            yield 10, self._socket_takes
        if process.log.wavering.late:
            yield 8, lambda: process.log.wavering.settle(self.rng.randint(1, 3))
        if process.waiting:
            yield 10, process.hear_of_stages
        if any(due <= self.moment.mono_ns for due, _ in process.timers):
            yield 10, self._fire_timer
        for line in process.lines.values():
            if line.to_stage:
                yield 10, lambda line=line: line.deliver_to_stage(self._cut(line.to_stage))
            if line.to_server:
                yield 10, lambda line=line: line.deliver_to_server(self._cut(line.to_server))
        for stage in self.stages.values():
            if stage.posted:
                yield 10, stage.turn

    def _cut(self, held: bytearray) -> int:
        """Mostly all there is, sometimes a part that ends in the middle of a frame."""
        return len(held) if self.rng.random() < 0.6 else self.rng.randint(1, len(held))

    def _deliver_frame(self) -> None:
        attendance = self.process.attendance
        command = attendance.outgoing.popleft()
        self.checker.asked(attendance, command)
        self.process.tell(Ask(attendance, command))

    def _socket_takes(self) -> None:
        attendance = self.process.attendance
        for _ in range(self.rng.randint(1, 3)):
            if attendance.unsent:
                number, response, until = attendance.unsent.popleft()
        audio = (AudioSent(response, until, self.moment.mono_ns),)
        report = c.ReportSent(attachment=0, through=number, audio=audio)
        self.process.tell(Ask(attendance, report))

    def _fire_timer(self) -> None:
        due = [timer for timer in self.process.timers if timer[0] <= self.moment.mono_ns]
        timer = self.rng.choice(due)
        self.process.timers.remove(timer)
        self.process.tell(TimerDue(timer[1]))

    def _kill_stage(self) -> None:
        """A stage process dies under a living session."""
        role = self.rng.choice(ROLES)
        self.process.lines[role].cut()
        self._start_stage(role)
        self.process.waiting += [StageGone(role, "killed"), StageBack(role)]

    def _settle(self) -> None:
        """Let everything that is under way come to its end; time passes only when nothing else does."""
        idle = 0
        while idle < 30 or (self.process.timers and idle < 600):
            pending = [action for _, action in self._pending()]
            if pending:
                self.rng.choice(pending)()
                idle = 0
            else:
                self.advance(100)
                idle += 1
            self._after_settling_step()

    def _after_settling_step(self) -> None:
        self.checker.after_step(self.process.commanded, self.process.log.known)
        self.process.commanded.clear()
        if self.process.attendance.aborted is not None:
            self._after_an_abort()

    # --- for the checker ----------------------------------------------------------------------------------

    def live_state(self) -> Any:
        """The actor's own state, as a question about an item shows it; None if there is no item."""
        attendance = self.process.attendance
        items = [
            stored.event.item
            for stored in self.checker.log()
            if type(stored.event).__name__ in ("ResponseCreated", "InputCommitted")
            and getattr(stored.event, "outcome", "kept") not in ("silence", "acknowledgement")
        ]
        removed = {
            stored.event.item for stored in self.checker.log() if type(stored.event).__name__ == "ItemRemoved"
        }
        left = [item for item in items if item not in removed]
        if not left:
            return None
        self.process.tell(Retrieve(attendance, ItemId(left[-1]), None))
        return attendance.answers[-1].state
