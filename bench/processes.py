"""What processes cost, read from /proc: a process with everything that descends from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from antiphon.actors.processes.fork_server import SERVING_PROCESS

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """The process and all its descendants that live now."""
    parents = dict(_parents())
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found


def serving_process(launcher: int) -> int:
    """The process that answers HTTP; the others below the launcher are stages and what runs them."""
    return serving_processes(launcher)[0]


def serving_processes(launcher: int) -> list[int]:
    """The same, of a server that has several."""
    return [pid for pid in tree(launcher) if name(pid) == SERVING_PROCESS]


def name(pid: int) -> str:
    """What the process is called where processes are listed; empty if there is none."""
    return _read(pid, "comm").decode().rstrip("\n")


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process, in nanoseconds: finer than the ticks in /proc/PID/stat."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            total += int(_read(pid, f"task/{thread}/schedstat").split()[0] or 0)
    except (OSError, IndexError):
        return total  # it ended while we looked
    return total


def resident_bytes(pid: int) -> int:
    """Memory of the process that is in RAM, shared pages included."""
    return int(_read(pid, "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def busy_ns() -> int:
    """CPU time that anything at all has used on this machine, guest and stolen time included."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first.split()[1:9])
    return (user + nice + system + irq + softirq + steal) * _TICK_NS


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            stat = _read(int(name), "stat")
            if stat:
                yield int(name), int(stat.rpartition(b")")[2].split()[1])


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""
