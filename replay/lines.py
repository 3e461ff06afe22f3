"""Events as lines: as JSON objects, which `antiphon log show --json` prints and events.jsonl holds, and as
facts for people.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from antiphon.events.envelope import Stored, Unknown
from antiphon.events.ids import Fence
from antiphon.events.vocabulary import Event

QUIET = frozenset(
    ("InputAppended", "VoiceScored", "FramesSent", "AudioSpoken", "VideoFrameFiltered", "ModelWrote")
)
"""Types of events of which there are many a second; people are shown them when they ask for all."""
LONGEST_FACT = 120


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


def is_quiet(stored: Stored) -> bool:
    return type_of(stored.event) in QUIET


def facts(event: Event) -> str:
    """What an event says, as `name=value` with spaces between; nothing of what is empty."""
    members = msgspec.structs.asdict(event).items()
    return " ".join(f"{name}={_fact(value)}" for name, value in members if value not in (None, (), {}, b""))


def _fact(value: Any) -> str:
    if isinstance(value, Fence):  # its other members stand elsewhere on the line
        return f"epoch {value.epoch} turn {value.turn}"
    if isinstance(value, msgspec.Struct):
        members = msgspec.structs.asdict(value).items()
        return f"({', '.join(f'{name}={_fact(one)}' for name, one in members if one not in (None, (), {}))})"
    if isinstance(value, bytes):
        return value.hex()
    text = str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_FACT else text[: LONGEST_FACT - 3] + "..."


def clock(wall_ns: int) -> str:
    """Milliseconds, in UTC."""
    return datetime.fromtimestamp(wall_ns // 1_000_000 / 1_000, UTC).isoformat(timespec="milliseconds")


def _members(event: Event) -> Any:
    return msgspec.msgpack.decode(event.body) if isinstance(event, Unknown) else msgspec.to_builtins(event)
