"""Scores speech for many sessions on one thread: whatever waits at the same moment is run together.

Each round takes the oldest waiting piece of every session in turn, so a session that sends a lot at once
delays its neighbours by one piece at most. Where many sessions are open a round waits for company: alone a
window costs three times what it does in a batch, and nobody notices GATHER_S. Sessions do not touch each
other: a batch gives what single runs give.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Consumed,
    Descriptor,
    Emit,
    EndTurn,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Scored,
    Speak,
)
from antiphon.actors.stages.vad.silero import Silero
from antiphon.actors.stages.vad.stream import WINDOW, Stream
from antiphon.events.ids import Fence, SessionId
from antiphon.events.units import BYTES_PER_SAMPLE
from antiphon.media.pcm import Float32

BATCH = 16
"""Streams per run: beyond 8 the cost per stream hardly falls (bench/vad.py), the wait grows."""
MANY = 8
"""Sessions from which on company is waited for."""
GATHER_S = 0.010

log = structlog.get_logger()


class VadSettings(Struct, frozen=True, forbid_unknown_fields=True):
    max_sessions: int = 256
    model_path: str = ""
    """Another file of the same detector: ONNX, with the inputs and outputs of Silero 5 and 6."""


class _Session:
    """A stream and the pieces of it that wait, oldest first."""

    def __init__(self) -> None:
        self.stream = Stream()
        self.waiting: deque[Listen] = deque()


class VadEngine:
    """Silero on the processor, without torch."""

    def __init__(
        self, settings: dict[str, Any] | None = None, *, progress: Callable[[str], None] | None = None
    ) -> None:
        try:
            chosen = msgspec.convert(settings or {}, VadSettings)
        except msgspec.ValidationError as error:
            raise EngineRefused("bad_settings", f"[stage.vad] {error}") from error
        if progress:
            progress("loading the voice detector")
        self._model = Silero(chosen.model_path)
        self._sessions: dict[SessionId, _Session] = {}
        self._ready: deque[_Session] = deque()
        """Those that have pieces waiting, each once, in the order of their turns."""
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="vad", daemon=True)
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="silero-vad",
            role="voice",
            engine=f"vad-{uuid.uuid4().hex[:12]}",
            hears="continuously",
            max_sessions=chosen.max_sessions,
        )

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._thread.start()

    def open(self, fence: Fence, config: dict[str, Any]) -> None:
        with self._changed:
            self._sessions[fence.session] = _Session()

    def listen(self, command: Listen) -> None:
        if len(command.pcm) % BYTES_PER_SAMPLE:
            failed = Failed("bad_audio", f"{len(command.pcm)} bytes are no whole number of samples")
            self._emit(command.fence, command.operation, failed, last=True)
            return
        with self._changed:
            session = self._sessions[command.fence.session]
            session.waiting.append(command)
            if len(session.waiting) == 1:
                self._ready.append(session)
                if len(self._ready) in (1, BATCH):
                    self._changed.notify()

    def end_turn(self, command: EndTurn) -> None:
        """A detector has nothing left to say."""
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        failed = Failed("not_supported", "a voice detector does not speak")
        self._emit(command.fence, command.operation, failed, last=True)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        """Scores are the user's side: a barge-in voids none of them."""

    def close(self, fence: Fence) -> None:
        with self._changed:
            session = self._sessions.pop(fence.session, None)
            if session is not None and session.waiting:
                self._ready.remove(session)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while pieces := self._next_pieces():
            try:
                self._score(pieces)
            except Exception:
                log.exception("vad.failed", sessions=len(pieces))
                for _, piece in pieces:
                    failed = Failed("engine_error", "the voice detector failed")
                    self._emit(piece.fence, piece.operation, failed, last=True)

    def _next_pieces(self) -> list[tuple[Stream, Listen]]:
        """The oldest waiting piece of up to BATCH sessions; waits for one; empty when stopped."""
        with self._changed:
            while not self._stopped:
                if not self._ready:
                    self._changed.wait()
                    continue
                if len(self._sessions) >= MANY and len(self._ready) < BATCH:
                    self._changed.wait(GATHER_S)
                if self._ready and not self._stopped:  # else they were closed meanwhile
                    return [self._next_piece() for _ in range(min(len(self._ready), BATCH))]
            return []

    def _next_piece(self) -> tuple[Stream, Listen]:
        session = self._ready.popleft()
        piece = session.waiting.popleft()
        if session.waiting:
            self._ready.append(session)
        return session.stream, piece

    def _score(self, pieces: list[tuple[Stream, Listen]]) -> None:
        heard = [stream.hear(piece.until_sample, piece.pcm) for stream, piece in pieces]
        scores: list[list[int]] = [[] for _ in pieces]
        for k in range(max(map(len, heard))):
            self._run_together(k, [stream for stream, _ in pieces], heard, scores)
        for (stream, piece), permille in zip(pieces, scores, strict=True):
            body = Scored(stream.scored_until, WINDOW, tuple(permille)) if permille else Consumed()
            self._emit(piece.fence, piece.operation, body, last=True)

    def _run_together(
        self, k: int, streams: list[Stream], heard: list[list[Float32]], scores: list[list[int]]
    ) -> None:
        """Window k of every stream that has one."""
        places = [place for place, windows in enumerate(heard) if k < len(windows)]
        answers = self._model.probabilities(
            [heard[place][k] for place in places], [streams[place].memory for place in places]
        )
        for place, (probability, memory) in zip(places, answers, strict=True):
            scores[place].append(streams[place].scored(probability, memory))
