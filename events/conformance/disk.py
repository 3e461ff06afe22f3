"""A disk that fails when it is told to: what a store's system calls go through while it is tested."""

from __future__ import annotations

import os
from collections.abc import Callable


class UnluckyDisk:
    """write(2), ftruncate(2) and fdatasync(2) of a real disk, until it is told otherwise."""

    def __init__(self) -> None:
        self.syncs = 0
        """How often anything was synced, or tried to be."""
        self._most = 0
        self._room: int | None = None
        self._code = 0
        self._meanwhile: Callable[[], object] = lambda: None
        self._broken: dict[str, int] = {}

    def fill(self, room: int, code: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Take `room` more bytes, then answer one write with `code`. `meanwhile` is called just before."""
        self._room, self._code, self._meanwhile = room, code, meanwhile

    def dribble(self, most: int) -> None:
        """Take at most so many bytes at a time, as write(2) may."""
        self._most = most

    def break_(self, call: str, code: int) -> None:
        """From now on answer every "write", "truncate" or "sync" with `code`."""
        self._broken[call] = code

    def heal(self) -> None:
        """Be a good disk again."""
        self._most, self._room = 0, None
        self._broken.clear()

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._answer("write")
        most = self._most or len(data)
        if self._room is None:
            return os.write(fd, memoryview(data)[:most])
        if self._room == 0:
            self._room = None
            self._meanwhile()
            raise OSError(self._code, os.strerror(self._code))
        taken = os.write(fd, memoryview(data)[: min(most, self._room)])
        self._room -= taken
        return taken

    def truncate(self, fd: int, size: int) -> None:
        self._answer("truncate")
        os.ftruncate(fd, size)

    def sync(self, fd: int) -> None:
        self.syncs += 1
        self._answer("sync")
        os.fdatasync(fd)

    def _answer(self, call: str) -> None:
        if (code := self._broken.get(call)) is not None:
            raise OSError(code, os.strerror(code))
