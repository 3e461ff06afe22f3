"""An engine that takes its time over everything, in any order: what it is asked keeps its order and its bounds."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from antiphon.actors.stages.contract import (
    Cancel,
    Close,
    Closed,
    ConfigRefused,
    Configure,
    Configured,
    Consumed,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Open,
    Opened,
    Refused,
    Speak,
    Turn,
)
from antiphon.events.ids import Fence, Operation
from antiphon.events.units import ms_to_samples

from .desk_bench import Bench, NotingEngine, Writer, fence

UNIT = bytes(2 * ms_to_samples(100))
NAMES = ("a", "b", "c")
PLACES = 2


class SlowEngine(NotingEngine):
    """Opens, configures and closes when the test says so; notes what it is asked while it is at it."""

    def __init__(self) -> None:
        super().__init__(max_sessions=PLACES, hears="continuously", unit_ms=100, confirms_config=True)
        self.at_it: dict[str, tuple[str, Future[None]]] = {}
        self.disturbed: list[str] = []
        self.given: list[Listen | Speak] = []
        self.held: set[str] = set()

    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None]:
        self.held.add(fence.session)
        return self._begin("open", fence)

    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None]:
        return self._begin("configure", fence)

    def close(self, fence: Fence) -> Future[None]:
        return self._begin("close", fence)

    def listen(self, command: Listen) -> None:
        self._undisturbed("listen", command.fence)
        self.given.append(command)

    def speak(self, command: Speak) -> None:
        self._undisturbed("speak", command.fence)
        self.given.append(command)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        if self.at_it.get(fence.session, ("",))[0] in ("open", "close") or fence.session not in self.held:
            self.disturbed.append(f"cancel of {fence.session}")

    def _begin(self, call: str, fence: Fence) -> Future[None]:
        self._undisturbed(call, fence)
        future: Future[None] = Future()
        self.at_it[fence.session] = (call, future)
        return future

    def _undisturbed(self, call: str, fence: Fence) -> None:
        if fence.session in self.at_it or (call != "open" and fence.session not in self.held):
            self.disturbed.append(f"{call} of {fence.session}")

    def settle(self, session: str, error: Exception | None) -> None:
        call, future = self.at_it.pop(session)
        if (call == "close" and error is None) or (call == "open" and isinstance(error, EngineRefused)):
            self.held.discard(session)
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


class Sessions(RuleBasedStateMachine):
    """Three sessions that want two places."""

    @initialize()
    def begin(self) -> None:
        self.engine = SlowEngine()
        self.bench = Bench(self.engine)
        self.writer: Writer = self.bench.writer()
        self.epochs = dict.fromkeys(NAMES, 0)
        self.sent: dict[str, list[int]] = {name: [] for name in NAMES}
        self.configured = dict.fromkeys(NAMES, 0)
        self.closes = dict.fromkeys(NAMES, 0)
        self.operation = 0
        for name in NAMES[:PLACES]:
            self.open(name)
            self.engine.settle(name, None)
        self.bench.run_posted()

    def at(self, name: str) -> Fence:
        return fence(self.epochs[name], session=name)

    # --- what is asked ------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES))
    def open(self, name: str) -> None:
        self.writer.send(Open(self.at(name), 1, {}))

    @precondition(lambda self: self.bench.desk.sessions.of)
    @rule(data=st.data(), units=st.integers(1, 3))
    def ask_for_units(self, data: st.DataObject, units: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.bench.desk.sessions.of)))
        for _ in range(units):
            self.ask(name, unit=True)

    @rule(name=st.sampled_from(NAMES), unit=st.booleans())
    def ask(self, name: str, unit: bool) -> None:
        self.operation += 1
        operation = Operation(self.operation)
        turns = (Turn(role="user", text="?"),)
        command = (
            Listen(self.at(name), operation, 0, UNIT) if unit else Speak(self.at(name), operation, turns)
        )
        self.sent[name].append(operation)
        self.writer.send(command)

    @rule(name=st.sampled_from(NAMES))
    def configure(self, name: str) -> None:
        self.configured[name] += 1
        self.writer.send(Configure(self.at(name), self.configured[name], {}))

    @rule(name=st.sampled_from(NAMES))
    def cancel(self, name: str) -> None:
        void = self.at(name)
        self.epochs[name] += 1
        self.writer.send(Cancel(void, self.at(name)))

    @rule(name=st.sampled_from(NAMES), rarely=st.sampled_from([False, False, False, True]))
    def close(self, name: str, rarely: bool = True) -> None:
        if not rarely:
            return
        self.closes[name] += 1
        self.writer.send(Close(self.at(name), "done"))

    # --- what the engine does -----------------------------------------------------------------------------

    @precondition(lambda self: self.engine.at_it)
    @rule(data=st.data(), how=st.sampled_from(["done"] * 4 + ["refused", "broke"]), late=st.booleans())
    def the_engine_is_done(self, data: st.DataObject, how: str, late: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.engine.at_it)))
        call = self.engine.at_it[name][0]
        errors = {"done": None, "refused": EngineRefused("no", "no"), "broke": ZeroDivisionError()}
        error = errors[how]
        self.engine.settle(name, ZeroDivisionError() if call == "close" and how == "refused" else error)
        if not late:
            self.bench.run_posted()

    @precondition(lambda self: self.engine.given)
    @rule(data=st.data())
    def the_engine_ends_an_operation(self, data: st.DataObject) -> None:
        command = data.draw(st.sampled_from(self.engine.given))
        body = Consumed() if isinstance(command, Listen) else Finished()
        self.engine.emit(command.fence, command.operation, body, last=True)

    @rule()
    def the_loop_turns(self) -> None:
        self.bench.run_posted()

    @rule(seconds=st.sampled_from([0.1, 1.0, 40.0]))
    def time_passes(self, seconds: float) -> None:
        self.bench.now += seconds
        self.bench.desk.expire()

    # --- what always holds --------------------------------------------------------------------------------

    @invariant()
    def the_engine_is_asked_one_thing_of_a_session_at_a_time_and_nothing_of_one_it_does_not_hold(
        self,
    ) -> None:
        assert self.engine.disturbed == []

    @invariant()
    def no_more_sessions_are_held_than_there_are_places(self) -> None:
        assert len(self.engine.held) <= len(self.bench.desk) <= PLACES

    @invariant()
    def work_reaches_the_engine_once_and_in_the_order_it_was_asked(self) -> None:
        for name in NAMES:
            given = [command.operation for command in self.engine.given if command.fence.session == name]
            assert given == sorted(set(given))
            assert set(given) <= set(self.sent[name])

    @invariant()
    def one_unit_at_a_time(self) -> None:
        ended = {said.operation for said in self.writer.outputs if said.last}
        for name, session in self.bench.desk.sessions.of.items():
            units = [op for op in session.under_way if self._is_unit(op)]
            assert len(units) <= 1, name
            assert not set(units) & ended

    def _is_unit(self, operation: Operation) -> bool:
        return any(isinstance(c, Listen) and c.operation == operation for c in self.engine.given)

    @invariant()
    def nothing_is_told_twice(self) -> None:
        lasts = [(said.fence.session, said.operation) for said in self.writer.outputs if said.last]
        assert len(lasts) == len(set(lasts))
        for name in NAMES:
            decided = [
                told.generation
                for told in self.writer.told
                if isinstance(told, Configured | ConfigRefused) and told.fence.session == name
            ]
            assert decided == sorted(set(decided))
            assert self._told(name, Closed) <= self.closes[name]

    def _told(self, name: str, kind: type[Any]) -> int:
        return sum(isinstance(told, kind) and told.fence.session == name for told in self.writer.told)

    def teardown(self) -> None:
        """Everything that is waited for comes in the end."""
        if not hasattr(self, "engine"):
            return
        for name in NAMES:
            self.close(name)
        for _ in range(200):
            self.bench.run_posted()
            for name in sorted(self.engine.at_it):
                self.engine.settle(name, None)
            self.time_passes(40.0)
        assert self.engine.held == set()
        assert len(self.bench.desk) == 0
        for name in NAMES:
            assert self._told(name, Closed) == self.closes[name]
        self.the_engine_is_asked_one_thing_of_a_session_at_a_time_and_nothing_of_one_it_does_not_hold()
        openings = [told for told in self.writer.told if isinstance(told, Opened | Refused)]
        assert all(not isinstance(told, Failed) for told in openings)


Sessions.TestCase.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
TestSessions = Sessions.TestCase
