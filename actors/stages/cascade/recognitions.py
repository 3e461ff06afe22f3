"""Which utterance is recognised next: piece by piece in turn, and none whose successor already waits.

A long utterance is recognised in pieces (pieces.py), and whoever else waits has a turn between two of them:
one caller's dictation does not keep the others unheard. A session asks when its user falls silent, and asks
again when the user went on after all. The later request contains the earlier one's audio, so an earlier one
that is not done ends with `superseded`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from antiphon.actors.stages.cascade.pieces import pieces
from antiphon.actors.stages.cascade.workers import Workers
from antiphon.actors.stages.contract import Body, Emit, Failed, Heard, Listen, Measured
from antiphon.events.ids import SessionId
from antiphon.events.units import BYTES_PER_SAMPLE

log = structlog.get_logger()


class _Utterance:
    """One on its way to the recogniser: what is still to be heard, and what was heard already."""

    def __init__(self, command: Listen) -> None:
        self.command = command
        self.asked_at = time.monotonic()
        self.texts: list[str] = []
        self._pieces: deque[bytes] | None = None

    def next_piece(self) -> tuple[bytes, bool]:
        """The next piece, and whether it is the last."""
        if self._pieces is None:
            self._pieces = deque(pieces(self.command.pcm))
        return self._pieces.popleft(), not self._pieces


class Recognitions:
    """The utterances of all sessions on their way to the recogniser, one thread for all."""

    def __init__(self, recognise: Callable[[bytes], str]) -> None:
        self._recognise = recognise
        self._waiting: list[_Utterance] = []
        """Until they are done; the first is next."""
        self._lock = threading.Lock()
        self._worker = Workers("recogniser", 1)

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._worker.start()

    def listen(self, command: Listen) -> None:
        with self._lock:
            old = [one for one in self._waiting if _contains(command, one.command)]
            self._waiting = [one for one in self._waiting if one not in old]
            self._waiting.append(_Utterance(command))
        for one in old:
            self._end(one.command, Failed("superseded", "a later recognition contains this one"))
        self._worker.submit(self._next)

    def close(self, session: SessionId) -> None:
        with self._lock:
            self._waiting = [one for one in self._waiting if one.command.fence.session != session]

    def stop(self) -> None:
        self._worker.stop()

    def _next(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            utterance = self._waiting.pop(0)
            self._waiting.append(utterance)
        try:
            piece, last = utterance.next_piece()
            utterance.texts.append(self._recognise(piece))
        except Exception:
            log.exception("cascade.recognition_failed", session=utterance.command.fence.session)
            if self._done(utterance):
                self._end(utterance.command, Failed("engine_error", "the recogniser failed"))
            return
        if not last:
            self._worker.submit(self._next)
        elif self._done(utterance):
            took = round((time.monotonic() - utterance.asked_at) * 1000)
            self._emit(utterance.command.fence, utterance.command.operation, Measured("recognise_ms", took))
            self._end(utterance.command, Heard(" ".join(filter(None, utterance.texts))))

    def _done(self, utterance: _Utterance) -> bool:
        """Take it out of the queue; False if it was superseded or its session closed meanwhile."""
        with self._lock:
            if utterance not in self._waiting:
                return False
            self._waiting.remove(utterance)
            return True

    def _end(self, command: Listen, body: Body) -> None:
        self._emit(command.fence, command.operation, body, last=True)


def _contains(later: Listen, earlier: Listen) -> bool:
    return (
        later.fence.session == earlier.fence.session
        and later.until_sample >= earlier.until_sample
        and _begin(later) <= _begin(earlier)
    )


def _begin(command: Listen) -> int:
    return command.until_sample - len(command.pcm) // BYTES_PER_SAMPLE
