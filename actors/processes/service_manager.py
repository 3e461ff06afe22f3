"""systemd, where it wants to be told how the server is (sd_notify(3), Type=notify and WatchdogSec=).

Everything ends with the launcher, and nobody of the server watches the launcher itself. A service manager
can: one that is told nothing for WatchdogSec= ends the server and starts it again.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import MutableMapping

VARIABLE = "NOTIFY_SOCKET"
READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"


class ServiceManager:
    """Taken from the environment, and out of it: no other process of the server has anything to tell."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        path = environment.pop(VARIABLE, "")
        self._address = "\0" + path[1:] if path.startswith("@") else path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if path else None
        if self._socket is not None:
            self._socket.setblocking(False)
            os.register_at_fork(after_in_child=self._socket.close)

    def tell(self, state: str) -> None:
        """READY, ALIVE or STOPPING. That nobody listens is none of our business."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(state.encode(), self._address)
