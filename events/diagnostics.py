"""Diagnostics of the stores, through structlog, which is imported when there is something to say.

That import takes longer than a command needs to show a log, and most commands have nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_prepare: list[Callable[[], None]] = []


def before_the_first(prepare: Callable[[], None]) -> None:
    """Have this done before anything is said, instead of what was to be done before."""
    _prepare[:] = [prepare]


def warning(event: str, **facts: Any) -> None:
    import structlog

    while _prepare:
        _prepare.pop()()
    structlog.get_logger().warning(event, **facts)
