"""Waiting for a place over a real port: the dialect's queue messages, and the line over HTTP."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.serving import RunningServer, running

from .phone import Phone, phone, question, silence
from .test_half_duplex_wire import SCRIPT
from .wire import wire


def configured(folder: Path, places: int) -> str:
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n[duplex_session]\nmax_sessions = {places}\n')
    return str(config)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with a single place."""
    folder = tmp_path_factory.mktemp("line")
    with running(folder / "data", "--config", configured(folder, 1), stage="scripted") as server:
        yield server


def asked(server: RunningServer, method: str, path: str, **options: Any) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=5) as client:
        return client.request(method, server.base + path, **options)


def free(server: RunningServer) -> None:
    """Until nobody has a place."""
    server.wait_until(lambda: not server.get("/api/queue").json()["running_tasks"])


async def served(server: RunningServer, stack: contextlib.AsyncExitStack, name: str) -> Phone:
    client = await stack.enter_async_context(phone(server, name))
    await client.next("queue_done")
    return client


async def queued(
    server: RunningServer, stack: contextlib.AsyncExitStack, name: str
) -> tuple[Phone, dict[str, Any]]:
    client = await stack.enter_async_context(phone(server, name))
    told = await client.next()
    assert told["type"] == "queued", told
    return client, told


async def test_who_finds_the_place_taken_waits_and_is_served_when_it_is_free(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "line_a")
        second, told = await queued(server, stack, "line_b")
        assert (told["position"], told["queue_length"]) == (1, 1)
        assert 170 < told["estimated_wait_s"] <= 180
        assert told["ticket_id"].startswith("q_")
        assert len(told["ticket_id"]) == 14
        await second.send({"type": "prepare", "config": {"session": {"timeout_s": 77}}})
        await second.speak(question())
        await first.send({"type": "stop"})
        assert (await second.until("queue_done"))[-1] == {"type": "queue_done"}
        prepared = await second.next()
        assert (prepared["type"], prepared["timeout_s"]) == ("prepared", 77)
        await asyncio.sleep(0.55)
        assert (await second.ask())[-1]["turn_index"] == 1
    free(server)


async def test_who_leaves_the_line_makes_the_others_move_up_at_once(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "up_a")
        second, _ = await queued(server, stack, "up_b")
        third, told = await queued(server, stack, "up_c")
        assert told["position"] == 2
        await second.socket.close()
        while (update := await third.next("queue_update"))["position"] != 1:
            assert update["position"] == 2
        assert update["queue_length"] == 1
        first.socket.transport.abort()
        await third.next("queue_done")
    free(server)


async def test_where_one_stands_is_said_again_while_nothing_happens(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        await served(server, stack, "again_a")
        waits, _ = await queued(server, stack, "again_b")
        update = await waits.next()
        assert (update["type"], update["position"], update["queue_length"]) == ("queue_update", 1, 1)
    free(server)


async def test_stop_and_what_cannot_be_read_are_answered_in_the_line(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        await served(server, stack, "stop_a")
        waits, _ = await queued(server, stack, "stop_b")
        await waits.send({"type": "sing"})
        assert (await waits.next("error"))["error"] == "Unknown type: sing"
        await waits.speak(silence(2.0))
        await waits.send({"type": "stop"})
        assert (await waits.next("stopped"))["session_id"] == "stop_b"
        await waits.socket.wait_closed()
        assert waits.socket.close_code == 1000
        assert server.get("/api/queue").json()["queue_length"] == 0
    free(server)


async def test_who_goes_as_its_turn_comes_does_not_keep_the_place(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "gone_a")
        second, _ = await queued(server, stack, "gone_b")
        third, _ = await queued(server, stack, "gone_c")
        await first.send({"type": "stop"})
        second.socket.transport.abort()
        await third.next("queue_done")
    free(server)


async def test_a_large_prepare_is_kept_while_one_waits(server: RunningServer) -> None:
    """It is sent in the very moment that the place becomes free."""
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "large_a")
        second, _ = await queued(server, stack, "large_b")
        voice = base64.b64encode(question().repeat(10).astype("<f4").tobytes()).decode()
        await first.send({"type": "stop"})
        await second.send({"type": "prepare", "system_content": [{"type": "audio", "data": voice}]})
        prepared = await second.next("prepared")
        assert "not used" in prepared["not_applied"][0]["message"]
    free(server)


async def test_who_sends_only_nonsense_loses_its_place(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        await served(server, stack, "noise_a")
        waits, _ = await queued(server, stack, "noise_b")
        for _ in range(101):
            await waits.send("{")
        while (await waits.next("error"))["code"] != "too_many_errors":
            pass
        await waits.socket.wait_closed()
        assert server.get("/api/queue").json()["queue_length"] == 0
    free(server)


async def test_another_dialect_does_not_overtake_and_is_told_that_there_is_no_room(
    server: RunningServer,
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "over_a")
        second, _ = await queued(server, stack, "over_b")
        async with wire(server) as other:
            assert (await other.next("error"))["error"]["code"] == "resource_exhausted"
        await first.send({"type": "stop"})
        await second.next("queue_done")
    free(server)


async def test_the_line_is_shown_and_a_ticket_can_be_taken_back(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        await served(server, stack, "http_a")
        waits, told = await queued(server, stack, "http_b")
        ticket = told["ticket_id"]
        line = asked(server, "GET", "/api/queue").json()
        assert (line["queue_length"], line["max_queue_size"]) == (1, 1000)
        assert [one["session_id"] for one in line["running_tasks"]] == ["http_a"]
        (item,) = line["items"]
        assert (item["ticket_id"], item["session_id"], item["position"]) == (ticket, "http_b", 1)
        assert asked(server, "GET", f"/api/queue/{ticket}").json()["request_type"] == "half_duplex_audio"
        assert asked(server, "DELETE", "/api/queue/q_000000000000").status_code == 404
        assert asked(server, "DELETE", f"/api/queue/{ticket}").json()["cancelled"]
        assert (await waits.next("error"))["code"] == "resource_exhausted"
        with pytest.raises(ConnectionClosed) as closed:
            await waits.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
        assert asked(server, "GET", f"/api/queue/{ticket}").status_code == 404
    free(server)


async def test_a_call_is_stopped_over_http_wherever_it_is(server: RunningServer) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "halt_a")
        await first.prepare()
        waits, _ = await queued(server, stack, "halt_b")
        for client, name, code in ((waits, "halt_b", 1013), (first, "halt_a", 1000)):
            stopped = asked(server, "POST", "/api/half_duplex/stop", json={"session_id": name})
            assert stopped.json() == {"session_id": name, "stopped": True}
            assert (await client.socket.wait_closed(), client.socket.close_code) == (None, code)
        nobody = asked(server, "POST", "/api/half_duplex/stop", json={"session_id": "halt_a"})
        assert nobody.status_code == 404
    free(server)


async def test_an_app_can_be_switched_off_and_on(server: RunningServer) -> None:
    off = asked(server, "PUT", "/api/admin/apps/half_duplex_audio", json={"enabled": False})
    assert not off.json()["enabled"]
    with pytest.raises(InvalidStatus) as refused:
        async with phone(server, "off_a"):
            pass
    assert refused.value.response.status_code == 403
    async with wire(server) as other:
        assert await other.next("session.created")
    free(server)
    shown = {one["app_id"]: one["enabled"] for one in asked(server, "GET", "/api/apps").json()["apps"]}
    assert shown == {"half_duplex_audio": False, "audio_duplex": True}
    assert asked(server, "PUT", "/api/admin/apps/half_duplex_audio", json={"enabled": True}).json()["enabled"]
    async with phone(server, "off_b") as client:
        await client.next("queue_done")
    assert asked(server, "PUT", "/api/admin/apps/chess", json={"enabled": True}).status_code == 404
    free(server)


async def test_fifty_come_and_go_and_every_position_told_is_the_right_one(server: RunningServer) -> None:
    """Whoever leaves does so from somewhere in the middle; then the place is given along the line."""
    async with contextlib.AsyncExitStack() as stack:
        first = await served(server, stack, "many_0")
        line = []
        for k in range(1, 51):
            client, told = await queued(server, stack, f"many_{k}")
            assert (told["position"], told["queue_length"]) == (k, k)
            line.append(client)
        for k in range(25):
            gone = line.pop((k * 7) % len(line))
            await gone.socket.close()
        for place, client in enumerate(line, 1):
            await reaches(client, place)
        serving = first
        for _ in range(10):
            await serving.send({"type": "stop"})
            serving = line.pop(0)
            await serving.next("queue_done")
        for place, client in enumerate(line, 1):
            await reaches(client, place)
    free(server)


async def reaches(client: Phone, place: int) -> None:
    """It is told to stand there, and on the way never further back than it was."""
    last = 51
    while last != place:
        position = (await client.next("queue_update"))["position"]
        assert place <= position <= last
        last = position


async def test_tickets_and_calls_of_others_are_not_to_be_seen_or_ended(tmp_path: Path) -> None:
    def key(name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {name}"}

    env = {"ANTIPHON_KEYS": "hers,his", "ANTIPHON_OPERATOR_KEYS": "boss"}
    arguments = ("--config", configured(tmp_path, 1))
    with running(tmp_path / "data", *arguments, stage="scripted", env=env) as server:
        async with (
            phone(server, "keys_a", additional_headers=key("hers")) as first,
            phone(server, "keys_b", additional_headers=key("hers")) as second,
        ):
            await first.next("queue_done")
            ticket = (await second.next("queued"))["ticket_id"]
            assert asked(server, "GET", "/api/queue").status_code == 401
            seen = {
                name: asked(server, "GET", "/api/queue", headers=key(name)).json()["items"][0]["ticket_id"]
                for name in ("hers", "his", "boss")
            }
            assert seen == {"hers": ticket, "his": None, "boss": ticket}
            for method, path in (("DELETE", f"/api/queue/{ticket}"), ("GET", f"/api/queue/{ticket}")):
                assert asked(server, method, path, headers=key("his")).status_code == 404
            stop = {"json": {"session_id": "keys_a"}}
            assert (
                asked(server, "POST", "/api/half_duplex/stop", headers=key("his"), **stop).status_code == 404
            )
            switch = asked(
                server, "PUT", "/api/admin/apps/audio_duplex", headers=key("hers"), json={"enabled": False}
            )
            assert switch.status_code == 401
            assert (
                asked(server, "POST", "/api/half_duplex/stop", headers=key("hers"), **stop).status_code == 200
            )
            await second.next("queue_done")


async def test_several_processes_keep_no_line_and_say_so(tmp_path: Path) -> None:
    arguments = ("--config", configured(tmp_path, 1), "--workers", "2")
    with running(tmp_path / "data", *arguments, stage="scripted") as server:
        async with phone(server, "several_a") as first:
            await first.next("queue_done")
            async with phone(server, "several_b") as second:
                error = await second.next()
                assert (error["type"], error["code"]) == ("error", "resource_exhausted")
                with pytest.raises(ConnectionClosed):
                    await second.next()
            for path in ("/api/queue", "/api/queue/q_0"):
                assert server.get(path).status_code == 501
            stop = asked(server, "POST", "/api/half_duplex/stop", json={"session_id": "several_a"})
            assert stop.status_code == 200
            assert (await first.next("stopped"))["session_id"] == "several_a"
