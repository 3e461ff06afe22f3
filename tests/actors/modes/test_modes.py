"""A session goes by the tables of its mode, and by no other's."""

from __future__ import annotations

import pytest

from antiphon.actors.modes import MODES
from antiphon.actors.session import commands as c
from antiphon.actors.session.decide import decide
from antiphon.actors.session.evolve import evolve
from antiphon.actors.session.state import Session
from antiphon.events.errors import UnknownMode
from antiphon.events.ids import SessionId
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Abilities, Config, SessionOpened

NOW = Moment(1, 1)
ABLE = Abilities(stage="scripted", hears="utterances")


def opened(mode: str) -> SessionOpened:
    return SessionOpened(
        session=SessionId("sess_1"), incarnation=0, mode=mode, abilities=ABLE, config=Config()
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_session_is_of_the_mode_that_it_was_opened_in(mode: str) -> None:
    asked = c.OpenSession(incarnation=0, mode=mode, abilities=ABLE, config=Config())
    decision = decide(Session(SessionId("sess_1")), asked, NOW)
    assert decision.state.mode == mode
    assert evolve(Session(SessionId("sess_1")), opened(mode), NOW) == decision.state


def test_logs_of_earlier_versions_call_duplex_realtime() -> None:
    assert evolve(Session(SessionId("sess_1")), opened("realtime"), NOW).mode == "duplex"


def test_a_log_of_a_mode_that_is_not_known_here_cannot_be_gone_on_with() -> None:
    with pytest.raises(UnknownMode, match="telepathy") as caught:
        evolve(Session(SessionId("sess_1")), opened("telepathy"), NOW)
    assert caught.value.mode == "telepathy"
    assert caught.value.code == "unknown_mode"
