"""Whose id is whose: what the recorded call named, and what the new one calls the thing in the same place.

Ids follow from the session and the place in its log, so they differ. Things are told by their kind and their
order: the third answer there is the third answer here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import asdict, replace

from antiphon.actors.session import commands as c
from antiphon.events import vocabulary as v
from antiphon.events.vocabulary import Event

Kind = tuple[str, str]

_NAMED: dict[type[Event], Callable[[Any], Iterator[Kind]]] = {
    v.ResponseCreated: lambda event: iter((("response", event.response), ("item", event.item))),
    v.InputCommitted: lambda event: iter((("item", event.item),)),
    v.ItemAdded: lambda event: iter((("item", event.item.id),)),
    v.ToolCalled: lambda event: iter((("item", event.item), ("call", event.call_id))),
}


class Named:
    """The things of one log, in order."""

    def __init__(self) -> None:
        self._of: dict[str, list[str]] = {"response": [], "item": [], "call": []}
        self._place: dict[Kind, int] = {}

    def note(self, event: Event) -> None:
        names = _NAMED.get(type(event))
        for kind, name in names(event) if names else ():
            self._place.setdefault((kind, name), len(self._of[kind]))
            self._of[kind].append(name)

    def place(self, kind: str, name: str) -> int | None:
        return self._place.get((kind, name))

    def at(self, kind: str, place: int) -> str | None:
        there = self._of[kind]
        return there[place] if place < len(there) else None


class NoCounterpart(Exception):
    """What a command names is not there in the new call."""


class Renaming:
    """From a recorded call to a new one."""

    def __init__(self, recorded: Named, new: Named) -> None:
        self._recorded, self._new = recorded, new

    def name(self, kind: str, name: str) -> str:
        """Raises NoCounterpart."""
        place = self._recorded.place(kind, name)
        found = name if place is None else self._new.at(kind, place)
        if found is None:
            raise NoCounterpart(f"{kind} {place}")
        return found

    def recorded(self, kind: str, name: str) -> str | None:
        """What the recorded call called it; None: it had no such thing."""
        place = self._new.place(kind, name)
        return None if place is None else self._recorded.at(kind, place)

    def command(self, command: c.Command) -> c.Command:
        """With the new call's ids. Raises NoCounterpart."""
        if isinstance(command, c.AddItem):
            return self._added(command)
        members = asdict(command)
        named = {
            kind: self.name(kind, members[kind])
            for kind in ("response", "item")
            if isinstance(members.get(kind), str)
        }
        return replace(command, **named) if named else command

    def _added(self, command: c.AddItem) -> c.AddItem:
        """Behind what it stood behind, if that is there, else at the end."""
        item = command.item
        call = item.call_id
        if call is not None and item.kind == "function_call_output":
            call = self.name("call", call)
        previous: Any = command.previous
        if previous is not None:
            try:
                previous = self.name("item", previous)
            except NoCounterpart:
                previous = ""
        return replace(command, item=replace(item, call_id=call), previous=previous)
