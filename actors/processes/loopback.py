"""Where our processes listen, as the kernel sees it.

thespian unpickles whatever reaches its sockets, so nothing but this host may reach them. We override where it
binds, which is not a public interface; therefore the result is read back from /proc, not believed.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

_LISTEN = "0A"


class Listener(NamedTuple):
    """A listening TCP socket of one of our processes."""

    pid: int
    address: IPv4Address | IPv6Address
    port: int


def descendants(root: int) -> list[int]:
    """Every living process below `root`, parents first."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found += below
        waiting += below
    return found


def listeners(pids: Iterable[int]) -> list[Listener]:
    """What the processes listen on, over IPv4 and IPv6."""
    sockets = dict(_listening())
    found = []
    for pid in pids:
        for inode in _socket_inodes(pid):
            if inode in sockets:
                address, port = sockets[inode]
                found.append(Listener(pid, address, port))
    return found


def off_loopback(pids: Iterable[int]) -> list[Listener]:
    """The listeners that another host could reach."""
    return [listener for listener in listeners(pids) if not listener.address.is_loopback]


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A TCP port of loopback that within the block only a socket with SO_REUSEADDR can listen on.

    The kernel gives a port that was merely found free to whoever asks next, most often to a connection on
    its way out; one that is bound, though nobody listens on it, it gives to nobody.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def _processes() -> Iterator[tuple[int, int]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                # The name may hold spaces and brackets; what follows its last bracket does not.
                state, parent = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    yield int(entry), int(parent)


def _socket_inodes(pid: int) -> set[str]:
    inodes = set()
    with contextlib.suppress(OSError):
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(descriptor.path)
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    return inodes


def _listening() -> Iterator[tuple[str, tuple[IPv4Address | IPv6Address, int]]]:
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    host, _, port = fields[1].partition(":")
                    yield fields[9], (_address(host), int(port, 16))


def _address(words: str) -> IPv4Address | IPv6Address:
    """The kernel prints an address as 32-bit words in the byte order of the machine."""
    parts = (words[at : at + 8] for at in range(0, len(words), 8))
    return ip_address(b"".join(socket.htonl(int(part, 16)).to_bytes(4, "big") for part in parts))
