"""/live, /health and /metrics, and what happens before the stages are ready."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.serving import RunningServer, running

from .wire import wire


def test_live_health_and_metrics_answer(echo_server: RunningServer) -> None:
    assert echo_server.get("/live").json() == {"status": "live"}
    health = echo_server.get("/health")
    assert health.status_code == 200
    assert health.json()["stages"]["model"]["state"] == "ready"
    metrics = echo_server.get("/metrics").text
    for name in (
        "antiphon_loop_lag_seconds",
        "antiphon_log_append",
        "antiphon_sessions_live",
        "antiphon_refusals",
        "antiphon_stage_units_in_flight",
        "antiphon_input_frames_dropped",
    ):
        assert name in metrics


async def test_a_session_that_comes_too_early_is_refused_retryably(tmp_path: Path) -> None:
    slow = "[stage.scripted]\nload_ms = 30000\n"
    (tmp_path / "slow.toml").write_text(slow)
    arguments = ("--config", str(tmp_path / "slow.toml"))
    with running(tmp_path / "data", *arguments, stage="scripted", ready=False) as server:
        health = server.get("/health")
        if health.status_code == 200:
            pytest.fail("the stage was ready before it could be asked")
        assert health.status_code == 503
        assert health.json()["status"] == "loading"
        async with wire(server) as client:
            assert (await client.next())["error"]["code"] == "not_ready"
            await client.socket.wait_closed()
            assert client.socket.close_code == 1013


async def test_a_stage_that_cannot_be_loaded_is_no_reason_to_try_again(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("[stage.echo]\nmax_session = 1\n")
    with running(tmp_path / "data", "--config", str(tmp_path / "wrong.toml"), ready=False) as server:
        server.wait_until(lambda: server.get("/health").json()["status"] == "failed")
        assert "max_session" in server.get("/health").json()["stages"]["model"]["progress"]
        async with wire(server) as client:
            assert (await client.next())["error"]["code"] == "stage_failed"
            await client.socket.wait_closed()
            assert client.socket.close_code == 1008


async def test_at_capacity_the_next_caller_is_told(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("[stage.echo]\nmax_sessions = 1\n")
    with running(tmp_path / "data", "--config", str(tmp_path / "small.toml")) as server:
        async with wire(server) as first:
            await first.next("session.created")
            async with wire(server) as second:
                error = await second.next()
                assert error["error"]["code"] == "resource_exhausted"
                assert error["error"]["type"] == "rate_limit_error"
                await second.socket.wait_closed()
                assert second.socket.close_code == 1013
        await asyncio.to_thread(server.wait_until, lambda: not server.get("/health").json()["sessions"])
        async with wire(server) as third:
            assert (await third.next())["type"] == "session.created"
