"""The formats that a client names: read, checked, and in one shape from here on."""

from __future__ import annotations

from typing import Any

from antiphon.projections.duplex.formats import (
    ENCODINGS,
    HIGHEST_INPUT_RATE,
    HIGHEST_OUTPUT_RATE,
    INPUT,
    LOWEST_RATE,
    OUTPUT,
    Format,
    usual,
)
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f

Named = str | f.Format | None


def rate(value: Any, where: str, client_event: str | None, highest: int = HIGHEST_INPUT_RATE) -> int | None:
    """Samples per second; None where none was given (which 0 means, too). Raises Undecodable."""
    if value is None or (value == 0 and not isinstance(value, bool)):
        return None
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    if not whole or not LOWEST_RATE <= value <= highest:
        message = f"a sample rate is a whole number from {LOWEST_RATE} to {highest}"
        raise Undecodable("invalid_value", message, where, client_event)
    return int(value)


def encoding(named: Named, known: frozenset[str], where: str, client_event: str | None) -> str | None:
    """What the name means. Raises Undecodable."""
    if named is None:
        return None
    name = named if isinstance(named, str) else named.type
    meant = ENCODINGS.get(name.lower())
    if meant not in known:
        message = f"audio here is {', '.join(sorted(known))}; {name[:40]!r} was asked for"
        raise Undecodable("unsupported_audio_format", message, where, client_event)
    return meant


def input_format(
    named: Named,
    rates: tuple[Any, ...],
    present: Format,
    where: str,
    client_event: str | None,
    *,
    known: frozenset[str] = INPUT,
) -> Format:
    """What audio comes in: as named, else as at present. The first of `rates` that says something counts,
    then the format's own, then the session's (or the telephone's, for its encodings). Raises Undecodable."""
    meant = encoding(named, known, where, client_event) or present.encoding
    given = [rate(one, "sample_rate_hz", client_event) for one in rates]
    if isinstance(named, f.Format):
        given.append(rate(named.rate, f"{where}.rate", client_event))
    alike = meant.startswith("g711") == present.encoding.startswith("g711")
    otherwise = present.rate if alike else usual(meant, output=False).rate
    return Format(meant, next((one for one in given if one is not None), otherwise))


def output_format(named: Named, given: Any, present: Format, where: str, client_event: str | None) -> Format:
    """In what form audio is wanted. Raises Undecodable."""
    meant = encoding(named, OUTPUT, where, client_event) or present.encoding
    asked = rate(given, "sample_rate_hz", client_event, HIGHEST_OUTPUT_RATE)
    if asked is None and isinstance(named, f.Format):
        asked = rate(named.rate, f"{where}.rate", client_event, HIGHEST_OUTPUT_RATE)
    if asked is None:
        asked = present.rate if meant == present.encoding else usual(meant, output=True).rate
    return Format(meant, asked)
