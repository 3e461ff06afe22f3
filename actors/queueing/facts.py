"""What happens to the line: callers come and go, sessions begin and end. Each names a session.

A session's `Began` is its SessionOpened, or that it is gone on with here; its `Ended` is its SessionClosed,
SessionExpired or SessionFailed (or its move to another process), once its place is free.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from antiphon.events.ids import SessionId


class Fact(Struct, frozen=True):
    session: SessionId


class Queued(Fact, frozen=True):
    """A caller stands at the end of the line. `owner`: the principal; None where there are no keys."""

    ticket: str
    mode: str
    owner: str | None = None


class Withdrawn(Fact, frozen=True):
    """A caller does not wait any more: gone, or sent away."""


class Began(Fact, frozen=True):
    """A session has a place. Of a caller that waited: it does so no more."""

    mode: str


class Ended(Fact, frozen=True):
    """Its place is free."""


QueueFact: TypeAlias = Queued | Withdrawn | Began | Ended
