"""Answers by a script (script.py), on a virtual clock in tests and on the real one as a stage.

It hears utterances, pieces of a stream, or units (units.py), as its script says. As `--stage scripted` its
settings are either `script`, the path of a TOML or JSON script, or the parts of one
fixed answer: `text`, `tone_hz`, `tone_ms`, `delay_ms`, `transcript`. `load_ms` is how long it takes to load.

With `ScriptedEngine(script=…)` nothing happens until a test calls `advance(ms)`; even what is due at once
waits for `advance(0)`, so that a test decides what comes before it.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.link.window import is_output_side
from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Descriptor,
    Emit,
    EndTurn,
    EngineDied,
    EngineRefused,
    Listen,
    Pending,
    Speak,
)
from antiphon.actors.stages.scripted.files import read_script
from antiphon.actors.stages.scripted.script import Asked, Reply, Script, Step, Work, fixed_answer
from antiphon.actors.stages.scripted.timeline import Timeline
from antiphon.events.ids import Fence, SessionId


class ScriptedSettings(Struct, frozen=True, forbid_unknown_fields=True):
    script: str = ""
    text: str = "This is a scripted answer."
    tone_hz: int = 440
    tone_ms: int = 1000
    delay_ms: int = 0
    transcript: str = "scripted transcript"
    load_ms: int = 0

    def load(self) -> Script:
        if self.script:
            return read_script(Path(self.script))
        return fixed_answer(
            self.text,
            tone_hz=self.tone_hz,
            tone_ms=self.tone_ms,
            delay_ms=self.delay_ms,
            transcript=self.transcript,
        )


class ScriptedEngine:
    """Follows `script` if given one (tests: the clock stands still, unless it `runs`), else the settings
    (the clock runs)."""

    def __init__(
        self,
        settings: dict[str, Any] | None = None,
        *,
        progress: object = None,
        script: Script | None = None,
        runs: bool = False,
    ) -> None:
        self._runs = runs or script is None
        if script is None:
            try:
                chosen = msgspec.convert(settings or {}, ScriptedSettings)
                time.sleep(chosen.load_ms / 1000)
                script = chosen.load()
            except (msgspec.DecodeError, OSError) as error:
                raise EngineRefused("bad_settings", f"[stage.scripted] {error}") from error
        self._script = script
        self._timeline = Timeline()
        self._epochs: dict[SessionId, int] = {}
        self._instructions: dict[SessionId, str] = {}
        self._counts: dict[tuple[SessionId, str], int] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._dead = False
        self.calls: list[tuple[str, Fence]] = []
        """What was asked, in order: (method, fence). For tests; kept only while the clock is theirs."""
        self.configs: list[dict[str, Any]] = []
        self.descriptor = _descriptor(script)

    def start(self, emit: Emit) -> None:
        self._emit = emit
        if self._runs:
            threading.Thread(target=self._run, name="scripted-clock", daemon=True).start()

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        self._check(config)
        self._epochs[fence.session] = fence.epoch
        self._instructions[fence.session] = config.get("instructions", "")
        return self._called("open", fence)

    def listen(self, command: Listen) -> None:
        in_units = self._script.unit_ms > 0
        self._asked("recognise" if command.whole else "unit" if in_units else "listen", command)

    def end_turn(self, command: EndTurn) -> None:
        self._asked("end_turn", command)

    def speak(self, command: Speak) -> None:
        self._asked("speak", command)

    def configure(self, fence: Fence, config: dict[str, Any]) -> Pending:
        if not self._runs:
            self.configs.append(config)
        self._check(config)
        pending = self._called("configure", fence)
        self._instructions[fence.session] = config.get("instructions", "")
        return pending

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self._note("cancel", fence)
        self._epochs[fence.session] = next_fence.epoch

    def close(self, fence: Fence) -> Pending:
        pending = self._called("close", fence)
        self._epochs.pop(fence.session, None)
        self._instructions.pop(fence.session, None)
        for counted in [key for key in self._counts if key[0] == fence.session]:
            del self._counts[counted]
        return pending

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def die(self) -> None:
        """Whatever is called next finds the engine dead."""
        self._dead = True

    def advance(self, ms: int) -> None:
        """Move the clock and say what is due by then."""
        until = self._timeline.now_ms + ms
        for action in self._timeline.due(until):
            action()

    def _note(self, method: str, fence: Fence) -> None:
        if not self._runs:
            self.calls.append((method, fence))

    def _check(self, config: dict[str, Any]) -> None:
        voices, voice = self._script.voices, config.get("voice", "")
        if voices and voice and voice not in voices:
            raise EngineRefused("no_voice", f"no voice {voice!r}; there are {', '.join(voices)}")

    def _nth(self, kind: Asked, session: SessionId) -> int:
        nth = self._counts[session, kind] = self._counts.get((session, kind), 0) + 1
        return nth

    def _called(self, kind: Asked, fence: Fence) -> Pending:
        """Open, configure, close: done at once, later, or not at all."""
        self._note(kind, fence)
        reply = self._script.reply(kind, self._nth(kind, fence.session)) or Reply(to=kind, dies=self._dead)
        error = _error(reply)
        if reply.takes_ms == 0:
            if error is not None:
                raise error
            return None
        pending: Future[None] = Future()
        settle = partial(pending.set_result, None) if error is None else partial(pending.set_exception, error)
        self._plan([(reply.takes_ms, settle)])
        return pending

    def _asked(self, kind: Asked, command: Work) -> None:
        self._note(kind, command.fence)
        nth = self._nth(kind, command.fence.session)
        instructions = self._instructions.get(command.fence.session, "")
        reply = self._script.reply(kind, nth, command, instructions)
        if self._dead:
            reply = Reply(to=kind, dies=True)
        if reply is None:
            return
        error = _error(reply)
        if error is not None:
            raise error
        self._plan(
            [
                (step.after_ms if first else 0, partial(self._say, command, step, nth))
                for step in reply.steps
                for first in (True, *[False] * (step.times - 1))
            ]
        )

    def _plan(self, actions: list[tuple[int, Callable[[], None]]]) -> None:
        """Do each so many milliseconds after the one before it."""
        with self._changed:
            at_ms = _clock_ms() if self._runs else self._timeline.now_ms
            for after_ms, action in actions:
                at_ms += after_ms
                self._timeline.plan(at_ms, action)
            self._changed.notify()

    def _say(self, command: Work, step: Step, nth: int) -> None:
        fence = command.fence
        void = self._epochs.get(fence.session, fence.epoch + 1) > fence.epoch
        if step.late or not void or not is_output_side(command, role=self._script.role):
            self._emit(fence, command.operation, step.says.body(command, nth), last=step.last)

    def _run(self) -> None:
        with self._changed:
            while not self._stopped:
                for action in self._timeline.due(_clock_ms()):
                    action()
                following = self._timeline.next_ms()
                self._changed.wait(None if following is None else max(0, following - _clock_ms()) / 1000)


def _clock_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _descriptor(script: Script) -> Descriptor:
    return Descriptor(
        contract=CONTRACT_VERSION,
        name="scripted",
        role=script.role,
        engine=f"scripted-{uuid.uuid4().hex[:12]}",
        hears=script.hears,
        transcribes=script.transcribes,
        speaks=script.speaks,
        max_sessions=script.max_sessions,
        must_not_repeat=script.must_not_repeat,
        unit_ms=script.unit_ms,
        sees=script.sees,
        reads=script.reads,
        calls_tools=script.calls_tools,
        confirms_config=script.confirms_config,
        keeps_state=script.keeps_state,
        response_options=script.response_options,
    )


def _error(reply: Reply) -> Exception | None:
    if reply.dies:
        return EngineDied("the script says so")
    if reply.raises:
        return RuntimeError("the script says that this call fails")
    refuses = reply.refuses
    return refuses and EngineRefused(refuses.code, refuses.message, retryable=refuses.retryable)
