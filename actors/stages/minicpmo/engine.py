"""The stage: units of a second in, words and sound out. sessions.py keeps sessions, parts.py the model."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import structlog

from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    ENGINE_DEAD,
    Body,
    Descriptor,
    Emit,
    EndTurn,
    EngineDied,
    Failed,
    Finished,
    Listen,
    Pending,
    Speak,
)
from antiphon.events.ids import Fence, Operation, SessionId

from .mind import Rules
from .options import read_settings
from .parts import Parts, load_parts
from .sessions import Sessions
from .vocoder import TONE, load_vocoder
from .voices import read_voices

UNIT_MS = 1000
PAST_UNITS = 64
"""Of a session whose stage was lost: what the next one is told of it, 3 MB of sound at most."""

log = structlog.get_logger()


class MiniCpmOEngine:
    """Implements Engine."""

    def __init__(
        self, settings: dict[str, Any], *, progress: Callable[[str], None], parts: Parts | None = None
    ) -> None:
        """`parts`: others than the settings'."""
        self._chosen = read_settings(settings)
        self._vocoder = load_vocoder(self._chosen.vocoder)
        known = read_voices(self._chosen.voices)  # what may be refused is, before anything is started
        self._parts = parts or load_parts(self._chosen, progress)
        thinker = self._parts.thinker.facts
        self._under_way: dict[tuple[SessionId, Operation], Fence] = {}
        self._dead = ""  # or why the engine is of no more use
        self._rules = Rules(
            specials=self._parts.words.specials,
            budget=self._chosen.budget(),
            window=self._chosen.kept_window(),
            most=thinker.context_tokens,
        )
        self._sessions = Sessions(
            self._chosen, known, self._rules, self._parts, self._vocoder, self._say, self._died
        )
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="minicpmo",
            role="model",
            engine=f"minicpmo-{self._chosen.thinker}-{self._vocoder.name}-{uuid.uuid4().hex[:12]}",
            hears="continuously",
            unit_ms=UNIT_MS,
            max_sessions=self._sessions.places,
            reads=False,
            keeps_state=True,
            confirms_config=True,
            past_units=PAST_UNITS,
            context_tokens=thinker.context_tokens,
            response_options=(),
        )
        if self._vocoder.name == TONE:
            told = "no vocoder was asked for: answers sound as a steady tone"
            log.warning("minicpmo.tone_vocoder", vocoder=TONE, meaning=told)
        if self._parts.talker_is_random:
            log.warning("minicpmo.random_talker", meaning="the talker's weights are noise")

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._sessions.start()

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        self._alive()
        return self._sessions.open(fence, config)

    def configure(self, fence: Fence, config: dict[str, Any]) -> Pending:
        self._alive()
        return self._sessions.configure(fence, config)

    def listen(self, command: Listen) -> None:
        self._alive()
        if command.whole:
            told = "this stage hears in units of a second, no whole utterances"
            self._emit(command.fence, command.operation, Failed("not_supported", told), last=True)
            return
        self._under_way[command.fence.session, command.operation] = command.fence
        self._sessions.listen(command)

    def end_turn(self, command: EndTurn) -> None:
        """The model decides by itself, with each unit; nothing is left to say."""
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        told = "a model that hears and speaks at once reads no text"
        self._emit(command.fence, command.operation, Failed("text_only_turn_unsupported", told), last=True)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self._sessions.cancel(fence.session, next_fence.epoch)

    def close(self, fence: Fence) -> Pending:
        for key in tuple(self._under_way):  # other threads take from it, too
            if key[0] == fence.session:
                self._under_way.pop(key, None)
        return self._sessions.close(fence.session)

    def stop(self) -> None:
        self._sessions.stop()
        self._parts.stop()

    def _alive(self) -> None:
        if self._dead:
            raise EngineDied(self._dead)

    def _say(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
        if last:
            self._under_way.pop((fence.session, operation), None)
        self._emit(fence, operation, body, last=last)

    def _died(self, why: str) -> None:
        log.error("minicpmo.died", why=why)
        self._dead = why
        for (_, operation), fence in tuple(self._under_way.items()):
            self._emit(fence, operation, Failed(ENGINE_DEAD, why), last=True)
