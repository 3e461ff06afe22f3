"""How the launcher knows that a serving process is alive and not merely there.

The process writes to a pipe from its event loop, again and again; a loop that hangs writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

EVERY_S = 0.5


async def beat(fd: int) -> None:
    """Until cancelled. A launcher that does not read is none of our business."""
    os.set_blocking(fd, False)
    while True:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(fd, b".")
        await asyncio.sleep(EVERY_S)


class Pulse:
    """The launcher's end of one process's pipe. `fd` is to be read when there is something."""

    def __init__(self) -> None:
        self.fd, self.beating_fd = os.pipe()
        os.set_blocking(self.fd, False)
        self.last: float | None = None
        """When it was last felt; None: never."""

    def handed_over(self) -> None:
        """The process has its end: it alone."""
        os.close(self.beating_fd)

    def feel(self, now: float) -> bool:
        """Read what there is. False: the other end is closed, and there is nothing more to come."""
        with contextlib.suppress(BlockingIOError):
            if not os.read(self.fd, 4096):
                return False
            self.last = now
        return True

    def close(self) -> None:
        os.close(self.fd)
