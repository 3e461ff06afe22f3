"""Without server VAD: the SDK says when a turn is over, asks for the answer, and cuts it off."""

from __future__ import annotations

import pytest

from antiphon.events.vocabulary import InputCleared, InputCommitted
from tests.serving import RunningServer

from . import environments
from .conftest import DRIVERS, Drive, last_session
from .test_python_sdks import FIRST, LATER, is_heard, refusals, truncations

pytestmark = pytest.mark.sdks


def test_livekit(scripted: RunningServer, drive: Drive) -> None:
    said = drive(scripted, environments.python(*environments.LIVEKIT), DRIVERS / "livekit_by_hand.py")
    assert said["words"] == [FIRST, LATER]
    assert said["said"] == ["user", "assistant", "user", "assistant"]
    assert len(truncations(scripted)) == 1
    events = [type(event) for event in last_session(scripted)]
    assert (events.count(InputCommitted), events.count(InputCleared)) == (2, 1)
    assert refusals(scripted) == []


def test_pipecat(scripted: RunningServer, drive: Drive) -> None:
    said = drive(scripted, environments.python(*environments.PIPECAT), DRIVERS / "pipecat_by_hand.py")
    assert said["words"] == FIRST + LATER
    assert is_heard(said)
    assert len(truncations(scripted)) == 1
    assert refusals(scripted) == []
