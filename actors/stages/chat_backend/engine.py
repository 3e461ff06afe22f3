"""A stage that writes only: a chat server's answers, without ears and without a voice.

It needs nothing but the base installation. Speech needs the cascade, which takes the same chat server.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.stages.cascade.answering import Answering
from antiphon.actors.stages.chat_backend.writer import ChatWriter
from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Descriptor,
    Emit,
    EndTurn,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Pending,
    Speak,
)
from antiphon.events.ids import Fence


class ChatSettings(Struct, frozen=True, forbid_unknown_fields=True):
    llm_url: str
    llm_model: str
    llm_sees: bool = False
    max_sessions: int = 64


class ChatEngine:
    """Answers in writing whatever modality is asked for."""

    def __init__(
        self, settings: dict[str, Any] | None = None, *, progress: Callable[[str], None] | None = None
    ) -> None:
        try:
            chosen = msgspec.convert(settings or {}, ChatSettings)
        except msgspec.ValidationError as error:
            raise EngineRefused("bad_settings", f"[stage.chat] {error}") from error
        writer = ChatWriter.from_environment(chosen.llm_url, chosen.llm_model, lanes=chosen.max_sessions)
        self._answering = Answering(writer, None, own_intents=False, clock=datetime.now)
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="chat",
            role="model",
            engine=f"chat-{uuid.uuid4().hex[:12]}",
            hears="utterances",
            speaks=False,
            max_sessions=chosen.max_sessions,
            must_not_repeat=True,
            sees=chosen.llm_sees,
            calls_tools=True,
        )

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._answering.start(emit)

    def open(self, fence: Fence, config: dict[str, Any]) -> None:
        self._answering.prepare(fence.session)

    def listen(self, command: Listen) -> None:
        failed = Failed("not_supported", "this stage has no recogniser: write, or use the cascade")
        self._emit(command.fence, command.operation, failed, last=True)

    def end_turn(self, command: EndTurn) -> None:
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        self._answering.speak(command)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self._answering.cancel(next_fence)

    def close(self, fence: Fence) -> Pending:
        return self._answering.close(fence.session)

    def stop(self) -> None:
        self._answering.stop()
