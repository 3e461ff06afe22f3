"""How much of a session the model keeps in its context. All lengths here are positions of that context.

off       everything; a unit that does not fit is refused
basic     from 8000 positions on the oldest units go, until 6000 are left
context   from 8000 positions on the newest 24 units stay, and of those before the last 500 tokens said

What goes is not cut out of the KV, which stands at other positions then: the context is given anew, from what
is retained of each unit. Nothing is ever submitted that could pass the thinker's length:
`context + appended + max_tokens + 1 <= most`. A window that is too small for that drops more than it would.

Source: vllm_omni 0.30, MiniCPM-o 4.5 (off, basic, context). That `context` waits for 8000 positions is ours,
and that a quarter of a window is free behind what goes: giving everything anew with each unit would cost a
prefill every second.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

UNITS_KEPT = 24
EARLIER_KEPT = 500


class Window(Struct, frozen=True, kw_only=True):
    """Units go where the context has `high` positions, until it has `low`."""

    policy: Literal["off", "basic", "context"] = "off"
    high: int = 8000
    low: int = 6000

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError("a window has 0 < low < high")

    @property
    def earlier(self) -> int:
        """Tokens that are kept of what was said in units that went, at most."""
        return min(EARLIER_KEPT, self.high // 4) if self.policy == "context" else 0

    def most(self, length: int) -> int:
        """Positions that the context ever has, at a thinker that holds `length`."""
        return length if self.policy == "off" else min(self.high, length)


def bounded(window: Window, length: int, room: int) -> Window:
    """The window at a thinker that holds `length` positions, where the largest unit needs `room`.

    One that is larger would be full again with the unit behind those that went, and each unit would be a
    prefill of everything.
    """
    if window.policy == "off":
        return window
    high = min(window.high, length - room)
    return replace(window, high=high, low=min(window.low, _three_quarters(high)))


def fits(context: int, appended: int, max_tokens: int, most: int) -> bool:
    """Whether an append keeps within the thinker's length."""
    return context + appended + max_tokens + 1 <= most


def kept(window: Window, own: int, units: tuple[int, ...], room: int, most: int) -> int | None:
    """How many of the newest units stay.

    Args:
        own: Positions of the session's own part, with what it may add for what goes.
        units: Positions of each unit as it stands in the context, oldest first.
        room: Positions that the coming append needs, generated tokens and all.
        most: The thinker's length.
    Returns: None if the append does not fit, whatever goes.
    """
    whole = own + sum(units)
    if whole + room <= most and (window.policy == "off" or whole < window.high):
        return len(units)
    if window.policy == "off" or own + room > most:
        return None
    if window.policy == "context":
        return _newest(units, min(_three_quarters(window.high), most - room) - own, UNITS_KEPT)
    return _newest(units, min(window.low, most - room) - own, len(units))


def _newest(units: tuple[int, ...], room: int, most: int) -> int:
    """So many of the newest as have room together, `most` at most."""
    count = 0
    for positions in reversed(units[len(units) - min(most, len(units)) :]):
        room -= positions
        if room < 0:
            break
        count += 1
    return count


def _three_quarters(positions: int) -> int:
    return positions * 3 // 4
