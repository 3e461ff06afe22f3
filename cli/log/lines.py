"""Events, sizes and other people's words as a terminal shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.text import Text

    from antiphon.events.envelope import Stored

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves a cursor, begins a command to a terminal, turns the direction of writing, or is no character."""


def printable(text: str) -> str:
    """Words that a caller, a model or a file chose, on one line that says nothing to the terminal itself."""
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def cell(text: str, style: str = "") -> Text:
    """The same in a table of rich, which takes no [brackets] in it for its own."""
    from rich.text import Text

    return Text(printable(text), style)


def as_line(stored: Stored, seconds: float) -> str:
    """`seconds` is how long after the session's first event it happened."""
    from antiphon.replay.lines import facts, type_of

    cause = "" if stored.cause is None else click.style(f" <- {stored.cause}", dim=True)
    kind = click.style(printable(type_of(stored.event)), bold=True)
    return f"{stored.seq:>6} {seconds:9.3f}s  {kind} {printable(facts(stored.event))}{cause}"


def is_quiet(stored: Stored) -> bool:
    from antiphon.replay import lines

    return lines.is_quiet(stored)


def size(bytes_: int) -> str:
    """Bytes as people read them."""
    return f"{bytes_ / 1e6:.1f} MB" if bytes_ >= 100_000 else f"{bytes_ / 1e3:.1f} kB"
