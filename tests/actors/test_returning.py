"""Sessions whose stage is back are told so as fast as it reads what they tell it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from antiphon.actors.returning import ENOUGH, bring_back
from antiphon.actors.session_actor import StageBack
from antiphon.events.ids import SessionId

OPENING = 3 * ENOUGH
"""Bytes that each session tells the stage."""


class Loop:
    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def call_later(self, pause_s: float, call: Callable[[], None]) -> None:
        self.due.append(call)

    def turn(self) -> None:
        due, self.due = self.due, []
        for call in due:
            call()


class Returning:
    """Three sessions at a stage that reads when it is asked to."""

    def __init__(self) -> None:
        self.loop, self.link = Loop(), SimpleNamespace(state="ready", descriptor=object(), backlog=0)
        self.told: list[str] = []
        hosted: dict[SessionId, Any] = {
            SessionId(name): SimpleNamespace(tell=self._hear(name)) for name in ("a", "b", "c")
        }
        self.sessions = hosted
        bring_back(self.loop, self.link, hosted, StageBack("model"))  # type: ignore[arg-type]

    def _hear(self, name: str) -> Callable[[object], None]:
        def hear(message: object) -> None:
            assert message == StageBack("model")
            self.told.append(name)
            self.link.backlog += OPENING

        return hear


def test_no_session_is_told_before_the_stage_has_read_what_the_last_one_said() -> None:
    returning = Returning()
    for _ in range(5):
        returning.loop.turn()
    assert returning.told == ["a"]
    for expected in (["a", "b"], ["a", "b", "c"]):
        returning.link.backlog = 0
        returning.loop.turn()
        assert returning.told == expected
    returning.link.backlog = 0
    returning.loop.turn()
    assert not returning.loop.due


def test_sessions_that_are_over_by_then_are_left_out_and_a_stage_that_is_gone_again_ends_it() -> None:
    returning = Returning()
    del returning.sessions[SessionId("b")]
    returning.link.backlog = 0
    returning.loop.turn()
    assert returning.told == ["a"]
    returning.link.descriptor = None
    returning.loop.turn()
    assert returning.told == ["a"]
    assert not returning.loop.due
