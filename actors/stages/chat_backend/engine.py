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
from antiphon.actors.stages.chat_backend import endpoints
from antiphon.actors.stages.chat_backend.endpoints import Further, Patience, Seconds
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
    """`endpoints` are further ones, by the name that a question asks for."""

    llm_url: str
    llm_model: str
    llm_sees: bool = False
    llm_hears: bool = False
    llm_key_file: str = ""
    llm_connect_s: Seconds = 5.0
    llm_first_word_s: Seconds = 60.0
    llm_idle_s: Seconds = 30.0
    max_sessions: int = 64
    endpoints: dict[str, Further] = {}


class ChatEngine:
    """Answers in writing whatever modality is asked for."""

    def __init__(
        self, settings: dict[str, Any] | None = None, *, progress: Callable[[str], None] | None = None
    ) -> None:
        try:
            chosen = msgspec.convert(settings or {}, ChatSettings)
        except msgspec.ValidationError as error:
            raise EngineRefused("bad_settings", f"[stage.chat] {error}") from error
        writer = ChatWriter(
            endpoints.main(chosen.llm_url, chosen.llm_model, chosen.llm_key_file),
            # A session that is answered may have work of its own at further endpoints meanwhile.
            lanes=chosen.max_sessions * (2 if chosen.endpoints else 1),
            patience=Patience(chosen.llm_connect_s, chosen.llm_first_word_s, chosen.llm_idle_s),
            others={name: endpoints.further(name, one) for name, one in chosen.endpoints.items()},
        )
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
            takes_audio=chosen.llm_hears,
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
