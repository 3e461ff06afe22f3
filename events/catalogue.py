"""The event catalogue, docs/events.md: every event there is, what it means and what it holds.

    python -m antiphon.events.catalogue > docs/events.md

Made of the vocabulary itself, so that neither can say something that the other does not.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from typing import Any, ForwardRef, get_type_hints

import msgspec
from msgspec import Struct

from .vocabulary import EVENT_TYPES
from .vocabulary.base import Event

ROOMS = (
    ("session", "The life of a session"),
    ("attachment", "Connections"),
    ("input", "What comes in"),
    ("stage", "Stages"),
    ("response", "Answers"),
    ("playback", "What was heard"),
    ("history", "The conversation"),
    ("fence", "The fence"),
    ("half_duplex", "Half-duplex calls"),
    ("personaplex", "Calls over the Moshi wire"),
    ("video", "Streaming video"),
    ("joyvl", "Watchers"),
)
_INTRODUCTION = """# Every event there is

Made of the program's own vocabulary by `python -m antiphon.events.catalogue`; a test compares the two.

A log is a list of these. Each has a number (`seq`), a moment on two clocks (monotonic and wall), the event
that caused it, if one did, and maybe a payload: sound or an image in the file beside the log, named by place,
length and checksum. `antiphon log show SESSION` prints them, `--json` with all of their members.

*Critical* events decide what a session is: a program that does not know one will show the log, and not go on
with the session. *Ancillary* ones may be passed over. The *version* of an event rises when its meaning
changes; older ones are read as what they meant. Times named `_ms` are milliseconds, `_sample` and `samples`
count samples at 24 kHz, `_ns` nanoseconds.
"""


def catalogue() -> str:
    """The whole document, Markdown."""
    known = {kind.__name__: kind for kind in EVENT_TYPES}
    parts = [_INTRODUCTION, _contents()]
    for room, title in ROOMS:
        kinds = [kind for kind in known.values() if kind.__module__.rpartition(".")[2] == room]
        parts.append(f"## {title}\n")
        parts.extend(_event(kind) for kind in kinds)
        helpers = _structs_of(kinds)
        if helpers:
            parts.append("### What their members hold\n")
            parts.extend(_struct(kind) for kind in helpers)
    return "\n".join(parts)


def _contents() -> str:
    def names(room: str) -> str:
        kinds = [kind for kind in EVENT_TYPES if kind.__module__.rpartition(".")[2] == room]
        return ", ".join(f"[{kind.__name__}](#{kind.__name__.lower()})" for kind in kinds)

    return "\n".join(f"* **{title}**: {names(room)}" for room, title in ROOMS) + "\n"


def _event(kind: type[Event]) -> str:
    weight = "ancillary" if kind.ancillary else "critical"
    return f"### {kind.__name__}\n\n*{weight}, version {kind.version}*\n\n{_text(kind)}\n\n{_members(kind)}"


def _struct(kind: type[Struct]) -> str:
    return f"#### {kind.__name__}\n\n{_text(kind)}\n\n{_members(kind)}"


def _text(kind: type[Struct]) -> str:
    return inspect.getdoc(kind) or ""


def _members(kind: type[Struct]) -> str:
    fields = msgspec.structs.fields(kind)
    if not fields:
        return ""
    said = _said_of_members(kind)
    rows = ["| member | type | unless given | |", "|---|---|---|---|"]
    types = get_type_hints(kind)
    for field in fields:
        unless = "" if field.required else f"`{_default(field)}`"
        told = _type(types[field.name])
        rows.append(f"| `{field.name}` | {told} | {unless} | {said.get(field.name, '')} |")
    return "\n".join(rows) + "\n"


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is msgspec.NODEFAULT:
        return repr(field.default_factory())
    default = field.default
    return f"{type(default).__name__}()" if isinstance(default, Struct) else repr(default)


def _type(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
    text = re.sub(r"(?:[a-z_]+\.)+([A-Z]\w*)", r"\1", text)
    return f"`{text.replace('|', 'or')}`"


def _said_of_members(kind: type[Struct]) -> dict[str, str]:
    """The docstring under a member, where there is one."""
    found = re.findall(r'^    (\w+): [^\n]*\n    """(.*?)"""', inspect.getsource(kind), re.M | re.S)
    return {name: " ".join(text.split()) for name, text in found}


def _structs_of(kinds: list[type[Event]]) -> list[type[Struct]]:
    """What is defined beside these events and held by them, directly or not."""
    if not kinds:
        return []
    module = import_module(kinds[0].__module__)
    held = {name for kind in kinds for name in _names_in(kind)}
    there = [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, Struct)]
    mine = [one for one in there if one.__module__ == module.__name__ and not issubclass(one, Event)]
    for one in mine:
        held |= _names_in(one) if one.__name__ in held else set()
    return [one for one in mine if one.__name__ in held]


def _names_in(kind: type[Struct]) -> set[str]:
    hints = get_type_hints(kind).values()
    return {name for hint in hints for name in re.findall(r"[A-Z]\w+", _plain(hint))}


def _plain(hint: Any) -> str:
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else f"{hint} {getattr(hint, '__name__', '')}"


def main() -> None:
    sys.stdout.write(catalogue())


if __name__ == "__main__":
    main()
