"""How every process of a server ends with its launcher, however that ends.

The launcher holds the only write end of a pipe. Nothing is ever written; when the launcher is gone, killed or
not, the kernel closes the pipe and each reader sees the end of it. Readers are

* every process forked below the launcher: thespian's Admin and logger, which run none of our code, and the
  stages. A hook that runs in the forked child starts a thread that waits on the pipe;
* the serving processes, which are forked elsewhere: they get the pipe with their plan, and half a second to
  say goodbye.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import stat
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

GOODBYE_S = 0.5


class ServingPlan(Struct, frozen=True, kw_only=True):
    """What a serving process needs to know, and the descriptors it gets."""

    listen_fd: int
    lifeline_fd: int
    pulse_fd: int
    """To beat on (pulse.py)."""
    places_fd: int
    """The page of all sessions (places.py)."""
    directory: str
    """Where the control sockets of the serving processes are."""
    worker: int
    """Its number, from 0 on. One that takes another's place has the same."""
    workers: int
    """How many there are."""
    again: bool
    """Whether it takes another's place."""
    stages: dict[str, str]
    """Name of a stage -> path of its socket."""
    settings: dict[str, Any]

    @property
    def descriptors(self) -> tuple[int, int, int, int]:
        return self.listen_fd, self.lifeline_fd, self.pulse_fd, self.places_fd

    def with_descriptors(self, descriptors: Iterable[int]) -> ServingPlan:
        """The same where they have other numbers."""
        listen, lifeline, pulse, places = descriptors
        return replace(self, listen_fd=listen, lifeline_fd=lifeline, pulse_fd=pulse, places_fd=places)


class Lifeline:
    """The launcher's end. There is one per process; forked children watch it by themselves."""

    def __init__(self) -> None:
        self.read_fd, self._write_fd = os.pipe()
        self._inherited: dict[int, tuple[int, int]] = {}
        os.register_at_fork(after_in_child=self._watch_in_child)

    def release(self) -> None:
        """Let go: every process that watches ends now."""
        if self._write_fd >= 0:
            os.close(self._write_fd)
            self._write_fd = -1

    def _watch_in_child(self) -> None:
        self.release()
        global _inherited
        _inherited = _open_files()
        # A forked child of this multi-threaded process is safe: the other thread only waits in read(2).
        warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*multi-threaded.*fork")
        # Signals stay with the main thread: thespian counts on them to interrupt its select(2).
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        _thread.start_new_thread(_exit_at_end_of, (self.read_fd,))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_inherited: dict[int, tuple[int, int]] = {}
"""Sockets and files this process was forked with: descriptor -> (device, inode)."""


def close_inherited() -> None:
    """Close the sockets and files that came from the parent and are still the same.

    thespian gives a forked actor everything its parents had open; it uses none of it.
    """
    for descriptor, identity in _inherited.items():
        with contextlib.suppress(OSError):
            found = os.fstat(descriptor)
            if (found.st_dev, found.st_ino) == identity:
                os.close(descriptor)
    _inherited.clear()


def end_with_launcher(lifeline_fd: int, goodbye: Callable[[], None]) -> None:
    """When the launcher is gone, call `goodbye` (from a thread), and exit GOODBYE_S later at the latest."""

    def watch() -> None:
        _wait_for_end_of(lifeline_fd)
        goodbye()
        time.sleep(GOODBYE_S)
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def _exit_at_end_of(descriptor: int) -> None:
    _wait_for_end_of(descriptor)
    os._exit(1)


def _wait_for_end_of(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass


def _open_files() -> dict[int, tuple[int, int]]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            if descriptor > 2 and (stat.S_ISSOCK(status.st_mode) or stat.S_ISREG(status.st_mode)):
                found[descriptor] = (status.st_dev, status.st_ino)
    return found
