"""Durations and sizes as people write them in settings: `30d`, `12h`, `20GB`, `none`.

A whole number and a unit, nothing else: a bare `30` would be days to one reader and seconds to another.
"""

from __future__ import annotations

import re

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
BYTES = {
    "B": 1,
    **{f"{name}B": 1000**power for power, name in enumerate("kMGT", start=1)},
    **{f"{name}iB": 1024**power for power, name in enumerate("KMGT", start=1)},
}
NONE = "none"

_WRITTEN = re.compile(r"([0-9]{1,15})([A-Za-z]+)", re.ASCII)


class Unreadable(ValueError):
    """The text is no such quantity; the message says what would be."""


def seconds(written: str) -> int | None:
    """Seconds of a duration, at least 1; None for `none`. Raises Unreadable."""
    return _read(written, SECONDS, "a duration: a whole number and s, m, h, d or w, for example 30d, or none")


def bytes_(written: str) -> int | None:
    """Bytes of a size, at least 1; None for `none`. kB is 1,000 bytes, KiB 1,024. Raises Unreadable."""
    wanted = "a size: a whole number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, for example 20GB, or none"
    return _read(written, BYTES, wanted)


def _read(written: str, units: dict[str, int], wanted: str) -> int | None:
    if written == NONE:
        return None
    match = _WRITTEN.fullmatch(written)
    unit = units.get(match[2]) if match else None
    if match is None or unit is None or int(match[1]) == 0:
        raise Unreadable(f"{written!r} is not {wanted}")
    return int(match[1]) * unit
