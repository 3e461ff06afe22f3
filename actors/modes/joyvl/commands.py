"""What only the client of a watcher may ask."""

from __future__ import annotations

from antiphon.actors.session.commands import Image
from antiphon.actors.session.saying import Command


class Tick(Command, frozen=True, kw_only=True):
    """Frames of consecutive seconds, and what the user wants to know (None: nothing is said of that)."""

    frames: tuple[Image, ...]
    query: str | None = None


class SetPersona(Command, frozen=True, kw_only=True):
    """One of PERSONAS."""

    persona: str
