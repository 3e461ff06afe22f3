"""Several serving processes on one port: each serves its own clients, and a session goes where its client goes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import (
    ClientReplaced,
    InputAppended,
    ItemAdded,
    SessionExpired,
    SessionParked,
    StageOpened,
    WriterOpened,
)
from antiphon.replay.verify import verify
from tests.serving import RunningServer, running

from .test_resume import (
    COUNT,
    PIECE,
    WAITS,
    Json,
    Seat,
    answered,
    ask,
    drop,
    events,
    log_of,
    numbers,
    settings,
    take_seat,
    told,
)
from .wire import WAIT_S, Wire, wire

HOPS = 20
WHOLE = " ".join(COUNT) + " "


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("workers")
    config = str(settings(folder))
    with running(folder / "data", "--config", config, "--workers", "2", stage="scripted") as started:
        started.wait_until(lambda: has_both(started), 30)
        yield started


def has_both(server: RunningServer) -> bool:
    """Whether both processes serve: a scrape has the figures of both."""
    page = server.get("/metrics").text
    return all(f'antiphon_sessions_live{{worker="{number}"}}' in page for number in range(2))


def live(server: RunningServer) -> list[float]:
    """The sessions of each process, as a scrape tells them."""
    lines = server.get("/metrics").text.splitlines()
    return [float(one.split()[1]) for one in lines if one.startswith("antiphon_sessions_live{")]


@asynccontextmanager
async def at(server: RunningServer, pid: int, query: str = WAITS) -> AsyncIterator[Wire]:
    """A connection that this process serves."""
    with server.only(pid):
        connection = wire(server, query)
        client = await connection.__aenter__()
    try:
        yield client
    finally:
        await connection.__aexit__(None, None, None)


async def come_back(client: Wire, seat: Seat) -> Json:
    await client.send(seat.resume())
    resumed = await client.next()
    assert resumed["type"] == "session.resumed", resumed
    seat.token = resumed["resume_token"]
    return resumed


async def rest(client: Wire) -> list[Json]:
    """What still comes until the connection is gone."""
    frames = []
    with suppress(ConnectionClosed):
        while True:
            frames.append(await client.next())
    return frames


def kinds(server: RunningServer, seat: Seat) -> list[type]:
    return [type(event) for event in events(server, seat.session)]


def parked(server: RunningServer, seat: Seat) -> list[str]:
    return [one.reason for one in events(server, seat.session) if isinstance(one, SessionParked)]


async def end(client: Wire, seat: Seat) -> None:
    await client.send({"type": "session.close"})
    seat.frames += await client.until("session.closed")


async def test_every_process_takes_clients_and_a_scrape_tells_them_apart(server: RunningServer) -> None:
    first, second = server.serving_pids
    async with at(server, first) as one, at(server, second) as other:
        seats = [await take_seat(one), await take_seat(other)]
        assert live(server) == [1.0, 1.0]
        assert server.get("/health").json()["sessions"] == 2
        page = server.get("/metrics").text
        assert page.count("\nantiphon_disk_free_bytes ") == 1
        assert page.count("# HELP antiphon_sessions_live ") == 1
        await end(one, seats[0])
        await end(other, seats[1])
    server.wait_until(lambda: live(server) == [0.0, 0.0])


async def test_a_call_goes_to_and_fro_between_processes_and_loses_nothing(server: RunningServer) -> None:
    """Every other time the connection is lost first; else the call is taken over from it. In mid-answer."""
    pids = server.serving_pids
    connection = at(server, pids[0])
    client = await connection.__aenter__()
    seat = await take_seat(client, input_audio_format="pcm16", sample_rate_hz=24_000)
    for hop in range(HOPS):
        await ask(client, f"Count {hop}", f"evt_{hop}")
        await client.append(PIECE, event_id=f"audio_{hop}")
        await client.send({"type": "response.create", "event_id": f"create_{hop}"})
        seat.frames += await client.until("response.output_audio.delta")
        if hop % 2:
            drop(client)
        following = at(server, pids[(hop + 1) % 2])
        newcomer = await following.__aenter__()
        resumed = await come_back(newcomer, seat)
        assert resumed["last_accepted_client_event_id"] == f"create_{hop}"
        if not hop % 2:
            replaced = await client.next("session.replaced")
            assert replaced["attachment_generation"] == hop + 1
            await client.socket.wait_closed()
            assert (client.socket.close_code, client.socket.close_reason) == (1000, "session_replaced")
        await connection.__aexit__(None, None, None)
        connection, client = following, newcomer
        seat.frames += await client.until("rate_limits.updated")
    await end(client, seat)
    await connection.__aexit__(None, None, None)

    assert told(seat.frames) == WHOLE * HOPS
    assert numbers(seat.frames) == sorted(set(numbers(seat.frames)))
    statuses = [one["response"]["status"] for one in seat.frames if one["type"] == "response.done"]
    assert statuses == ["completed"] * HOPS
    happened = events(server, seat.session)
    texts = [
        one.item.content[0].text for one in happened if isinstance(one, ItemAdded) and one.item.role == "user"
    ]
    assert texts == [f"Count {hop}" for hop in range(HOPS)]
    assert sum(one.samples for one in happened if isinstance(one, InputAppended)) == HOPS * len(PIECE) // 2
    assert parked(server, seat) == ["handover"] * HOPS
    assert kinds(server, seat).count(WriterOpened) == HOPS + 1
    assert kinds(server, seat).count(ClientReplaced) >= HOPS // 2
    assert len({one.engine for one in happened if isinstance(one, StageOpened) and one.stage == "model"}) == 1
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_who_may_not_come_back_changes_nothing_in_another_process(server: RunningServer) -> None:
    first, second = server.serving_pids
    async with at(server, first) as client, at(server, second) as stranger:
        seat = await take_seat(client)
        await stranger.send(seat.resume(resume_token="guessed"))
        assert (await stranger.next("error"))["error"]["code"] == "invalid_resume_token"
        assert SessionParked not in kinds(server, seat)
        await client.send({"type": "session.heartbeat"})
        await client.next("session.heartbeat_ack")
        await end(client, seat)


async def test_of_two_that_come_at_once_one_has_the_session(server: RunningServer) -> None:
    """The other was replaced by it, or may try again."""
    first, second = server.serving_pids
    async with at(server, first) as client:
        seat = await take_seat(client)
        drop(client)
    async with at(server, first) as one, at(server, second) as other:
        await asyncio.gather(one.send(seat.resume()), other.send(seat.resume()))
        closings = {asyncio.create_task(comer.socket.wait_closed()): comer for comer in (one, other)}
        async with asyncio.timeout(WAIT_S):
            (closed,), _ = await asyncio.wait(closings, return_when=asyncio.FIRST_COMPLETED)
        loser = closings[closed]
        assert loser.socket.close_code in (1000, 1013)
        winner = one if loser is other else other
        assert (await winner.next())["type"] == "session.resumed"
        await end(winner, seat)
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_a_plain_client_comes_back_to_another_process_by_its_url(server: RunningServer) -> None:
    first, second = server.serving_pids
    async with at(server, first, "") as client:
        session = (await client.next("session.created"))["session"]
        drop(client)
    query = f"?session_id={session['id']}&resume_token={session['resume_token']}"
    async with at(server, second, query) as client:
        greeted = await client.next()
        assert greeted["session"]["resumed"] is True
        await client.send({"type": "response.create"})
        assert (await client.until("response.done"))[-1]["response"]["status"] == "completed"


async def test_one_of_two_is_killed_under_two_that_talk(server: RunningServer) -> None:
    killed, left = server.serving_pids
    async with at(server, left) as lucky:
        lasting = await take_seat(lucky)
        async with at(server, killed) as client:
            seat = await take_seat(client)
            for talker, name in ((client, "unlucky"), (lucky, "lucky")):
                await ask(talker, "Count", f"evt_{name}")
                await talker.send({"type": "response.create"})
            seat.frames += await client.until("response.output_audio.delta")
            os.kill(killed, signal.SIGKILL)
            seat.frames += await rest(client)
        async with wire(server, WAITS) as client:
            await come_back(client, seat)
            seat.frames += await client.until("rate_limits.updated")
            lasting.frames += await lucky.until("rate_limits.updated")
            await end(client, seat)
        await end(lucky, lasting)
    for one in (seat, lasting):
        assert told(one.frames) == WHOLE
        assert numbers(one.frames) == sorted(set(numbers(one.frames)))
        assert verify(log_of(server), SessionId(one.session)).same
    server.wait_until(lambda: has_both(server) and killed not in server.serving_pids, 30)
    assert left in server.serving_pids


async def test_one_that_is_told_to_stop_says_so_and_is_replaced(server: RunningServer) -> None:
    stopped = server.serving_pids[0]
    async with at(server, stopped) as client:
        seat = await take_seat(client)
        os.kill(stopped, signal.SIGTERM)
        with pytest.raises(ConnectionClosed):
            await client.next("no such frame")
        assert client.socket.close_code == 1012
    async with wire(server, WAITS) as client:
        await come_back(client, seat)
        await ask(client, "Count", "evt_1")
        assert told(await answered(client)) == WHOLE
        await end(client, seat)
    server.wait_until(lambda: has_both(server) and stopped not in server.serving_pids, 30)


async def test_one_that_hangs_is_replaced_and_until_then_its_clients_may_try_again(
    server: RunningServer,
) -> None:
    hangs, other = server.serving_pids
    async with at(server, hangs) as client, at(server, other) as soon:
        seat = await take_seat(client)
        os.kill(hangs, signal.SIGSTOP)
        await soon.send(seat.resume())
        assert (await soon.next("error"))["error"]["code"] == "not_ready"
        with pytest.raises(ConnectionClosed):
            await soon.next()
        assert soon.socket.close_code == 1013
        server.wait_until(lambda: hangs not in server.serving_pids, 30)
        async with wire(server, WAITS) as later:
            await come_back(later, seat)
            await end(later, seat)
    server.wait_until(lambda: has_both(server), 30)


def test_limits_hold_over_all_processes(tmp_path: Path) -> None:
    asyncio.run(_limits(tmp_path))


async def _limits(tmp_path: Path) -> None:
    config = str(settings(tmp_path, "max_sessions = 2"))
    options: Any = {"stage": "scripted"}
    with running(tmp_path / "data", "--config", config, "--workers", "2", **options) as server:
        server.wait_until(lambda: has_both(server), 30)
        first, second = server.serving_pids
        async with at(server, first) as one, at(server, second) as two:
            seats = [await take_seat(one), await take_seat(two)]
            for pid in (first, second):
                async with at(server, pid) as third:
                    await third.send({"type": "session.update", "session": {}})
                    assert (await third.next("error"))["error"]["code"] == "resource_exhausted"
                    with pytest.raises(ConnectionClosed):
                        await third.next()
                    assert third.socket.close_code == 1013
            async with at(server, second) as moved:  # who is in stays in
                await come_back(moved, seats[0])
                assert server.get("/health").json()["sessions"] == 2
                await end(moved, seats[0])
            server.wait_until(lambda: server.get("/health").json()["sessions"] == 1)
            async with at(server, first) as fourth:
                await end(fourth, await take_seat(fourth))
            await end(two, seats[1])


def test_a_session_of_a_killed_process_that_nobody_comes_back_to_is_ended_once(tmp_path: Path) -> None:
    asyncio.run(_abandoned(tmp_path))


async def _abandoned(tmp_path: Path) -> None:
    config = str(settings(tmp_path, "disconnect_grace_s = 0.2\nreaper_interval_s = 0.1"))
    with running(tmp_path / "data", "--config", config, "--workers", "2", stage="scripted") as server:
        server.wait_until(lambda: has_both(server), 30)
        killed = server.serving_pids[1]
        async with at(server, killed) as client:
            seat = await take_seat(client)
            os.kill(killed, signal.SIGKILL)
        server.wait_until(lambda: log_of(server).head(SessionId(seat.session)).sealed, 20)
        server.wait_until(lambda: has_both(server), 30)
        reaped = [one for one in server.get("/metrics").text.splitlines() if "sessions_reaped_total{" in one]
        assert reaped == [
            'antiphon_sessions_reaped_total{worker="0"} 1.0',
            'antiphon_sessions_reaped_total{worker="1"} 0.0',
        ]
    happened = events(server, seat.session)
    assert [one.reason for one in happened if isinstance(one, SessionExpired)] == ["disconnect_grace_expired"]


async def test_a_resume_that_lay_in_a_process_which_stood_still_is_not_done_once_its_client_has_left(
    server: RunningServer,
) -> None:
    """The client gave up on it and is elsewhere: it would take the place of itself."""
    first, second = server.serving_pids
    async with at(server, first) as client, at(server, second) as late:
        seat = await take_seat(client)
        os.kill(second, signal.SIGSTOP)
        try:
            await late.send(seat.resume())
            closing = asyncio.create_task(late.socket.close(1001))
            await asyncio.sleep(0)  # the frame leaves; the answer does not come
        finally:
            os.kill(second, signal.SIGCONT)
        await closing
        async with at(server, second) as another:  # it has had time by then
            await end(another, await take_seat(another))
        await end(client, seat)
    assert ClientReplaced not in kinds(server, seat)
