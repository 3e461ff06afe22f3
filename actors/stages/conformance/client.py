"""A serving process as the suite plays it: a socket, what it was told, and a bound to every wait."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from antiphon.actors.link.codec import FromStage, Hello, LoadFailed, encode, message_decoder
from antiphon.actors.stages.contract import StageCommand

T = TypeVar("T")


class Client:
    """Connected and greeted. Reads only while it waits for something."""

    def __init__(self, path: Path, patience_s: float) -> None:
        self.told: list[FromStage] = []
        self.is_over = False
        """Whether the stage has closed the connection."""
        self._patience_s = patience_s
        self._decoder = message_decoder()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        greeting = self.until(self._greeting, "the stage is ready")
        assert not isinstance(greeting, LoadFailed), f"the stage cannot be served: {greeting.reason}"

    def send(self, *commands: StageCommand) -> None:
        """All in one write. A connection that is over is found to be so by whoever waits for an answer."""
        self._socket.settimeout(self._patience_s)
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(encode(commands))

    def until(self, found: Callable[[], T | None], what: str) -> T:
        """Read until `found` finds something. `what` says what that is, for whoever reads the failure."""
        deadline = time.monotonic() + self._patience_s
        while not (thing := found()):
            left = deadline - time.monotonic()
            assert left > 0, f"not within {self._patience_s} s: {what}"
            assert not self.is_over, f"the stage closed the connection before: {what}"
            self._read(left)
        return thing

    def until_over(self) -> None:
        """Read until the stage closes the connection."""
        deadline = time.monotonic() + self._patience_s
        while not self.is_over:
            left = deadline - time.monotonic()
            assert left > 0, f"not within {self._patience_s} s: the stage closes the connection"
            self._read(left)

    def close(self) -> None:
        self._socket.close()

    def _greeting(self) -> Hello | LoadFailed | None:
        return next((told for told in self.told if isinstance(told, Hello | LoadFailed)), None)

    def _read(self, wait_s: float) -> None:
        self._socket.settimeout(wait_s)
        try:
            chunk = self._socket.recv(256 * 1024)
        except TimeoutError:
            return
        except ConnectionError:
            chunk = b""
        self.is_over = not chunk
        self.told += self._decoder.feed(chunk)
