"""What only the client of a call over the Moshi wire may ask."""

from __future__ import annotations

from antiphon.actors.session.saying import Command


class ReportUndecodable(Command, frozen=True, kw_only=True):
    """A piece of the client's compressed stream could not be decoded. See InputUndecodable."""

    size: int
    message: str


class Finish(Command, frozen=True, kw_only=True):
    """End once everything that was sent is answered. Repeating is harmless. See InputFinished."""
