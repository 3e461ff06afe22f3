"""The clock: every 80 ms the slots whose frame has come are stepped together.

One thread owns the stepper. A frame waits for the next tick; a slot whose frame is late is not stepped in
this one, and nobody waits for it. Prompts are given between two ticks, as long as there is time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from .stepper import FRAME_MS, Frame, FrameStepper, Spoken

PERIOD_S = FRAME_MS / 1000
SPARE = 1.25
"""A prompt's frame is given before a tick if there is that much more time than the last one took."""
IDLE_S = 0.5


class Heard(Struct):
    """A frame on its way through. `said` is called on the tick's thread; `waited_us` until the step, which
    took `stepped_us`."""

    slot: int
    sound: Frame
    said: Callable[[Spoken, int, int], None]
    came: float


class Ticks:
    """`failed` is called once, on its thread, when the stepper raises: nothing is stepped any more."""

    def __init__(
        self,
        stepper: FrameStepper,
        ready: Callable[[int], None],
        failed: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ready` is told, on its thread, of each slot whose prompt was given."""
        self._stepper, self._ready, self._failed, self._clock = stepper, ready, failed, clock
        self._calls: deque[Callable[[], None]] = deque()
        self._frames: deque[Heard] = deque()
        self._wake = threading.Condition()
        self._stopped = False
        self.due = clock()
        """When the next step is. Steps that came late are made up for: until then none is waited for."""
        self._stepped = self.due
        self._prefill_s = 0.0
        self._thread = threading.Thread(target=self._run, name="moshi-ticks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call(self, call: Callable[[], None]) -> None:
        """On the tick's thread, between two steps, in order."""
        with self._wake:
            self._calls.append(call)
            self._wake.notify()

    def hear(self, frame: Heard) -> None:
        with self._wake:
            if not self._frames and self._clock() - self._stepped > PERIOD_S:
                self.due = max(self.due, self._clock())  # ticks at which nobody came are not made up for
            self._frames.append(frame)
            self._wake.notify()

    def forget(self, slot: int) -> None:
        """What a slot was to hear and has not. On the tick's thread."""
        with self._wake:
            self._frames = deque(frame for frame in self._frames if frame.slot != slot)

    def now(self) -> float:
        return self._clock()

    def stop(self) -> None:
        with self._wake:
            self._stopped = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._wait():
                self.turn()
        except Exception as problem:  # noqa: BLE001  # whatever the model raises, its process must end
            self._failed(problem)

    def _wait(self) -> bool:
        """Until there is something to do. Whether to go on."""
        with self._wake:
            while not self._stopped and not self._calls and not self._stepper.prefilling:
                left = self.due - self._clock() if self._frames else IDLE_S
                if left <= 0:
                    break
                self._wake.wait(left)
            return not self._stopped

    def turn(self) -> None:
        """What others asked, then a step if it is time, or a frame of the prompts if there is time for it."""
        while self._calls:
            self._calls.popleft()()
        now = self._clock()
        if self._frames and now >= self.due:
            self._step(now)
        elif self._stepper.prefilling and self.has_time(now):
            for slot in self._stepper.prefill():
                self._ready(slot)
            self._prefill_s = self._clock() - now
        elif self._stepper.prefilling:
            with self._wake:
                self._wake.wait(max(self.due - now, 0))

    def has_time(self, now: float) -> bool:
        return not self._frames or now + self._prefill_s * SPARE < self.due

    def _step(self, now: float) -> None:
        self.due += PERIOD_S
        frames = self._next()
        spoken = self._stepper.step({frame.slot: frame.sound for frame in frames})
        self._stepped = self._clock()
        stepped_us = round((self._stepped - now) * 1e6)
        for frame in frames:
            frame.said(spoken[frame.slot], round((now - frame.came) * 1e6), stepped_us)

    def _next(self) -> list[Heard]:
        """The first frame of each slot; a second one waits."""
        taken: dict[int, Heard] = {}
        with self._wake:
            came, self._frames = self._frames, deque()
            for frame in came:
                if taken.setdefault(frame.slot, frame) is not frame:
                    self._frames.append(frame)
        return list(taken.values())
