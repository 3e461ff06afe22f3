"""A function that the model calls: each SDK calls it, gives back what came of it, and asks for the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.events.vocabulary import ItemAdded, ToolCalled
from tests.serving import RunningServer

from . import environments
from .conftest import DRIVERS, Drive, last_session
from .test_python_sdks import bytes_of, refusals

pytestmark = pytest.mark.sdks

ANSWER = "It is sunny in Paris."
SPOKEN = bytes_of(700)
Said = dict[str, Any]


def kinds(said: Said) -> list[str]:
    return [kind for kind, *_ in said["said"]]


@pytest.fixture
def call(calling: RunningServer, drive: Drive) -> Drive:
    """Runs a driver, and looks whether the model's call came back answered."""

    def run(*command: str | Path) -> Said:
        said = drive(calling, *command)
        events = last_session(calling)
        [called] = [event for event in events if isinstance(event, ToolCalled)]
        added = [event.item for event in events if isinstance(event, ItemAdded)]
        [output] = [item for item in added if item.kind == "function_call_output"]
        assert output.call_id == called.call_id == "call_1"
        assert "sunny" in (output.output or "")
        assert refusals(calling) == []
        return said

    return run


def test_openai_agents(call: Drive) -> None:
    said = call(environments.python(*environments.AGENTS), DRIVERS / "agents_python_tools.py")
    assert (said["cities"], said["heard"]) == (["Paris"], SPOKEN)
    assert said["said"][-1] == ["assistant", [ANSWER]]


def test_pipecat(call: Drive) -> None:
    said = call(environments.python(*environments.PIPECAT), DRIVERS / "pipecat_tools.py")
    assert (said["cities"], said["heard"], said["words"]) == (["Paris"], SPOKEN, ANSWER)


def test_livekit(call: Drive) -> None:
    said = call(environments.python(*environments.LIVEKIT), DRIVERS / "livekit_tools.py")
    assert said["calls"] == [["call_1", "weather", '{"city":"Paris"}']]
    assert said["words"] == ANSWER
    assert said["kinds"][-3:] == ["function_call", "function_call_output", "message"]


def test_agents_realtime(call: Drive) -> None:
    said = call("node", environments.node(DRIVERS) / "agents_node_tools.mjs")
    assert (said["cities"], said["heard"]) == (["Paris"], SPOKEN)
    assert kinds(said)[-2:] == ["function_call", "message"]
    assert {status for *_, status in said["said"]} == {"completed"}


def test_the_client_of_the_beta(call: Drive) -> None:
    said = call("node", environments.node(DRIVERS) / "beta_node_tools.mjs")
    assert said["cities"] == ["Paris"]
    assert kinds(said)[-3:] == ["function_call", "function_call_output", "message"]
    assert said["said"][-1][2] == ANSWER
