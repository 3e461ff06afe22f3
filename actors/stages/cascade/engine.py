"""The embedded default: Moonshine hears, SmolLM2 or a chat server writes, Hibari speaks.

Everything is loaded and has run once when the constructor returns: the first turn is as fast as the others.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from antiphon.actors.stages.cascade.answering import Answering
from antiphon.actors.stages.cascade.recogniser import Recogniser
from antiphon.actors.stages.cascade.recognitions import Recognitions
from antiphon.actors.stages.cascade.settings import CascadeSettings, read_settings
from antiphon.actors.stages.cascade.voice import Voice
from antiphon.actors.stages.cascade.writing import Writer
from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Descriptor,
    Emit,
    EndTurn,
    Failed,
    Finished,
    Listen,
    Pending,
    Speak,
)
from antiphon.events.ids import Fence
from antiphon.events.units import BYTES_PER_SAMPLE


def _local_time() -> datetime:
    return datetime.now().astimezone()


class CascadeEngine:
    """Hears whole utterances in English and answers in English."""

    def __init__(
        self,
        settings: dict[str, Any] | None = None,
        *,
        progress: Callable[[str], None] | None = None,
        clock: Callable[[], datetime] = _local_time,
    ) -> None:
        chosen = read_settings(settings or {})
        tell = progress or (lambda sentence: None)
        tell("loading the recogniser")
        self._recogniser = Recogniser()
        tell("loading the voice")
        voice = Voice()
        writer = _writer(chosen, tell)
        self._recognitions = Recognitions(self._recogniser.text)
        self._answering = Answering(writer, voice.pcm, own_intents=not chosen.llm_url, clock=clock)
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="cascade",
            role="model",
            engine=f"cascade-{uuid.uuid4().hex[:12]}",
            hears="utterances",
            transcribes=True,
            max_sessions=chosen.max_sessions,
            must_not_repeat=bool(chosen.llm_url),
            sees=chosen.llm_sees,
            takes_audio=chosen.llm_hears,
            calls_tools=bool(chosen.llm_url),
            response_options=("instructions", "max_output_tokens", "voice", "temperature", "speed"),
        )

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._recognitions.start(emit)
        self._answering.start(emit)

    def open(self, fence: Fence, config: dict[str, Any]) -> None:
        self._answering.prepare(fence.session)

    def listen(self, command: Listen) -> None:
        if not command.whole:
            self._fail(command, "not_supported", "this stage hears whole utterances, not a stream")
        elif len(command.pcm) % BYTES_PER_SAMPLE:
            self._fail(command, "bad_audio", f"{len(command.pcm)} bytes are no whole number of samples")
        else:
            self._recognitions.listen(command)

    def end_turn(self, command: EndTurn) -> None:
        """Nothing was heard in a stream, so nothing is left to say."""
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        self._answering.speak(command)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        """Answers are void; what the user said is recognised all the same."""
        self._answering.cancel(next_fence)

    def close(self, fence: Fence) -> Pending:
        self._recognitions.close(fence.session)
        return self._answering.close(fence.session)

    def stop(self) -> None:
        self._recognitions.stop()
        self._answering.stop()
        self._recogniser.close()

    def _fail(self, command: Listen, code: str, message: str) -> None:
        self._emit(command.fence, command.operation, Failed(code, message), last=True)


def _writer(chosen: CascadeSettings, tell: Callable[[str], None]) -> Writer:
    if chosen.llm_url:
        from antiphon.actors.stages.chat_backend import endpoints
        from antiphon.actors.stages.chat_backend.writer import ChatWriter

        tell("answers come from the chat server")
        main = endpoints.main(chosen.llm_url, chosen.llm_model, chosen.llm_key_file)
        patience = endpoints.Patience(chosen.llm_connect_s, chosen.llm_first_word_s, chosen.llm_idle_s)
        return ChatWriter(main, lanes=chosen.max_sessions, patience=patience)
    from antiphon.actors.stages.cascade.llama import Llama, packaged_model

    tell("loading the language model")
    gguf = Path(chosen.gguf_path).expanduser() if chosen.gguf_path else packaged_model()
    return Llama(gguf, slots=chosen.max_sessions, lanes=chosen.lanes, threads=chosen.threads)
