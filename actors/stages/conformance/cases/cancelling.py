"""A cancel voids what came before it and nothing else, whenever and however often it is said."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.conformance.talk import Talk
from antiphon.actors.stages.contract import Cancel, Cancelled, CancelRefused, Failed
from antiphon.events.ids import Fence


def voidable(rig: Rig) -> Talk:
    talk = rig.opened()
    if not talk.voidable:
        pytest.skip("no cancel voids anything of this stage")
    return talk


class Cancelling(Tried):
    """Fences, and what a stage does about them."""

    def test_what_was_cancelled_says_nothing_more_and_the_next_is_answered(self, rig: Rig) -> None:
        talk = voidable(rig)
        for kind in talk.voidable:
            void = talk.ask(kind)
            talk.cancel()
            heard = talk.outputs(void.operation)
            assert talk.answered(kind)
            assert talk.outputs(void.operation) == heard

    def test_an_answer_is_cancelled_in_the_middle(self, rig: Rig) -> None:
        talk = voidable(rig)
        for kind in talk.voidable:
            void = talk.ask(kind)
            talk.begun(void)
            talk.cancel()
            heard = talk.outputs(void.operation)
            assert talk.answered(kind)
            assert talk.outputs(void.operation) == heard

    def test_a_session_is_cancelled_again_and_again(self, rig: Rig) -> None:
        talk = voidable(rig)
        for _ in range(20):
            talk.ask(talk.voidable[0])
            talk.cancel()
        assert talk.answered(talk.voidable[0])

    def test_cancelling_twice_is_cancelling_once(self, rig: Rig) -> None:
        talk = voidable(rig)
        talk.ask(talk.voidable[0])
        void, following = talk.fence, Fence(talk.session, 1, 1, 1)
        talk.cancel()
        for _ in range(2):
            rig.on_the_loop(lambda: rig.engine.cancel(void, following))
        assert talk.answered(talk.voidable[0])

    def test_what_the_user_said_is_heard_across_a_cancel(self, rig: Rig) -> None:
        talk = rig.opened()
        kinds = [kind for kind in talk.kinds if kind not in talk.voidable]
        if not kinds:
            pytest.skip("a cancel voids all that is asked of this stage")
        for kind in kinds:
            asked = talk.ask(kind)
            talk.cancel()
            assert not isinstance(talk.ended(asked)[-1].body, Failed)

    def test_work_of_a_void_epoch_is_refused(self, rig: Rig) -> None:
        talk = voidable(rig)
        for kind in talk.voidable:
            late = talk.command(kind)
            talk.cancel()
            talk.client.send(late)
            (refused,) = talk.ended(late)
            assert isinstance(refused.body, Failed)
            assert refused.body.code == "stale_fence"
            assert late.operation not in {asked.operation for asked in rig.engine.asked}

    def test_a_cancel_that_names_no_later_moment_voids_nothing(self, rig: Rig) -> None:
        talk = voidable(rig)
        asked = talk.ask(talk.voidable[0])
        talk.client.send(Cancel(talk.fence), Cancel(talk.fence, talk.fence))
        said = talk.ended(asked)
        assert not isinstance(said[-1].body, Failed)
        talk.client.until(
            lambda: sum(isinstance(told, CancelRefused) for told in talk.client.told) == 2, "both are refused"
        )

    def test_a_late_cancel_moves_nothing_back(self, rig: Rig) -> None:
        talk = voidable(rig)
        first = talk.fence
        talk.cancel()
        second = talk.fence
        talk.cancel()
        asked = talk.ask(talk.voidable[0])
        talk.client.send(Cancel(first, second))
        assert not isinstance(talk.ended(asked)[-1].body, Failed)
        talk.client.until(
            lambda: sum(isinstance(told, Cancelled) for told in talk.client.told) == 3, "it is answered"
        )
