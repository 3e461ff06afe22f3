"""The SDKs for Node, unmodified: over wss where they insist on it, and by the beta's names where they know no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.certificates import Files
from tests.serving import RunningServer

from . import environments
from .conftest import DRIVERS, Drive
from .test_python_sdks import FIRST, LATER, QUESTION, is_heard, refusals, truncations

pytestmark = pytest.mark.sdks


@pytest.fixture(scope="module")
def drivers() -> Path:
    return environments.node(DRIVERS)


def test_openai_over_wss(secured: RunningServer, files: Files, drive: Drive, drivers: Path) -> None:
    said = drive(secured, "node", drivers / "openai_node.mjs", TRUSTED=str(files.certificate))
    assert said["words"] == FIRST + LATER
    assert is_heard(said)
    assert said["statuses"] == [["cancelled", "turn_detected"], ["completed", None]]
    assert said["code"] == 1000
    assert refusals(secured) == []


def test_agents_realtime(scripted: RunningServer, drive: Drive, drivers: Path) -> None:
    """What does not fit its models is dropped without a word, so what it has put together is looked at."""
    said = drive(scripted, "node", drivers / "agents_node.mjs")
    assert (said["turns"], said["interrupted"]) == (2, 1)
    assert is_heard(said)
    roles, texts, statuses = zip(*said["said"], strict=True)
    assert roles == ("user", "assistant", "user", "assistant")
    assert statuses == ("completed", "incomplete", "completed", "completed")
    assert (texts[0], texts[2], texts[3]) == ([QUESTION], [QUESTION], [LATER])
    assert FIRST.startswith(texts[1][0])
    assert {"conversation.item.truncated", "conversation.item.retrieved"} <= set(said["raw"])
    assert len(truncations(scripted)) == 1
    assert refusals(scripted) == []


def test_agents_realtime_on_the_telephone(scripted: RunningServer, drive: Drive, drivers: Path) -> None:
    said = drive(scripted, "node", drivers / "agents_node.mjs", TELEPHONE="1")
    assert (said["turns"], said["interrupted"]) == (2, 1)
    assert is_heard(said, slower=6)
    assert [role for role, *_ in said["said"]] == ["user", "assistant", "user", "assistant"]
    assert refusals(scripted) == []


@pytest.mark.parametrize("environment", [{}, {"AS_BROWSER": "1"}], ids=["headers", "subprotocols"])
def test_the_client_of_the_beta(
    scripted: RunningServer, drive: Drive, drivers: Path, environment: dict[str, str]
) -> None:
    said = drive(scripted, "node", drivers / "beta_node.mjs", **environment)
    roles, transcripts, statuses, samples = zip(*said["said"], strict=True)
    assert roles == ("user", "assistant", "user", "assistant")
    assert statuses == ("completed", "incomplete", "completed", "completed")
    assert (transcripts[0], transcripts[2], transcripts[3]) == (QUESTION, QUESTION, LATER)
    assert samples[1] == 4_800  # as far as it had played the answer when it was interrupted
    assert samples[3] == 700 * 24
    assert said["interrupted"] == 2  # whenever the user speaks
    assert "response.audio.delta" in said["seen"]
    assert not [
        kind for kind in said["seen"] if "output_audio" in kind or kind.startswith("conversation.item.done")
    ]
    assert len(truncations(scripted)) == 1
    assert set(refusals(scripted)) <= {"response_not_active"}
