"""The SDKs for Python, unmodified, each in its own environment: a question, an interruption, another answer."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.events.vocabulary import ClientResumed, CommandRefused, EpochAdvanced, ItemAdded, ItemTruncated
from tests.serving import RunningServer

from . import environments
from .conftest import DRIVERS, Drive, last_session

pytestmark = pytest.mark.sdks

QUESTION = "What is the capital of France?"
COUNT = "one two three four five six seven eight nine ten eleven twelve "
FIRST, LATER = "Paris has been the capital of France since the tenth century. ", "Very well."


def bytes_of(ms: int) -> int:
    return ms * 24 * 2


def is_heard(said: dict[str, Any], slower: int = 1) -> bool:
    """Whether all audio of the second answer came, and of the first as much as was not taken back when it was
    cut off; `slower`: the bytes are that many times fewer."""
    return bytes_of(700) < said["heard"] * slower <= bytes_of(8_000 + 700)


def refusals(server: RunningServer) -> list[str]:
    return [event.code for event in last_session(server) if isinstance(event, CommandRefused)]


def truncations(server: RunningServer) -> list[ItemTruncated]:
    return [event for event in last_session(server) if isinstance(event, ItemTruncated)]


def test_openai_agents(scripted: RunningServer, drive: Drive) -> None:
    """It holds every event to its models, tells of what does not fit, and cuts the answer off by itself."""
    said = drive(scripted, environments.python(*environments.AGENTS), DRIVERS / "agents_python.py")
    assert said["interrupted"] == 1
    assert is_heard(said)
    roles, texts, statuses = zip(*said["said"], strict=True)
    assert roles == ("user", "assistant", "user", "assistant")
    assert statuses == ("completed", "incomplete", "completed", "completed")
    assert (texts[0], texts[2], texts[3]) == ([QUESTION], [QUESTION], [LATER])
    assert FIRST.startswith(texts[1][0])  # as much as was heard, as it says to the SDK that asks for the item
    assert len(truncations(scripted)) == 1
    assert refusals(scripted) == []


def test_openai_agents_on_the_telephone(scripted: RunningServer, drive: Drive) -> None:
    interpreter = environments.python(*environments.AGENTS)
    said = drive(scripted, interpreter, DRIVERS / "agents_python.py", TELEPHONE="1")
    assert said["interrupted"] == 1
    assert is_heard(said, slower=6)
    assert [role for role, *_ in said["said"]] == ["user", "assistant", "user", "assistant"]
    assert refusals(scripted) == []


def test_pipecat(scripted: RunningServer, drive: Drive) -> None:
    """Whatever does not fit its models, and any error but a few, ends its session without a word."""
    said = drive(scripted, environments.python(*environments.PIPECAT), DRIVERS / "pipecat_openai.py")
    assert said["words"] == FIRST + LATER
    assert said["interrupted"] == 1
    assert is_heard(said)
    assert [(role, status) for role, _, status in said["said"]] == [
        ("user", "completed"),
        ("assistant", "incomplete"),
        ("user", "completed"),
        ("assistant", "completed"),
    ]
    assert len(truncations(scripted)) == 1
    assert refusals(scripted) == []


def test_livekit(scripted: RunningServer, drive: Drive) -> None:
    """It needs its items in order and its metadata back; it cancels also what the server has cancelled."""
    said = drive(scripted, environments.python(*environments.LIVEKIT), DRIVERS / "livekit_openai.py")
    assert said["words"] == [FIRST, LATER, LATER]
    assert said["transcripts"] == [QUESTION, QUESTION]
    assert said["interrupted"] == 1
    assert [role for role, _ in said["said"]] == [
        "user",
        "user",
        "assistant",
        "user",
        "assistant",
        "assistant",
    ]
    assert said["said"][0][1] == "My name is Ada."
    assert len(truncations(scripted)) == 1
    assert set(refusals(scripted)) <= {"response_not_active"}


def test_livekit_anew(counting: RunningServer, drive: Drive) -> None:
    """It closes its connection after a while and tells the next one what was said: items with ids of its own."""
    said = drive(counting, environments.python(*environments.LIVEKIT), DRIVERS / "livekit_anew.py")
    assert said["words"] == [COUNT, COUNT]
    assert said["said"] == [["user", "My name is Ada."], ["assistant", COUNT], ["assistant", COUNT]]
    told = [event.item for event in last_session(counting) if isinstance(event, ItemAdded)]
    assert [(item.role, item.content[0].text) for item in told] == [
        ("user", "My name is Ada."),
        ("assistant", COUNT),
    ]
    assert refusals(counting) == []


@pytest.fixture
def of_vllm_omni(drive: Drive) -> Drive:
    """Runs a driver that imports the clients of vllm-omni."""

    def run(server: RunningServer, driver: str) -> dict[str, Any]:
        interpreter = environments.python(*environments.VLLM_OMNI_NEEDS)
        path = str(environments.clients_of_vllm_omni())
        return drive(server, interpreter, DRIVERS / driver, PYTHONPATH=path)

    return run


def test_the_duplex_client_of_vllm_omni(scripted: RunningServer, of_vllm_omni: Drive) -> None:
    said = of_vllm_omni(scripted, "vllm_omni_duplex.py")
    first, second = said["answers"]
    assert (first["decision"], first["status"], first["transcript"]) == ("speak", "cancelled", FIRST)
    assert FIRST.startswith(first["said"][0])
    assert len(first["said"][0]) < len(FIRST)
    assert (second["decision"], second["status"]) == ("speak", "completed")
    assert (second["transcript"], second["said"]) == (LATER, [LATER])
    assert second["heard"] == bytes_of(700)
    assert said["joined"] == [FIRST, LATER]
    assert said["timing"]["request_metrics"]["audio_duration_ms"] == 700.0
    assert {"playback.acknowledged", "session.heartbeat_ack"} <= set(said["seen"])
    assert refusals(scripted) == []
    assert sum(isinstance(event, EpochAdvanced) for event in last_session(scripted)) == 1


def test_the_duplex_client_of_vllm_omni_comes_back(counting: RunningServer, of_vllm_omni: Drive) -> None:
    """Its network is gone in the middle of an answer; it resumes by itself and hears all of it once."""
    said = of_vllm_omni(counting, "vllm_omni_resume.py")
    assert said["transcript"] == COUNT
    assert (said["chunks"], said["heard"]) == (12, bytes_of(12 * 120))
    assert (said["resumed"], said["rotated"], said["done"]) == (1, True, ["completed"])
    assert said["numbers"] == sorted(set(said["numbers"]))
    assert sum(isinstance(event, ClientResumed) for event in last_session(counting)) == 1
    assert refusals(counting) == []
