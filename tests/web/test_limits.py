"""What the server owns of every session: `[duplex_session]`, told to clients and held to."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.web.duplex_session import DuplexSession
from antiphon.web.settings import SettingsError, load
from tests.serving import running

from .test_resume import WAITS, answered, ask, settings, take_seat
from .wire import wire


def test_one_more_session_than_there_may_be_is_refused_and_may_try_again(tmp_path: Path) -> None:
    asyncio.run(_one_more(tmp_path))


async def _one_more(tmp_path: Path) -> None:
    """Case 28, and that a place is free only when the stages have let go."""
    config = str(settings(tmp_path, "max_sessions = 2"))
    with running(tmp_path / "data", "--config", config, stage="scripted") as server:
        async with wire(server, WAITS) as first, wire(server, WAITS) as second:
            await take_seat(first)
            await take_seat(second)
            async with wire(server, WAITS) as third:
                await third.send({"type": "session.update", "session": {}})
                error = (await third.next("error"))["error"]
                assert (error["code"], error["retryable"]) == ("resource_exhausted", True)
                with pytest.raises(ConnectionClosed):
                    await third.next()
                assert third.socket.close_code == 1013
            await first.send({"type": "session.close"})
            await first.until("session.closed")
            server.wait_until(lambda: server.get("/health").json()["sessions"] == 1)
            async with wire(server, WAITS) as third:
                await take_seat(third)


def test_a_session_that_is_too_old_says_so_and_closes_with_a_code_that_clients_retry(tmp_path: Path) -> None:
    asyncio.run(_too_old(tmp_path))


async def _too_old(tmp_path: Path) -> None:
    config = str(settings(tmp_path, "max_session_s = 1"))
    with running(tmp_path / "data", "--config", config, stage="scripted") as server:
        async with wire(server, WAITS) as duplex, wire(server) as plain:
            seat = await take_seat(duplex)
            limits = seat.frames[0]["session"]["capabilities"]["limits"]
            assert (limits["max_session_s"], limits["disconnect_grace_s"]) == (1.0, 30.0)
            created = await plain.next("session.created")
            for session in (seat.frames[0]["session"], created["session"]):
                assert abs(session["expires_at"] - time.time()) < 10
            expired = await duplex.next("session.expired")
            assert (expired["session_id"], expired["reason"]) == (seat.session, "max_session_expired")
            assert (await plain.next("error"))["error"]["code"] == "session_expired"
            for client in (duplex, plain):
                with pytest.raises(ConnectionClosed):
                    await client.next()
                assert client.socket.close_code == 1001


def test_an_open_socket_counts_as_a_sign_of_life_well_within_the_time_and_never_where_there_is_none() -> None:
    assert DuplexSession(idle_ttl_s=300).keep_alive_s == 100
    assert DuplexSession(idle_ttl_s=0).keep_alive_s is None


@pytest.mark.parametrize(
    "line", ["max_sessions = -1", "idle_ttl_s = 'long'", "reaper_interval_s = 0", "no_such_limit = 1"]
)
def test_a_limit_that_cannot_be_is_an_error(tmp_path: Path, line: str) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text(f"[duplex_session]\n{line}\n")
    with pytest.raises(SettingsError, match="duplex_session"):
        load(config, {})


def test_case_34_ours_frames_keep_their_numbers_however_many_there_are(tmp_path: Path) -> None:
    asyncio.run(_numbered(tmp_path))


async def _numbered(tmp_path: Path) -> None:
    """The protocol's journal may overflow; what is sent after that is numbered and told once all the same."""
    config = str(settings(tmp_path, "resume_replay_max_bytes_per_session = 1024"))
    with running(tmp_path / "data", "--config", config, stage="scripted") as server:
        async with wire(server, WAITS) as client:
            await take_seat(client)
            await ask(client, "Count", "evt_1")
            frames = await answered(client)
    assert all("server_event_seq" in frame for frame in frames)
    assert "session.resync_required" not in [frame["type"] for frame in frames]
