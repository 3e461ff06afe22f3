"""How the launcher knows that a process is alive and not merely there.

The process writes to a pipe from its loop, again and again; a loop that hangs writes nothing. A serving
process inherits its pipe. A stage is forked by thespian, and opens a pipe that has a name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

EVERY_S = 0.5
BEAT, BUSY = b".", b"~"
"""A loop goes round; and one whose process is at something that may keep it from that for long."""


async def beat(fd: int, given_up: Callable[[], object]) -> None:
    """Until cancelled, or until nobody can feel it any more; then `given_up` is called.

    A launcher that does not read is none of our business. One that has closed its end has another process in
    our place: it has never learned that we were forked, because the fork server died just then.
    """
    os.set_blocking(fd, False)
    while True:
        try:
            _write(fd, BEAT)
        except BrokenPipeError:
            given_up()
            return
        await asyncio.sleep(EVERY_S)


class Beating:
    """The end of a process that opens its pipe by name. For a loop that goes round every second or so."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._due, self._busy = 0.0, True

    def beat(self, *, busy: bool) -> None:
        """Once round. Costs a look at the clock unless a beat is due."""
        now = time.monotonic()
        if now >= self._due or busy != self._busy:
            self._due, self._busy = now + EVERY_S, busy
            with contextlib.suppress(BrokenPipeError):
                _write(self._fd, BUSY if busy else BEAT)


def _write(fd: int, what: bytes) -> None:
    with contextlib.suppress(BlockingIOError):
        os.write(fd, what)


class Pulse:
    """The launcher's end of one process's pipe. `fd` is to be read when there is something."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        os.set_blocking(fd, False)
        self.last: float | None = None
        """When it was last felt; None: never."""
        self.busy = True
        """Whether the process said so last, or has said nothing yet."""

    @classmethod
    def inherited(cls) -> tuple[Pulse, int]:
        """And the process's end, to be closed here once it has it."""
        reading, writing = os.pipe()
        return cls(reading), writing

    @classmethod
    def named(cls, path: Path) -> Pulse:
        """A pipe of its own for the next process that opens `path`; a former one's is not that any more.

        Both ends are held here, so that there is never an end to read.
        """
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        return cls(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))

    def feel(self, now: float) -> bool:
        """Read what there is. False: the other end is closed, and there is nothing more to come."""
        with contextlib.suppress(BlockingIOError):
            felt = os.read(self.fd, 4096)
            if not felt:
                return False
            self.last, self.busy = now, felt.endswith(BUSY)
        return True

    def close(self) -> None:
        os.close(self.fd)
