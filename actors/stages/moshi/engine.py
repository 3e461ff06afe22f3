"""The stage: sessions in slots, units of 80 ms, an answer to each.

A session hears and speaks at once, so there is no barge-in: a cancel lets the frame under way end, and its
output is void by its fence. A slot is free again when the stepper has let go of it.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import msgspec
import numpy as np

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
from antiphon.events.ids import Fence, Operation, SessionId

from . import settings as chosen
from .stepper import FRAME_MS, Frame, FrameStepper, Prompt, Sampling, Spoken
from .ticks import Heard, Ticks

MEASURED_EVERY = 125
"""Frames: how long they waited and were stepped is said once for ten seconds of them."""
_FULL_SCALE = 32768.0


class _Held:
    """A session in its slot."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.opened: Future[None] = Future()
        self.waited_us: list[int] = []
        self.stepped_us: list[int] = []


class MoshiEngine:
    """Implements Engine."""

    def __init__(
        self,
        settings: dict[str, Any],
        *,
        progress: Callable[[str], None],
        stepper: FrameStepper | None = None,
    ) -> None:
        """`stepper`: another than the settings'."""
        asked = chosen.read(settings)
        self._stepper = stepper or chosen.stepper(asked, progress)
        self._free = set(range(self._stepper.slots))
        self._held: dict[SessionId, _Held] = {}
        self._under_way: dict[tuple[SessionId, Operation], Fence] = {}
        self._ticks = Ticks(self._stepper, self._ready, self._died)
        self._dead = ""
        """Why nothing is stepped any more."""
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="moshi",
            role="model",
            engine=f"moshi-{asked.size}-{uuid.uuid4().hex[:12]}",
            hears="continuously",
            max_sessions=self._stepper.slots,
            unit_ms=FRAME_MS,
            reads=False,
            keeps_state=True,
            response_options=(),
        )

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._ticks.start()

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        prompt = Prompt(voice=str(config.get("voice") or ""), persona=str(config.get("instructions") or ""))
        sampling = _sampling(config.get("sampling") or {})
        if self._dead:
            raise EngineDied(self._dead)
        if not self._free:
            raise EngineRefused("resource_exhausted", "all slots are taken", retryable=True)
        held = self._held[fence.session] = _Held(self._free.pop())
        self._ticks.call(partial(self._take_in, fence.session, held, prompt, sampling))
        return held.opened

    def _take_in(self, session: SessionId, held: _Held, prompt: Prompt, sampling: Sampling) -> None:
        try:
            self._stepper.open(held.slot, prompt, sampling)
        except EngineRefused as refusal:
            if self._held.get(session) is held:  # else it is being closed, which frees the slot
                del self._held[session]
                self._free.add(held.slot)
            held.opened.set_exception(refusal)

    def _ready(self, slot: int) -> None:
        for held in tuple(self._held.values()):
            if held.slot == slot and not held.opened.done():
                held.opened.set_result(None)

    def listen(self, command: Listen) -> None:
        if self._dead:
            raise EngineDied(self._dead)
        if command.whole:
            told = "this stage hears in units of 80 ms, no whole utterances"
            self._emit(command.fence, command.operation, Failed("not_supported", told), last=True)
            return
        held = self._held[command.fence.session]
        self._under_way[command.fence.session, command.operation] = command.fence
        said = partial(self._said, held, command)
        self._ticks.hear(Heard(held.slot, _heard(command.pcm), said, self._ticks.now()))

    def _said(self, held: _Held, heard: Listen, spoken: Spoken, waited_us: int, stepped_us: int) -> None:
        fence, operation = heard.fence, heard.operation
        self._under_way.pop((fence.session, operation), None)
        held.waited_us.append(waited_us)
        held.stepped_us.append(stepped_us)
        if len(held.waited_us) == MEASURED_EVERY:
            self._measured(held, fence, operation)
        if spoken.sound is None or heard.force_listen:  # then what it says goes unheard
            reason = "model_listen" if heard.force_listen else "buffering"
            self._emit(fence, operation, Consumed(reason), last=True)
        else:
            self._emit(fence, operation, Said(text=spoken.text, pcm=_pcm(spoken.sound)), last=True)

    def _measured(self, held: _Held, fence: Fence, operation: Operation) -> None:
        for name, each_us in (("tick_wait_ms", held.waited_us), ("step_ms", held.stepped_us)):
            self._emit(fence, operation, Measured(name, sum(each_us) // 1000, tuple(each_us)))
            each_us.clear()

    def end_turn(self, command: EndTurn) -> None:
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        told = "a model that hears and speaks at once reads no text"
        self._emit(command.fence, command.operation, Failed("text_only_turn_unsupported", told), last=True)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        """The frame under way ends by itself."""

    def close(self, fence: Fence) -> Pending:
        held = self._held.pop(fence.session, None)
        for key in tuple(self._under_way):  # the tick's thread takes from it, too
            if key[0] == fence.session:
                self._under_way.pop(key, None)
        if held is None:
            return None
        closed: Future[None] = Future()
        self._ticks.call(partial(self._let_go, held, closed))
        return closed

    def _let_go(self, held: _Held, closed: Future[None]) -> None:
        self._ticks.forget(held.slot)
        self._stepper.close(held.slot)
        self._free.add(held.slot)
        if not held.opened.done():
            held.opened.set_exception(EngineRefused("closed", "it was closed before it was ready"))
        closed.set_result(None)

    def stop(self) -> None:
        self._ticks.stop()

    def _died(self, problem: Exception) -> None:
        told = self._dead = f"{type(problem).__name__}: {problem}"
        for held in tuple(self._held.values()):
            if not held.opened.done():
                held.opened.set_exception(EngineDied(told))
        for (_, operation), fence in tuple(self._under_way.items()):
            self._emit(fence, operation, Failed(ENGINE_DEAD, told), last=True)


def _sampling(asked: dict[str, Any]) -> Sampling:
    """Raises EngineRefused."""
    try:
        given = msgspec.convert(asked, Sampling)
    except msgspec.ValidationError as error:
        raise EngineRefused("invalid_session_config", f"sampling: {error}") from error
    return given if given.seed is not None else msgspec.structs.replace(given, seed=secrets.randbits(63))


def _heard(pcm: bytes) -> Frame:
    return np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(_FULL_SCALE)


def _pcm(sound: Frame) -> bytes:
    """A model may say what is louder than full scale, and what is no number."""
    whole = np.rint(sound * np.float32(_FULL_SCALE))
    whole[np.isnan(whole)] = 0.0
    return whole.clip(-_FULL_SCALE, _FULL_SCALE - 1).astype("<i2").tobytes()
