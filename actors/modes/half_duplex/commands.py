"""What only the client of a half-duplex call may ask."""

from __future__ import annotations

from typing import Any

from antiphon.actors.session.commands import Configure
from antiphon.actors.session.saying import Command
from antiphon.events.vocabulary import NotApplied


class Prepare(Command, frozen=True, kw_only=True):
    """Begin the call, or begin it anew. Only while the assistant is silent. See CallPrepared."""

    configuration: Configure
    lasts_ms: int
    settings: dict[str, Any]
    not_applied: tuple[NotApplied, ...] = ()
    recorded: bool = True
