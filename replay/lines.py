"""An event as one JSON object: what `antiphon log show --json` prints, and events.jsonl holds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from antiphon.events.envelope import Stored, Unknown
from antiphon.events.vocabulary import Event


def as_json(stored: Stored) -> bytes:
    """One line without its end. An event that this version does not know is shown as it is stored."""
    shown = {
        "seq": stored.seq,
        "at": clock(stored.at.wall_ns),
        "mono_ns": stored.at.mono_ns,
        "type": type_of(stored.event),
        "cause": stored.cause,
        "event": _members(stored.event),
    }
    if stored.blob is not None:
        shown["blob"] = msgspec.structs.asdict(stored.blob)
    return msgspec.json.encode(shown)


def type_of(event: Event) -> str:
    return event.type if isinstance(event, Unknown) else type(event).__name__


def clock(wall_ns: int) -> str:
    """Milliseconds, in UTC."""
    return datetime.fromtimestamp(wall_ns // 1_000_000 / 1_000, UTC).isoformat(timespec="milliseconds")


def _members(event: Event) -> Any:
    return msgspec.msgpack.decode(event.body) if isinstance(event, Unknown) else msgspec.to_builtins(event)
