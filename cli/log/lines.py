"""Events and sizes as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored


def as_line(stored: Stored, seconds: float) -> str:
    """`seconds` is how long after the session's first event it happened."""
    from antiphon.replay.lines import facts, type_of

    cause = "" if stored.cause is None else click.style(f" <- {stored.cause}", dim=True)
    kind = click.style(type_of(stored.event), bold=True)
    return f"{stored.seq:>6} {seconds:9.3f}s  {kind} {facts(stored.event)}{cause}"


def is_quiet(stored: Stored) -> bool:
    from antiphon.replay import lines

    return lines.is_quiet(stored)


def size(bytes_: int) -> str:
    """Bytes as people read them."""
    return f"{bytes_ / 1e6:.1f} MB" if bytes_ >= 100_000 else f"{bytes_ / 1e3:.1f} kB"
