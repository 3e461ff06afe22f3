"""A server on a machine where things go wrong: what it cannot say, cannot write, cannot load."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.serving import running

from .wire import wire


async def test_a_server_whose_diagnostics_nobody_reads_any_more_goes_on(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with running(tmp_path / "data", stage="scripted", output=writing) as server:
        os.close(writing)
        os.close(reading)  # as when `antiphon serve 2>&1 | tee log` loses its tee
        async with wire(server) as client:
            await client.next("session.created")
            os.kill(server.stage_pid("model"), signal.SIGKILL)  # something to complain about
            server.wait("/health", 503)
            server.wait("/health", seconds=10)
            await client.manual()
        assert server.stop() == 0
