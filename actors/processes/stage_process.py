"""One stage process: set the process up, load its engine, serve its socket.

Loading takes seconds and may fail; meanwhile the socket already answers, so that whoever waits for the stage
can be told what it is doing.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from msgspec import Struct

from antiphon.actors.processes import lifeline
from antiphon.actors.processes.pulse import Beating
from antiphon.actors.processes.stage_server import Phase, StageServer
from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.registry import load_engine

LOG_BYTES = 4 * 1024 * 1024
"""A stage's log that has grown beyond this is set aside (one older one is kept) when the stage starts."""
HAND_OVER_S = 0.0005
"""How long a thread of Python may keep others waiting, instead of 5 ms: one thread speaks with the serving
processes while another drives the model, and what it has to say is late by as much."""

log = structlog.get_logger()


class StartStage(Struct, frozen=True, kw_only=True):
    """Become this stage. Plain values only: it is pickled on its way."""

    name: str
    engine: str
    settings: dict[str, Any]
    socket_path: str
    pulse_path: str
    """A pipe; see pulse.py."""
    log_path: str


class StageStatus(Struct, frozen=True, kw_only=True):
    """What a stage process says of itself."""

    pid: int
    name: str
    phase: Phase
    detail: str


class StageProcess:
    """Everything of this process that is not thespian's."""

    def __init__(self, start: StartStage) -> None:
        lifeline.close_inherited()
        _redirect_stdio(Path(start.log_path))
        settle()
        self._start = start
        # An engine that died leaves a process that holds its memory: the keeper starts a new one.
        self._server = StageServer(
            Path(start.socket_path), died=lambda: os._exit(1), goes_round=self._beat(start.pulse_path)
        )

    def _beat(self, path: str) -> Callable[[], None]:
        beating = Beating(path)
        return lambda: beating.beat(busy=self._server.phase == "loading")

    def begin(self) -> None:
        """Serve the socket, and load the engine beside it."""
        self._server.start()
        threading.Thread(target=self._load, name="stage-loading", daemon=True).start()

    def status(self) -> StageStatus:
        server = self._server
        return StageStatus(pid=os.getpid(), name=self._start.name, phase=server.phase, detail=server.detail)

    def stop(self) -> None:
        self._server.stop(timeout_s=1.0)

    def _load(self) -> None:
        name, server = self._start.engine, self._server
        server.loading(f"loading {name}")
        try:
            engine = load_engine(name, self._start.settings, server.loading)
        except EngineRefused as refused:
            log.error("stage.refused", stage=self._start.name, code=refused.code, reason=refused.message)
            server.failed(refused.code, refused.message)
            return
        except Exception as error:
            log.exception("stage.load_failed", stage=self._start.name)
            server.failed("engine_error", f"engine {name!r} failed to load: {type(error).__name__}")
            return
        gc.collect()
        gc.freeze()  # the models' objects live as long as the process; no collection need look at them
        log.info("stage.ready", stage=self._start.name, engine=engine.descriptor.engine)
        server.ready(engine)


def _redirect_stdio(log_path: Path) -> None:
    """Native engines write to the descriptors themselves; nobody may hold the launcher's terminal."""
    log_path.parent.mkdir(parents=True, exist_ok=True)
    if log_path.exists() and log_path.stat().st_size > LOG_BYTES:
        log_path.replace(log_path.with_suffix(".log.1"))
    written = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.close(nothing)
    os.close(written)


def settle() -> None:
    """Before a model's libraries are imported: native thread pools leave one core to the serving process and
    sleep while they wait, and no thread of Python keeps the others waiting for long."""
    threads = str(max(1, len(os.sched_getaffinity(0)) - 1))
    os.environ.setdefault("OMP_NUM_THREADS", threads)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", threads)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.setswitchinterval(HAND_OVER_S)
