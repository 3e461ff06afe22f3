"""Events and sizes as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored

QUIET = ("InputAppended", "VoiceScored", "FramesSent", "AudioSpoken", "VideoFrameFiltered", "ModelWrote")
"""Events of which there are many a second; shown with --all."""


def as_line(stored: Stored, seconds: float) -> str:
    """`seconds` is how long after the session's first event it happened."""
    import msgspec

    from antiphon.replay.lines import type_of

    facts = " ".join(
        f"{key}={_short(value)}"
        for key, value in msgspec.structs.asdict(stored.event).items()
        if value not in (None, (), {}, b"")
    )
    cause = "" if stored.cause is None else click.style(f" <- {stored.cause}", dim=True)
    return f"{stored.seq:>6} {seconds:9.3f}s  {click.style(type_of(stored.event), bold=True)} {facts}{cause}"


def is_quiet(stored: Stored) -> bool:
    from antiphon.replay.lines import type_of

    return type_of(stored.event) in QUIET


def _short(value: Any) -> str:
    import msgspec

    from antiphon.events.ids import Fence

    if isinstance(value, Fence):  # its other members stand elsewhere on the line
        return f"epoch {value.epoch} turn {value.turn}"
    if isinstance(value, msgspec.Struct):
        members = msgspec.structs.asdict(value).items()
        return f"({', '.join(f'{key}={_short(one)}' for key, one in members if one not in (None, (), {}))})"
    if isinstance(value, bytes):
        return value.hex()
    text = str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def size(bytes_: int) -> str:
    """Bytes as people read them."""
    return f"{bytes_ / 1e6:.1f} MB" if bytes_ >= 100_000 else f"{bytes_ / 1e3:.1f} kB"
