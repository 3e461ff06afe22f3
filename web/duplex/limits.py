"""What may be asked of answers, of all of a session's or of one: read and checked."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from antiphon.web.realtime.undecodable import Undecodable

ENDLESS = ("inf", "infinity", "unlimited")
MODALITIES = {"audio", "text"}
MOST_TOKENS = 4096
HOTTEST = 2.0
SLOWEST, FASTEST = 0.25, 1.5


def modalities(given: list[str], where: str, client_event: str | None) -> tuple[str, ...]:
    """Raises Undecodable `unsupported_response_modality`."""
    if not given or not set(given) <= MODALITIES:
        message = "answers are of audio, of text, or of both"
        raise Undecodable("unsupported_response_modality", message, where, client_event)
    return tuple(dict.fromkeys(given))


def tokens(
    given: int | str | UnsetType | None, where: str, client_event: str | None
) -> int | UnsetType | None:
    """How long an answer may be; None: as long as it takes. Raises Undecodable."""
    if given is UNSET or given is None or (isinstance(given, str) and given.lower() in ENDLESS):
        return None if isinstance(given, str) else given
    if isinstance(given, str) or not 1 <= given <= MOST_TOKENS:
        message = f"a number of tokens is between 1 and {MOST_TOKENS}, or inf"
        raise Undecodable("invalid_value", message, where, client_event)
    return given


def speed(given: float | None, where: str, client_event: str | None) -> float | None:
    """How fast an answer is spoken; None: at the voice's own pace. Raises Undecodable."""
    if given is not None and not SLOWEST <= given <= FASTEST:
        message = f"a speed is between {SLOWEST} and {FASTEST}"
        raise Undecodable("invalid_value", message, where, client_event)
    return None if given == 1 else given


def temperature(
    given: float | UnsetType | None, where: str, client_event: str | None
) -> float | UnsetType | None:
    if isinstance(given, int | float) and not 0 <= given <= HOTTEST:
        message = f"a temperature is between 0 and {HOTTEST}"
        raise Undecodable("invalid_value", message, where, client_event)
    return given
