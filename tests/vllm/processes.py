"""vLLM's processes."""

from __future__ import annotations

import psutil


def children(of: psutil.Process) -> list[psutil.Process]:
    """The engine core, and what that has started."""
    everybody = of.children(recursive=True)
    return [child for child in everybody if "resource_tracker" not in " ".join(child.cmdline())]


def has_ended(process: psutil.Process) -> bool:
    """Whether or not somebody has looked at how."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
