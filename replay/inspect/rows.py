"""Events as the rows of a table."""

from __future__ import annotations

from msgspec import Struct

from antiphon.events.envelope import Stored
from antiphon.replay.lines import facts, type_of

LONGEST_FACTS = 300


class Row(Struct, frozen=True, gc=False):
    """`at_ms` is since the beginning of the session."""

    seq: int
    at_ms: float
    type: str
    cause: int | None
    facts: str


def row(stored: Stored, at_ms: float) -> Row:
    said = facts(stored.event)
    shown = said if len(said) <= LONGEST_FACTS else said[: LONGEST_FACTS - 1] + "…"
    return Row(stored.seq, at_ms, type_of(stored.event), stored.cause, shown)
