"""Where two logs say different things.

Compared is what events mean: their kind and what they say, without moments, without what only this run was
called. Ids and operations are numbered as they first appear, so that the same conversation held twice has
the same names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import msgspec
from msgspec import Struct

from antiphon.events.envelope import Stored

from .lines import type_of

_ID = re.compile(r"\b([a-z]+)_[0-9a-f]{16,}\b")
_OF_THIS_RUN = frozenset(
    {"boot", "code", "writer_epoch", "engine", "token", "resume_token", "incarnation", "client"}
)


class Line(Struct, frozen=True):
    """One event of a comparison: in the first log only, in the second only, or in both."""

    where: Literal["first", "second", "both"]
    first: Stored | None
    second: Stored | None


class Names:
    """Of one log: what its ids are called in a comparison."""

    def __init__(self) -> None:
        self._called: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def name(self, kind: str, given: str) -> str:
        if given not in self._called:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._called[given] = f"{kind}#{self._counts[kind]}"
        return self._called[given]

    def in_text(self, text: str) -> str:
        if text in self._called:
            return self._called[text]
        return _ID.sub(lambda found: self.name(found[1], found[0]), text)


def meaning(stored: Stored, names: Names) -> str:
    """What an event says, as a line that can be compared."""
    said = msgspec.to_builtins(stored.event, builtin_types=(bytes,))
    return f"{type_of(stored.event)} {_said(said, names)}"


def _said(value: Any, names: Names, key: str = "") -> Any:
    if isinstance(value, dict):
        kept = [name for name in value if name not in _OF_THIS_RUN and not name.endswith("_ns")]
        return {name: _said(value[name], names, name) for name in kept}
    if isinstance(value, list | tuple):
        return [_said(one, names, key) for one in value]
    if key == "operation" and isinstance(value, int):
        return names.name("operation", f"operation {value}")
    if key == "session" and isinstance(value, str):
        return names.name("session", value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return names.in_text(value) if isinstance(value, str) else value


def compared(first: Sequence[Stored], second: Sequence[Stored]) -> Iterator[Line]:
    """Both logs, event by event, in the order of a conversation that has what either has."""
    ours, theirs = Names(), Names()
    one = [meaning(stored, ours) for stored in first]
    other = [meaning(stored, theirs) for stored in second]
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Line("both", x, y) for x, y in zip(first[a:b], second[c:d], strict=True))
            continue
        yield from (Line("first", stored, None) for stored in first[a:b])
        yield from (Line("second", None, stored) for stored in second[c:d])
