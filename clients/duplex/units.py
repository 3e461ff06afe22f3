"""Models that hear in units: they are given whole ones; the rest waits for more, or for a commit."""

from __future__ import annotations

from typing import Any


def chunk_period_ms(session: dict[str, Any]) -> int | None:
    """The length of a model's unit, from a session object; None: it does not hear in units."""
    period = session.get("capabilities", {}).get("chunk_period_ms")
    return period if isinstance(period, int) and period > 0 else None


def has_residual_model_unit(audio_ms: float, period_ms: int) -> bool:
    """Whether so much audio ends within a unit, which a commit would fill up with silence."""
    return audio_ms % period_ms > 0


def duplex_unit_boundary_ms(audio_ms: float, period_ms: int) -> int:
    """Where the unit ends in which so much audio ends."""
    return int(-(-audio_ms // period_ms)) * period_ms
