"""`antiphon serve --stage minicpmo --thinker vllm` with a tiny model, over a real port: vLLM's engine core is killed
in the middle of a unit, and then hangs while a session ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from antiphon.cli.main import main
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import AudioSpoken, StageMeasured, StageOpened, TextSpoken, UnitSubmitted
from antiphon.replay.verify import verify
from tests.serving import RunningServer, running
from tests.stages.minicpmo.calling import SECOND, WAIT_S, closed, heard, log_of, of, talking
from tests.vllm.asking import LONG_ENOUGH_S
from tests.vllm.processes import children, has_ended
from tests.web.wire import wire

pytestmark = pytest.mark.vllm

START_S = 400.0
TOKENS = 6
"""Of a unit: fewer than warming up would like to have."""
SETTINGS = f"""
[stage.minicpmo]
max_sessions = 2
context_tokens = 100000  # more than the model has
unit_tokens = {TOKENS}
append_timeout_s = 10
[stage.minicpmo.vllm]
kv_blocks = {2 * 8192 // 32 + 1}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("serving")
    made = CliRunner().invoke(main, ["models", "make-tiny", str(folder / "model"), "--seed", "3"])
    assert made.exit_code == 0, made.output
    config = folder / "antiphon.toml"
    config.write_text(SETTINGS)
    arguments = ("--config", str(config), "--thinker", "vllm", "--model", str(folder / "model"))
    with running(folder / "data", *arguments, stage="minicpmo", ready=False) as started:
        started.wait("/health", 200, START_S)
        yield started


def engine_core(server: RunningServer) -> psutil.Process:
    core, *_ = children(psutil.Process(server.stage_pid("model")))
    return core


def told(server: RunningServer) -> str:
    return Path(server.data / "logs" / "stage-model.log").read_text("utf-8", "replace")


async def test_it_talks_to_a_realtime_client_in_units_of_a_second(server: RunningServer) -> None:
    async with wire(server, "?duplex=1") as client:
        session = await talking(client)
        reading = asyncio.create_task(closed(client))
        await heard(server, client, session, 8)
        await client.send({"type": "session.close"})
        await reading
    assert of(server, session, TextSpoken)
    assert of(server, session, AudioSpoken)
    [opened] = [one for one in of(server, session, StageOpened) if one.stage == "model"]
    assert opened.engine.startswith("minicpmo-vllm-")
    gaps = [one.each_us for one in of(server, session, StageMeasured) if one.name == "token_gaps_ms"]
    assert max(map(len, gaps)) == TOKENS - 1
    assert verify(log_of(server), SessionId(session)).same


async def test_vllms_engine_core_is_killed_in_the_middle_of_a_unit_and_the_next_unit_works(
    server: RunningServer,
) -> None:
    async with wire(server, "?duplex=1") as client:
        session = await talking(client)
        reading = asyncio.create_task(closed(client))
        await heard(server, client, session, 4)
        before = [(one.text, one.operation) for one in of(server, session, TextSpoken)]
        units = len(of(server, session, UnitSubmitted))
        core = engine_core(server)
        core.suspend()  # else it might be through with the unit before it is killed
        await client.append(SECOND)
        await asyncio.to_thread(server.wait_until, partial(submitted_more, server, session, units), WAIT_S)
        core.kill()
        await asyncio.to_thread(server.wait, "/health", 503)
        await asyncio.to_thread(server.wait, "/health", 200, START_S)
        await heard(server, client, session, 3)
        await client.send({"type": "session.close"})
        await reading
    assert before
    assert [(one.text, one.operation) for one in of(server, session, TextSpoken)][: len(before)] == before
    engines = [one.engine for one in of(server, session, StageOpened) if one.stage == "model"]
    assert len(set(engines)) == 2
    assert "minicpmo.primed" in told(server), "the new stage was told what was heard and said before"
    assert verify(log_of(server), SessionId(session)).same


def submitted_more(server: RunningServer, session: str, units: int) -> bool:
    return len(of(server, session, UnitSubmitted)) > units


async def test_an_engine_core_that_hangs_while_a_session_ends_is_found_out_and_ends_with_its_stage(
    server: RunningServer,
) -> None:
    """A place that is never given back would be gone without a word."""
    core = engine_core(server)
    async with wire(server, "?duplex=1") as client:
        session = await talking(client)
        reading = asyncio.create_task(closed(client))
        await heard(server, client, session, 1)
        os.kill(core.pid, signal.SIGSTOP)
        await client.send({"type": "session.close"})
        await reading
        await asyncio.to_thread(server.wait, "/health", 503)
    server.wait_until(partial(has_ended, core), LONG_ENOUGH_S)
    assert "not answered within 10 s" in told(server)
