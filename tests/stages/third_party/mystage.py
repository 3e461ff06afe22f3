"""Engines as somebody else might write them: one that is right, and some that are each wrong in one way."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import Any, ClassVar

from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    ENGINE_DEAD,
    Body,
    Consumed,
    Descriptor,
    Emit,
    EndTurn,
    EngineRefused,
    Failed,
    Finished,
    Heard,
    Listen,
    Measured,
    Said,
    Speak,
)
from antiphon.events.ids import Fence, SessionId


class MyEngine:
    """Counts the bytes it hears and says how many there were. One thread does all the work."""

    what: ClassVar[dict[str, Any]] = {"transcribes": True, "confirms_config": True}
    question = "Have you heard me?"
    most = 4

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        self.heard: dict[SessionId, int] = {}
        self.epochs: dict[SessionId, int] = {}
        self.tasks: queue.Queue[Any] = queue.Queue()
        self.dead = False
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="mine",
            role="model",
            engine=f"mine-{id(self)}",
            max_sessions=self.most,
            **self.what,
        )

    def start(self, emit: Emit) -> None:
        self.emit = emit
        threading.Thread(target=self.work, daemon=True).start()

    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        self.check(config)
        self.heard[fence.session], self.epochs[fence.session] = 0, fence.epoch
        return None

    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        self.check(config)
        return None

    def listen(self, command: Listen) -> None:
        self.tasks.put(lambda: self.hear(command))

    def speak(self, command: Speak) -> None:
        self.tasks.put(lambda: self.answer(command))

    def end_turn(self, command: EndTurn) -> None:
        self.tasks.put(lambda: self.say(command, Finished(), last=True))

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        if next_fence.session in self.epochs:
            self.epochs[next_fence.session] = next_fence.epoch

    def close(self, fence: Fence) -> Future[None] | None:
        self.heard.pop(fence.session, None)
        self.epochs.pop(fence.session, None)
        return None

    def stop(self) -> None:
        self.tasks.put(None)

    def die(self) -> None:
        self.dead = True

    def work(self) -> None:
        while task := self.tasks.get():
            task()

    def check(self, config: dict[str, Any]) -> None:
        if config.get("voice") == "nobody's":
            raise EngineRefused("no_voice", "there is no such voice")

    def hear(self, command: Listen) -> None:
        session = command.fence.session
        if session in self.heard:
            self.heard[session] += len(command.pcm)
            self.ends_hearing(command, self.heard[session])

    def ends_hearing(self, command: Listen, heard: int) -> None:
        self.say(command, Heard(f"{heard} bytes"), last=True)

    def answer(self, command: Speak) -> None:
        self.say(command, Said("I have heard you, ", b"\1\0" * 240))
        self.say(command, Measured("first_token_ms", 3))
        self.say(command, Said("all of it."))
        self.say(command, Finished(), last=True)

    def say(self, command: Any, body: Body, *, last: bool = False) -> None:
        fence = command.fence
        if self.dead:
            body, last = Failed(ENGINE_DEAD, "the device is gone"), True
        void = not isinstance(command, Listen) and fence.epoch < self.epochs.get(fence.session, fence.epoch)
        if not void:
            self.emit(fence, command.operation, body, last=last)


class MyUnits(MyEngine):
    """Hears in units, listens to one and speaks over the next."""

    what: ClassVar[dict[str, Any]] = {"hears": "continuously", "unit_ms": 40, "confirms_config": True}

    def ends_hearing(self, command: Listen, heard: int) -> None:
        n = heard // len(command.pcm)
        quiet = command.whole or command.force_listen or n % 2
        self.say(command, Consumed() if quiet else Said(f"{heard}"), last=True)


# --- each wrong in one way ----------------------------------------------------------------------------------


class SaysTheLastWordTwice(MyEngine):
    def ends_hearing(self, command: Listen, heard: int) -> None:
        super().ends_hearing(command, heard)
        super().ends_hearing(command, heard)


class GoesOnAfterTheEnd(MyEngine):
    def answer(self, command: Speak) -> None:
        super().answer(command)
        self.say(command, Measured("first_audio_ms", 9))


class ForgetsTheLastWord(MyEngine):
    def answer(self, command: Speak) -> None:
        self.say(command, Said("I have heard you."))


class EndsWithAMeasurement(MyEngine):
    def answer(self, command: Speak) -> None:
        self.say(command, Said("I have heard you."))
        self.say(command, Measured("first_token_ms", 3), last=True)


class SaysHalfASample(MyEngine):
    def answer(self, command: Speak) -> None:
        self.say(command, Said("I have heard you.", b"\1\0\1"))
        self.say(command, Finished(), last=True)


class SpeaksForWhoeverAskedLast(MyEngine):
    last: Any = None

    def listen(self, command: Listen) -> None:
        self.last = command
        super().listen(command)

    def answer(self, command: Speak) -> None:
        self.emit((self.last or command).fence, command.operation, Said("To whom?"))
        self.say(command, Finished(), last=True)


class BlocksTheStage(MyEngine):
    def listen(self, command: Listen) -> None:
        time.sleep(0.3)
        super().listen(command)


class SaysNothingToWhatItIsNotFor(MyUnits):
    question = ""

    def answer(self, command: Speak) -> None:
        pass


class StaysSilentOnceCancelled(MyEngine):
    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self.epochs[next_fence.session] = 1_000


class CancelsOnce(MyEngine):
    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        if self.epochs[next_fence.session] == next_fence.epoch:
            raise RuntimeError("that is over already")
        super().cancel(fence, next_fence)


class CancelsWhatTheUserSaid(MyEngine):
    """It is still busy with what was said before when the cancel comes."""

    cancelled = threading.Event()

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self.tasks.queue.clear()
        self.cancelled.set()
        super().cancel(fence, next_fence)

    def listen(self, command: Listen) -> None:
        self.cancelled.clear()
        self.tasks.put(lambda: self.cancelled.wait(2.0) and None)
        super().listen(command)


class KeepsSessionsThatLeft(MyEngine):
    def close(self, fence: Fence) -> Future[None] | None:
        self.epochs.pop(fence.session, None)
        return None


class CountsPlacesWrongly(MyEngine):
    taken = 0

    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        self.taken += 1
        if self.taken > self.most:
            raise EngineRefused("resource_exhausted", "no memory", retryable=True)
        return super().open(fence, config)


class ClosesOnce(MyEngine):
    def close(self, fence: Fence) -> Future[None] | None:
        del self.heard[fence.session], self.epochs[fence.session]
        return None


class NeverLetsGo(MyEngine):
    """It is still busy with what was said before when the session leaves."""

    left = threading.Event()

    def close(self, fence: Fence) -> Future[None] | None:
        busy = not self.tasks.empty()
        super().close(fence)
        self.left.set()
        return Future() if busy else None

    def listen(self, command: Listen) -> None:
        self.left.clear()
        self.tasks.put(lambda: self.left.wait(10.0))
        super().listen(command)


class HoldsWhatItRefused(MyEngine):
    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        self.heard[fence.session] = 0
        return super().open(fence, config)


class RemembersTheFormerLife(MyEngine):
    former: ClassVar[dict[SessionId, int]] = {}

    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        super().open(fence, config)
        self.heard[fence.session] = self.former.get(fence.session, 0)
        return None

    def close(self, fence: Fence) -> Future[None] | None:
        self.former[fence.session] = self.heard.get(fence.session, 0)
        return super().close(fence)


class HearsItsNeighbours(MyEngine):
    def hear(self, command: Listen) -> None:
        for session in self.heard:
            self.heard[session] += len(command.pcm)
        self.ends_hearing(command, self.heard.get(command.fence.session, 0))


class ForgetsASessionOverARefusal(MyEngine):
    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        try:
            return super().configure(fence, config)
        except EngineRefused:
            self.heard.pop(fence.session)
            raise


class RefusesAllConfigurations(MyEngine):
    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None] | None:
        raise EngineRefused("busy", "ask me later", retryable=True)


class SpeaksWhereItMustListen(MyUnits):
    def ends_hearing(self, command: Listen, heard: int) -> None:
        self.say(command, Said(f"{heard}"), last=True)


class WaitsForAVoidUnit(MyUnits):
    """Begins the next unit when it has acknowledged the former one to itself, which a cancel prevents. It is
    still busy with the former one when the cancel comes."""

    under_way: Any = None
    cancelled = threading.Event()

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        super().cancel(fence, next_fence)
        self.cancelled.set()

    def listen(self, command: Listen) -> None:
        if self.under_way is None:
            self.under_way = command
            self.cancelled.clear()
            super().listen(command)

    def ends_hearing(self, command: Listen, heard: int) -> None:
        self.cancelled.wait(10.0)
        if command.fence.epoch == self.epochs.get(command.fence.session):
            self.under_way = None
        super().ends_hearing(command, heard)


class DiesQuietly(MyEngine):
    def say(self, command: Any, body: Body, *, last: bool = False) -> None:
        if not self.dead:
            super().say(command, body, last=last)


class ClaimsWhatCannotBe(MyEngine):
    what: ClassVar[dict[str, Any]] = {"unit_ms": 40, "confirms_config": True}
