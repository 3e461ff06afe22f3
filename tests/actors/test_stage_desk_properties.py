"""Whatever happens in whatever order: no output is lost or doubled, and a void epoch is silent."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from antiphon.actors.stages.contract import (
    Acknowledge,
    Cancel,
    Cancelled,
    EndTurn,
    Failed,
    Finished,
    Opened,
    Output,
    Said,
)
from antiphon.events.ids import Operation

from .desk_bench import SESSION, Bench, Writer, fence, listen, speak


class OneSession(RuleBasedStateMachine):
    """A session at a stage: its writers come and go, its engine speaks whenever it likes."""

    @initialize()
    def open(self) -> None:
        self.bench = Bench()
        self.writers: list[Writer] = [self.bench.opened()]
        self.epoch = 0
        self.asked: list[Operation] = []
        self.commands: list[object] = []
        self.acknowledged = 0

    @property
    def writer(self) -> Writer:
        return self.writers[-1]

    # --- what the session does ----------------------------------------------------------------------------

    @rule(kind=st.sampled_from(["speak", "piece", "whole", "end_turn"]), late=st.booleans())
    def ask(self, kind: str, late: bool) -> None:
        operation = Operation(10 + len(self.asked))
        epoch = max(0, self.epoch - 1) if late else self.epoch
        command = {
            "speak": speak(operation, epoch),
            "piece": listen(operation, epoch),
            "whole": listen(operation, epoch, whole=True),
            "end_turn": EndTurn(fence(epoch), operation),
        }[kind]
        self.asked.append(operation)
        self.commands.append(command)
        self.writer.send(command)  # type: ignore[arg-type]

    @precondition(lambda self: self.commands)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        self.writer.send(data.draw(st.sampled_from(self.commands)))

    @rule()
    def cancel(self) -> None:
        self.writer.send(Cancel(fence(self.epoch), fence(self.epoch + 1)))
        self.epoch += 1

    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        seen = max((said.number for said in self.writer.outputs), default=0)
        number = data.draw(st.integers(0, seen))
        self.acknowledged = max(self.acknowledged, number)
        self.writer.send(Acknowledge(SESSION, number))

    @rule(lost_first=st.booleans())
    def take_over(self, lost_first: bool) -> None:
        if lost_first:
            self.writer.lost()
        self.writers.append(self.bench.writer())
        self.writer.open(len(self.writers), fence(self.epoch))

    @precondition(lambda self: len(self.writers) > 1)
    @rule(data=st.data())
    def a_zombie_writes(self, data: st.DataObject) -> None:
        zombie = data.draw(st.sampled_from(self.writers[:-1]))
        before = len(zombie.told)
        zombie.send(speak(999_999, self.epoch), Cancel(fence(self.epoch), fence(self.epoch + 5)))
        assert len(zombie.told) == before
        assert Operation(999_999) not in self.bench.engine.asked

    # --- what the engine does -----------------------------------------------------------------------------

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), last=st.booleans())
    def the_engine_speaks(self, data: st.DataObject, last: bool) -> None:
        operation = data.draw(st.sampled_from(self.asked))
        self.bench.engine.emit(fence(), operation, Finished() if last else Said("x"), last=last)

    @rule(count=st.integers(1, 3))
    def the_loop_turns(self, count: int) -> None:
        for _ in range(min(count, len(self.bench.posted))):
            self.bench.posted.popleft()()

    # --- what always holds --------------------------------------------------------------------------------

    @invariant()
    def every_operation_is_done_at_most_once(self) -> None:
        asked = self.bench.engine.asked
        assert len(asked) == len(set(asked))

    @invariant()
    def numbers_have_no_holes_and_say_one_thing(self) -> None:
        first: dict[int, Output] = {}
        for writer in self.writers:
            for said in writer.outputs:
                assert first.setdefault(said.number, said) == said
        assert sorted(first) == list(range(1, len(first) + 1))
        self._operations_are_whole(list(first.values()))

    def _operations_are_whole(self, outputs: list[Output]) -> None:
        by_operation: dict[Operation, list[Output]] = {}
        for said in outputs:
            by_operation.setdefault(said.operation, []).append(said)
        for said_of_one in by_operation.values():
            assert [said.index for said in said_of_one] == list(range(len(said_of_one)))
            assert not any(said.last for said in said_of_one[:-1])

    @invariant()
    def one_connection_is_told_nothing_twice(self) -> None:
        for writer in self.writers:
            numbers = [said.number for said in writer.outputs]
            assert numbers == sorted(set(numbers))

    @invariant()
    def the_current_writer_knows_all_that_is_neither_acknowledged_nor_void(self) -> None:
        everything = {said.number: said for writer in self.writers for said in writer.outputs}
        known = {said.number for said in self.writer.outputs}
        for number, said in everything.items():
            void = self._output_side(said) and said.fence.epoch < self.epoch
            assert number <= self.acknowledged or number in known or void

    @invariant()
    def a_void_epoch_is_only_refused(self) -> None:
        for writer in self.writers:
            epoch = 0
            for told in writer.told:
                if isinstance(told, Opened):
                    epoch = max(epoch, told.fence.epoch)
                elif isinstance(told, Cancelled):
                    epoch = max(epoch, told.next.epoch)
                elif isinstance(told, Output) and told.fence.epoch < epoch and self._output_side(told):
                    assert isinstance(told.body, Failed)
                    assert told.body.code == "stale_fence"

    def _output_side(self, said: Output) -> bool:
        command = self.commands[said.operation - 10]
        return not getattr(command, "whole", False)


OneSession.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestOneSession = OneSession.TestCase
