"""The clock: slots whose frame has come are stepped together, at ticks that divide a frame's 80 ms evenly.

There are as many ticks in 80 ms as steps fit, and a client that sends in real time always meets the same one:
it waits no longer than needed for the others, and its answers come evenly. A slot whose frame is late is not
stepped, and nobody waits for it. Prompts go along with every step, and are given by themselves where there is
time before the next tick. One thread owns the stepper.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from .stepper import FRAME_MS, Frame, FrameStepper, Spoken

FRAME_S = FRAME_MS / 1000
BUSY = 0.85
"""The share of the time that steps may take, for as many ticks as that allows."""
FEWEST_TICKS, MOST_TICKS = 4, 16
"""A frame that comes just at a tick is answered now with this one, now with the next: with two or three in a
frame clients would hear that. Rather one, which few clients meet."""
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
        self.period_s = FRAME_S / ticks_in_a_frame(stepper.step_s)
        self.due = clock()
        """When the next step is. Ticks at which there was no time are made up for: until then none is waited
        for."""
        self._stepped = self.due
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
            now = self._clock()
            if not self._frames and now - self._stepped > self.period_s:
                self._pass_over(now)
            self._frames.append(frame)
            self._wake.notify()

    def _pass_over(self, now: float) -> None:
        """Ticks at which nobody came are not made up for; the next is where it would have been."""
        if now > self.due:
            self.due += -(-(now - self.due) // self.period_s) * self.period_s

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
            while not self._stopped and not self._calls:
                left = self.due - self._clock() if self._frames else IDLE_S
                if left <= 0 or (self._stepper.prefilling and self._has_time()):
                    break
                self._wake.wait(left)
            return not self._stopped

    def turn(self) -> None:
        """What others asked, then a step if it is time, or one of the prompts if there is time for it."""
        while self._calls:
            self._calls.popleft()()
        if self._frames and self._clock() >= self.due:
            self._step()
        elif self._stepper.prefilling and self._has_time():
            _, ready = self._stepper.step({})
            self._tell(ready)

    def _has_time(self) -> bool:
        return not self._frames or self._clock() + self._stepper.step_s / BUSY < self.due

    def _step(self) -> None:
        began = self._clock()
        self.due += self.period_s
        frames = self._next()
        spoken, ready = self._stepper.step({frame.slot: frame.sound for frame in frames})
        self._stepped = self._clock()
        stepped_us = round((self._stepped - began) * 1e6)
        for frame in frames:
            frame.said(spoken[frame.slot], round((began - frame.came) * 1e6), stepped_us)
        self._tell(ready)

    def _tell(self, ready: tuple[int, ...]) -> None:
        for slot in ready:
            self._ready(slot)

    def _next(self) -> list[Heard]:
        """The first frame of each slot; a second one waits."""
        taken: dict[int, Heard] = {}
        with self._wake:
            came, self._frames = self._frames, deque()
            for frame in came:
                if taken.setdefault(frame.slot, frame) is not frame:
                    self._frames.append(frame)
        return list(taken.values())


def ticks_in_a_frame(step_s: float) -> int:
    fit = MOST_TICKS if step_s <= 0 else int(FRAME_S * BUSY / step_s)
    return min(fit, MOST_TICKS) if fit >= FEWEST_TICKS else 1
