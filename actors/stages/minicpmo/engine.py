"""The stage: units of a second in, words and sound out. sessions.py keeps sessions, parts.py the model."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import structlog

from antiphon.actors.link.codec import FRAME_LIMIT
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
from antiphon.events.units import BYTES_PER_SAMPLE, ms_to_samples

from . import layout, voices
from .mind import Rules, largest_unit
from .options import read_settings
from .parts import Parts, load_parts
from .sessions import Sessions
from .vocoder import TONE, load_vocoder
from .warming import warm
from .window import bounded

UNIT_MS = 1000
UNIT_BYTES = BYTES_PER_SAMPLE * ms_to_samples(UNIT_MS)
TOLD_TOGETHER = 4096
"""Past units of all sessions together: they are heard again one by one, and others go on."""

log = structlog.get_logger()


class MiniCpmOEngine:
    """Implements Engine."""

    def __init__(
        self, settings: dict[str, Any], *, progress: Callable[[str], None], parts: Parts | None = None
    ) -> None:
        """`parts`: others than the settings'."""
        self._chosen = read_settings(settings)
        self._vocoder = load_vocoder(self._chosen.vocoder)
        recorded = voices.read_voices(self._chosen.voices)
        self._parts = parts or load_parts(self._chosen, progress)
        self._under_way: dict[tuple[SessionId, Operation], Fence] = {}
        self._dead = ""
        """Why the engine is of no more use."""
        budget, length = self._chosen.budget(), self._parts.thinker.facts.context_tokens
        largest = largest_unit(budget, sees=self._parts.eyes is not None)
        self._rules = Rules(
            specials=self._parts.words.specials,
            budget=budget,
            window=bounded(self._chosen.kept_window(), length, largest),
            most=length,
        )
        warm(self._parts, budget, progress)
        known = voices.embedded(recorded, self._parts)
        self._sessions = Sessions(
            self._chosen, known, self._rules, self._parts, self._vocoder, self._say, self._died
        )
        self.descriptor = self._described()
        log.info("minicpmo.ready", thinker=self._parts.thinker.facts.name, places=self._sessions.places)
        if self._vocoder.name == TONE:
            told = "no vocoder was asked for: answers sound as a steady tone"
            log.warning("minicpmo.tone_vocoder", vocoder=TONE, meaning=told)
        if self._parts.talker_is_random:
            log.warning("minicpmo.random_talker", meaning="the talker's weights are noise")

    def _described(self) -> Descriptor:
        rules, places = self._rules, self._sessions.places
        return Descriptor(
            contract=CONTRACT_VERSION,
            name="minicpmo",
            role="model",
            engine=f"minicpmo-{self._chosen.thinker}-{self._vocoder.name}-{uuid.uuid4().hex[:12]}",
            hears="continuously",
            unit_ms=UNIT_MS,
            max_sessions=places,
            reads=False,
            sees=self._parts.eyes is not None,
            keeps_state=True,
            confirms_config=True,
            past_units=past_units(rules.window.most(rules.most), places),
            context_tokens=rules.most,
            response_options=(),
        )

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
        if command.whole:
            told = "this stage hears in units of a second, no whole utterances"
            self._emit(command.fence, command.operation, Failed("not_supported", told), last=True)
            return
        self._under_way[command.fence.session, command.operation] = command.fence
        self._alive()  # whoever dies from here on tells this unit
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


def past_units(context: int, places: int) -> int:
    """How many seconds of each session the next stage is told where this one was lost: all that a context of
    so many positions can hold, so far as one message has room for them, and all sessions have time."""
    in_context = context // layout.UNIT_POSITIONS
    return min(in_context, FRAME_LIMIT * 3 // 4 // UNIT_BYTES, max(TOLD_TOGETHER // places, 1))
