"""A stage's process is killed in the middle of a conversation: the conversation goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from antiphon.events.ids import SessionId
from antiphon.replay.verify import verify
from tests.serving import RunningServer, running

from .test_resume import COUNT, WAITS, answered, ask, log_of, settings, take_seat, told
from .wire import wire


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("killed")
    with running(folder / "data", "--config", str(settings(folder)), stage="scripted") as started:
        yield started


async def test_an_answer_under_way_has_failed_and_the_next_is_given(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Count", "evt_1")
        await client.send({"type": "response.create"})
        await client.until("response.output_audio.delta")
        os.kill(server.stage_pid("model"), signal.SIGKILL)
        frames = await client.until("rate_limits.updated")
        [error] = [frame["error"] for frame in frames if frame["type"] == "error"]
        assert (error["code"], error["retryable"]) == ("stage_lost", True)
        [done] = [frame for frame in frames if frame["type"] == "response.done"]
        assert done["response"]["status"] == "failed"
        await ask(client, "Again", "evt_2")
        assert told(await answered(client)) == " ".join(COUNT) + " "
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_what_is_asked_while_the_stage_is_away_is_answered_when_it_is_back(
    server: RunningServer,
) -> None:
    async with wire(server) as client:
        await client.next("session.created")
        os.kill(server.stage_pid("model"), signal.SIGKILL)
        server.wait_until(lambda: server.get("/health").status_code == 503)
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count"}]}
        await client.send({"type": "conversation.item.create", "item": item})
        await client.send({"type": "response.create"})
        frames = await client.until("response.done")
        assert frames[-1]["response"]["status"] == "completed"
        assert not [frame for frame in frames if frame["type"] == "error"]
