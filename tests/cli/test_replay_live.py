"""`antiphon replay play|fork` against a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from websockets.asyncio.client import connect

from antiphon.cli.main import main
from tests.golden.corpus import GOLDEN
from tests.serving import RunningServer, running

SPOKEN = GOLDEN / "0.2.0" / "spoken.antiphon.zip"
SCRIPTED = GOLDEN / "0.2.0" / "scripted.antiphon.zip"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """It waits for nobody who is lost."""
    folder = tmp_path_factory.mktemp("live")
    config = folder / "antiphon.toml"
    config.write_text("[duplex_session]\ndisconnect_grace_s = 0.2\nreaper_interval_s = 0.2\n")
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


@pytest.fixture
def endpoint(server: RunningServer) -> str:
    return f"ws://127.0.0.1:{server.port}/v1/realtime"


def test_a_recorded_client_talks_to_a_live_server_and_both_calls_are_compared(
    server: RunningServer, endpoint: str
) -> None:
    """Its question is heard and answered there, by what answers there."""
    result = run("play", SPOKEN, "--to", endpoint, "--json")
    assert result.exit_code == 0, result.output
    held = json.loads(result.stdout)
    assert [answer["text"] for answer in held["answers"]] == ["This is a scripted answer."]
    assert held["errors"] == []
    compared = run("compare", SPOKEN, held["session"], "--data", server.data, "--json")
    told = json.loads(compared.stdout)
    assert compared.exit_code == 0
    assert [turn["words"] for turn in told["second"]["turns"]] == [
        "scripted transcript", "This is a scripted answer.",
    ]  # fmt: skip
    assert [(row["first"] is None, row["second"] is None) for row in told["rows"]] == [(False, False)] * 2


def test_nobody_there_is_said(tmp_path: Path) -> None:
    result = run("play", SCRIPTED, "--to", "ws://127.0.0.1:9/v1/realtime")
    assert result.exit_code == 1
    assert "unreachable" in result.stderr
    assert run("play", SCRIPTED, "--to", "http://127.0.0.1:9").exit_code == 2


async def _goes_on(endpoint: str, made: dict[str, Any]) -> tuple[dict[str, Any], str]:
    query = f"?session_id={made['session']}&resume_token={made['resume_token']}"
    async with asyncio.timeout(20), connect(endpoint + query, proxy=None) as socket:
        created = json.loads(await socket.recv())
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]}
        await socket.send(json.dumps({"type": "conversation.item.create", "item": item}))
        await socket.send(json.dumps({"type": "response.create"}))
        words, asked = "", False
        async for text in socket:  # first what it has missed
            frame = json.loads(text)
            asked = asked or (frame["type"] == "conversation.item.added" and "And now?" in str(frame))
            words += frame["delta"] if asked and frame["type"].endswith("transcript.delta") else ""
            if asked and frame["type"] == "response.done":
                break
    return created["session"], words


def test_a_fork_is_gone_on_with_on_the_server_that_runs(server: RunningServer, endpoint: str) -> None:
    """Made beside the running server, from a recording; its past is there, and it has a future."""
    forked = run("fork", SCRIPTED, "--at", 33, "--data", server.data, "--json")
    assert forked.exit_code == 0, forked.output
    made = json.loads(forked.stdout)
    assert made["page"].endswith(f"#session_id={made['session']}&resume_token={made['resume_token']}")
    session, words = asyncio.run(_goes_on(endpoint, made))
    assert session["id"] == made["session"]
    assert words == "This is a scripted answer."
    compared = run("compare", SCRIPTED, made["session"], "--data", server.data, "--json")
    turns = json.loads(compared.stdout)["second"]["turns"]
    assert [turn["words"] for turn in turns][-2:] == ["And now?", "This is a scripted answer."]


def test_a_fork_waits_longer_than_a_lost_client_would_be_waited_for(server: RunningServer) -> None:
    """The fork is kept for an hour, the brief one for a second: that is ended."""
    made = json.loads(run("fork", SCRIPTED, "--data", server.data, "--json").stdout)
    brief = json.loads(run("fork", SCRIPTED, "--data", server.data, "--keep", 1, "--json").stdout)

    def ended(session: str) -> bool:
        shown = CliRunner().invoke(main, ["log", "show", session, "--data", str(server.data), "--json"])
        return "SessionExpired" in shown.stdout

    server.wait_until(lambda: ended(brief["session"]), seconds=20)
    assert not ended(made["session"])


def test_what_cannot_be_forked_is_said(server: RunningServer) -> None:
    result = run("fork", SCRIPTED, "--at", 0, "--data", server.data)
    assert result.exit_code == 1
    assert "the session had not begun" in result.stderr
