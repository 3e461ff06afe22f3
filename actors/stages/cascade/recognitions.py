"""Which utterance is recognised next: in order, one at a time, and none whose successor already waits.

A session asks when its user falls silent, and asks again when the user went on after all. The later request
contains the earlier one's audio, so an earlier one that still waits ends with `superseded`.
"""

import threading
import time
from collections.abc import Callable

import structlog

from antiphon.actors.stages.cascade.workers import Workers
from antiphon.actors.stages.contract import Emit, Failed, Heard, Listen, Measured
from antiphon.events.ids import SessionId
from antiphon.events.units import BYTES_PER_SAMPLE

log = structlog.get_logger()


class Recognitions:
    """The utterances of all sessions on their way to the recogniser, one thread for all."""

    def __init__(self, recognise: Callable[[bytes], str]) -> None:
        self._recognise = recognise
        self._waiting: list[tuple[Listen, float]] = []
        self._lock = threading.Lock()
        self._worker = Workers("recogniser", 1)

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._worker.start()

    def listen(self, command: Listen) -> None:
        with self._lock:
            old = [waiting for waiting, _ in self._waiting if _contains(command, waiting)]
            self._waiting = [entry for entry in self._waiting if entry[0] not in old]
            self._waiting.append((command, time.monotonic()))
        for waiting in old:
            superseded = Failed("superseded", "a later recognition contains this one")
            self._emit(waiting.fence, waiting.operation, superseded, last=True)
        self._worker.submit(self._next)

    def close(self, session: SessionId) -> None:
        with self._lock:
            self._waiting = [entry for entry in self._waiting if entry[0].fence.session != session]

    def stop(self) -> None:
        self._worker.stop()

    def _next(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            command, asked_at = self._waiting.pop(0)
        try:
            text = self._recognise(command.pcm)
        except Exception:
            log.exception("cascade.recognition_failed", session=command.fence.session)
            failed = Failed("engine_error", "the recogniser failed")
            self._emit(command.fence, command.operation, failed, last=True)
            return
        took = round((time.monotonic() - asked_at) * 1000)
        self._emit(command.fence, command.operation, Measured("recognise_ms", took))
        self._emit(command.fence, command.operation, Heard(text), last=True)


def _contains(later: Listen, earlier: Listen) -> bool:
    return (
        later.fence.session == earlier.fence.session
        and later.until_sample >= earlier.until_sample
        and _begin(later) <= _begin(earlier)
    )


def _begin(command: Listen) -> int:
    return command.until_sample - len(command.pcm) // BYTES_PER_SAMPLE
