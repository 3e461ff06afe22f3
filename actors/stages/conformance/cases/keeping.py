"""Places: how many there are, who has one, and when it is free."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.contract import Opened, Output, Refused

MOST_TRIED = 1024
SESSIONS = 100


class Keeping(Tried):
    """A stage keeps a place for every session, and no longer than that."""

    def test_a_full_stage_takes_one_more_when_one_has_left(self, rig: Rig) -> None:
        places = rig.descriptor.max_sessions
        if places > MOST_TRIED:
            pytest.skip(f"{places} places are more than the suite fills")
        client = rig.client()
        talks = [rig.opened(client) for _ in range(places)]
        refused = rig.talk(client).open()
        assert isinstance(refused, Refused)
        assert (refused.code, refused.retryable) == ("resource_exhausted", True)

        talks[0].close()
        assert isinstance(rig.talk(client).open(), Opened)
        assert isinstance(rig.talk(client).open(), Refused)

    def test_a_hundred_sessions_leave_nothing_behind(self, rig: Rig) -> None:
        client = rig.client()
        for _ in range(SESSIONS):
            talk = rig.opened(client)
            talk.answered(talk.kinds[0])
            talk.ask(talk.kinds[-1])
            talk.close()
        self._holds(rig, 0)
        places = min(rig.descriptor.max_sessions, MOST_TRIED)
        for _ in range(places):
            assert rig.opened(client)

    def test_a_session_leaves_in_the_middle_of_its_work(self, rig: Rig) -> None:
        talk = rig.opened()
        for kind in talk.kinds:
            talk.ask(kind)
        talk.close()
        said = len(talk.outputs())
        other = rig.opened(talk.client)
        assert other.answered(other.kinds[0])
        assert len(talk.outputs()) == said

    def test_a_session_that_was_never_there_is_closed_without_a_word(self, rig: Rig) -> None:
        never, talk = rig.talk(), rig.opened()
        never.close()
        rig.on_the_loop(lambda: rig.engine.close(never.fence))
        assert talk.answered(talk.kinds[0])

    def test_a_session_that_has_left_may_leave_again(self, rig: Rig) -> None:
        talk = rig.opened()
        talk.close()
        talk.close()
        rig.on_the_loop(lambda: rig.engine.close(talk.fence))
        self._holds(rig, 0)

    def test_a_session_opened_again_begins_anew(self, rig: Rig) -> None:
        talk = rig.opened()
        first = talk.open()
        once = [output.body for kind in talk.kinds for output in talk.answered(kind)]
        talk.close()
        again = rig.talk(rig.client(), name=talk.session)
        second = again.open()
        assert isinstance(first, Opened)
        assert isinstance(second, Opened)
        assert second.engine != first.engine
        twice = [output for kind in again.kinds for output in again.answered(kind)]
        assert twice[0].number == 1
        if rig.stage.repeats:
            assert words(twice) == [body for body in once if timeless(body)]

    def test_a_refused_opening_holds_nothing(self, rig: Rig) -> None:
        config = rig.stage.bad_config
        if config is None:
            pytest.skip("the stage does not give StageUnderTest.bad_config")
        client = rig.client()
        for _ in range(rig.descriptor.max_sessions if rig.descriptor.max_sessions <= MOST_TRIED else 3):
            assert isinstance(rig.talk(client).open(config=config), Refused)
        self._holds(rig, 0)
        assert isinstance(rig.talk(client).open(), Opened)

    def _holds(self, rig: Rig, sessions: int) -> None:
        if rig.stage.held is not None:
            assert rig.stage.held(rig.engine.engine) == sessions


def timeless(body: object) -> bool:
    """Whether a word says the same whenever it is said."""
    return type(body).__name__ != "Measured"


def words(outputs: list[Output]) -> list[object]:
    return [output.body for output in outputs if timeless(output.body)]
