"""A stage that is a thinker and nothing else: neither ears nor voice.

What it says of a unit is its first token as soon as it is there, and a second of silence with the last.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from itertools import pairwise
from time import monotonic_ns
from typing import Any

import msgspec

from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    ENGINE_DEAD,
    Consumed,
    Descriptor,
    Emit,
    EndTurn,
    EngineDied,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Measured,
    Pending,
    Said,
    Speak,
)
from antiphon.actors.stages.minicpmo.thinker import Rejected, SegmentEnded, ThinkerDied, Token
from antiphon.events.ids import Fence, SessionId
from bench.thinker.engines import Choice, start
from bench.thinker.units import Speaker

UNIT_MS = 1000
SILENCE = bytes(2 * 24 * UNIT_MS)
TOKENS = "thinker_tokens"
"""Measured of each unit: the time to the first token, and those from one to the next."""


class ThinkerStage:
    """Implements Engine. A session's context is filled with `fill` tokens (extra_body) when it opens."""

    def __init__(self, settings: dict[str, Any], *, progress: Callable[[str], None]) -> None:
        choice = msgspec.convert(settings, Choice)
        self._thinker = start(choice, progress)
        self._speakers: dict[SessionId, Speaker] = {}
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="thinker",
            role="model",
            engine=f"thinker-{uuid.uuid4().hex[:12]}",
            hears="continuously",
            max_sessions=self._thinker.facts.places,
            unit_ms=UNIT_MS,
            reads=False,
            keeps_state=True,
            response_options=(),
        )

    def start(self, emit: Emit) -> None:
        self._emit = emit

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        fill = int((config.get("engine") or {}).get("fill", 64))
        facts = self._thinker.facts
        speaker = Speaker(len(self._speakers), fill, facts.vocabulary, facts.hidden)
        self._speakers[fence.session] = speaker
        try:
            self._thinker.open(fence.session).result()
        except Rejected as refused:
            raise EngineRefused(refused.code, str(refused), retryable=True) from refused
        filled: Future[None] = Future()

        def said(what: Token | SegmentEnded | ThinkerDied) -> None:
            if isinstance(what, SegmentEnded):
                filled.set_result(None)
            elif isinstance(what, ThinkerDied):
                filled.set_exception(EngineDied(str(what)))

        self._thinker.append(fence.session, speaker.next(), said)
        return filled

    def listen(self, command: Listen) -> None:
        speaker = self._speakers[command.fence.session]
        listens, asked, tokens, ids = speaker.listens, monotonic_ns(), [], []
        fence, operation = command.fence, command.operation

        def said(what: Token | SegmentEnded | ThinkerDied) -> None:
            if isinstance(what, Token):
                tokens.append(what.at_ns)
                ids.append(what.id)
                if len(tokens) == 1 and not listens:
                    self._emit(fence, operation, Said(text=" a"))
            elif isinstance(what, ThinkerDied):
                self._emit(fence, operation, Failed(ENGINE_DEAD, str(what)), last=True)
            elif what.why != "aborted":  # by the end of the session: nobody waits for it
                speaker.decoded(ids)
                self._emit(fence, operation, _measured(asked, tokens))
                last = Consumed() if listens else Said(text=" b", pcm=SILENCE)
                self._emit(fence, operation, last, last=True)

        self._thinker.append(fence.session, speaker.next(), said)

    def end_turn(self, command: EndTurn) -> None:
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        told = "it reads no text"
        self._emit(command.fence, command.operation, Failed("text_only_turn_unsupported", told), last=True)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        """The unit under way ends by itself."""

    def close(self, fence: Fence) -> Pending:
        self._speakers.pop(fence.session, None)
        return self._thinker.close(fence.session)

    def stop(self) -> None:
        self._thinker.stop()


def _measured(asked: int, tokens: list[int]) -> Measured:
    each = [tokens[0] - asked, *(after - before for before, after in pairwise(tokens))]
    return Measured(TOKENS, (tokens[-1] - asked) // 1_000_000, tuple(ns // 1000 for ns in each))
