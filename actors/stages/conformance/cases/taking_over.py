"""Another writer of the same session: it is told what is not in the log, and the session goes on."""

from __future__ import annotations

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.contract import Opened


class TakingOver(Tried):
    """A serving process that died, and the one that goes on."""

    def test_a_later_writer_is_told_again_what_was_not_acknowledged(self, rig: Rig) -> None:
        first = rig.opened()
        asked = first.ask(first.kinds[0])
        said = first.client.until(
            lambda: [output for output in first.outputs(asked.operation) if output.last], "the last output"
        )
        everything = first.outputs()
        second = rig.talk(rig.client(), name=first.session)
        assert isinstance(second.open(writer_epoch=2), Opened)
        second.client.until(lambda: len(second.outputs()) == len(everything), "everything again")
        assert second.outputs() == everything
        assert said[-1] in everything

    def test_what_was_acknowledged_is_not_said_again(self, rig: Rig) -> None:
        first = rig.opened()
        first.answered(first.kinds[0])
        second = rig.talk(rig.client(), name=first.session)
        assert isinstance(second.open(writer_epoch=2), Opened)
        second._operation, second._heard = first._operation, first._heard
        numbers = [output.number for output in second.answered(second.kinds[0])]
        assert numbers[0] == first.outputs()[-1].number + 1
        assert [output.number for output in second.outputs()] == numbers

    def test_work_under_way_ends_at_the_later_writer(self, rig: Rig) -> None:
        first = rig.opened()
        asked = first.ask(first.kinds[-1])
        rig.talk(first.client).close()  # answered after what was asked before it
        first.client.close()
        second = rig.talk(rig.client(), name=first.session)
        assert isinstance(second.open(writer_epoch=2), Opened)
        assert second.ended(asked)[-1].last
        assert [word.operation for word in rig.engine.words if word.last] == [asked.operation]
