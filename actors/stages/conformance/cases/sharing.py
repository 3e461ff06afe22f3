"""Sessions beside each other: none hears another, and none holds up another."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.cases.keeping import words
from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.conformance.talk import Talk
from antiphon.actors.stages.contract import Failed, Output

ROUNDS = 5


def two(rig: Rig) -> None:
    if rig.descriptor.max_sessions < 2:
        pytest.skip("the stage has one place only")


def repeated(talk: Talk) -> list[object]:
    said = [output for _ in range(ROUNDS) for kind in talk.kinds for output in talk.answered(kind)]
    return words(said)


class Sharing(Tried):
    """Two sessions and more."""

    def test_a_session_says_what_it_would_have_said_alone(self, rig: Rig) -> None:
        two(rig)
        if not rig.stage.repeats:
            pytest.skip("the stage does not say the same again (StageUnderTest.repeats)")
        alone = rig.opened()
        expected = repeated(alone)
        alone.close()
        talk, other = rig.opened(), rig.opened()
        said: list[Output] = []
        for _ in range(ROUNDS):
            for kind in talk.kinds:
                asked = talk.ask(kind)
                for ahead in range(2):  # the other is somewhere else in its own speech
                    other.answered(other.kinds[ahead % len(other.kinds)])
                said += talk.ended(asked)
        assert words(said) == expected

    def test_a_session_that_acknowledges_nothing_holds_up_no_other(self, rig: Rig) -> None:
        two(rig)
        client = rig.client()
        silent, other = rig.opened(client), rig.opened(client)
        for _ in range(200):
            asked = silent.ask(silent.kinds[0])
            said = silent.begun(asked)
            if isinstance(said[-1].body, Failed) and said[-1].body.code == "busy":
                break
        assert other.answered(other.kinds[0])

    def test_a_client_that_does_not_read_holds_up_no_other(self, rig: Rig) -> None:
        two(rig)
        deaf, other = rig.opened(), rig.opened()
        for _ in range(16):
            deaf.ask(deaf.kinds[0])
        for _ in range(ROUNDS):
            assert other.answered(other.kinds[0])

    def test_a_session_that_leaves_or_is_cancelled_takes_nothing_from_another(self, rig: Rig) -> None:
        two(rig)
        talk, leaving = rig.opened(), rig.opened()
        for kind in talk.kinds:
            asked = talk.ask(kind)
            leaving.ask(leaving.kinds[0])
            leaving.cancel()
            leaving.ask(leaving.kinds[0])
            leaving.close()
            assert not isinstance(talk.ended(asked)[-1].body, Failed)
            leaving = rig.opened()
