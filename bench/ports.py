"""A port for a server that is started, ended and started again."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_WIDTH = 12_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A TCP port that nobody has on loopback, below those that the kernel itself gives away if there is room.

    Of those it may give one to some connection on its way out before the server binds it, or while the
    server is being started again.
    """
    lowest = max(1024, int(_EPHEMERAL.read_text().split()[0]) - _WIDTH)
    while True:
        port = random.randrange(lowest, lowest + _WIDTH)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
