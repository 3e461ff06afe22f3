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
from antiphon.events.ids import ItemId, Operation, ResponseId, SessionId
from antiphon.events.vocabulary import Config, Item, ItemAdded, Part, ToolCalled
from tests.golden.corpus import GOLDEN
from tests.replay.calls import Call
from tests.serving import RunningServer, running

from .logs import store_at

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


LOOKS_FIRST = """
calls_tools = true

[[replies]]
to = "speak"
nth = 1

[[replies.steps]]
says = { type = "called", call_id = "call_there", name = "look" }

[[replies.steps]]
says = { type = "finished" }
last = true

[[replies]]
to = "speak"

[[replies.steps]]
says = { type = "said", text = "It is sunny.", tone_ms = 100 }

[[replies.steps]]
says = { type = "finished" }
last = true
"""


def asked(call: Call, at_ms: int, nth: int, *, calls: str | None) -> None:
    """An answer that the client asks for, and that may be nothing but the call of a function."""
    call.answer(at_ms, f"resp_{nth}")
    if calls is not None:
        call.say(
            at_ms + 10,
            ToolCalled(
                response=ResponseId(f"resp_{nth}"),
                item=ItemId(f"item_of_{calls}"),
                call_id=calls,
                name="look",
                arguments="{}",
                operation=Operation(0),
                index=0,
            ),
        )
    call.end_answer(at_ms + 20, f"resp_{nth}")


def returned(call: Call, at_ms: int, calls: str) -> None:
    item = Item(id=ItemId(f"item_from_{calls}"), kind="function_call_output", call_id=calls, output="sun")
    call.say(at_ms, ItemAdded(item=item, previous=ItemId(f"item_of_{calls}")))


def test_what_a_function_gave_is_given_to_the_call_that_the_live_model_makes(tmp_path: Path) -> None:
    """Once: the second call that was recorded it does not make."""
    (tmp_path / "script.toml").write_text(LOOKS_FIRST)
    config = tmp_path / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{tmp_path}/script.toml"\n')
    recorded = Call(
        store_at(tmp_path / "recorded"), config=Config(tools=({"type": "function", "name": "look"},))
    )
    content = (Part(kind="input_text", text="How is the weather?"),)
    recorded.say(100, ItemAdded(item=Item(id=ItemId("item_0"), role="user", content=content)))
    asked(recorded, 200, 1, calls="call_here")
    returned(recorded, 2_000, "call_here")
    asked(recorded, 2_100, 2, calls="call_again")
    returned(recorded, 4_000, "call_again")
    recorded.hang_up(4_500)
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        to = ("--to", f"ws://127.0.0.1:{server.port}/v1/realtime")
        result = run("play", "sess_call", "--data", tmp_path / "recorded", *to, "--speed", 2, "--json")
        assert result.exit_code == 0, result.output
        held = json.loads(result.stdout)
        assert [answer["text"] for answer in held["answers"]] == ["", "It is sunny."]
        assert held["errors"] == []
        assert held["not_sent"] == ["conversation.item.create at 4.00 s: there is no call 1"]
    events = list(store_at(tmp_path / "data").read(SessionId(held["session"])))
    [called] = [one.event for one in events if isinstance(one.event, ToolCalled)]
    [output] = [one.event for one in events if isinstance(one.event, ItemAdded) and one.event.item.output]
    assert (output.item.call_id, output.previous) == ("call_there", called.item)


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
