"""turn_detection of the strict dialect: null, or server VAD with these members and no others."""

from __future__ import annotations

from typing import Any

from antiphon.events.vocabulary import TurnDetection
from antiphon.web.realtime.undecodable import Undecodable

MEMBERS = frozenset(
    {
        "type",
        "threshold",
        "prefix_padding_ms",
        "silence_duration_ms",
        "min_speech_duration_ms",
        "create_response",
        "interrupt_response",
    }
)
LOWEST_THRESHOLD = 0.15
"""Speech ends below threshold - 0.15, so the threshold lies above that."""
SHORTEST_SPEECH_MS = 32
RANGES = {
    "prefix_padding_ms": (0, 5_000),
    "silence_duration_ms": (100, 10_000),
    "min_speech_duration_ms": (0, 2_000),
}


def turn_detection(given: dict[str, Any] | None, client_event: str | None) -> TurnDetection | None:
    """Raises Undecodable `unsupported_turn_detection`."""
    if given is None:
        return None
    if given.get("type") != "server_vad":
        raise unsupported("turn_detection is null or of type server_vad", client_event)
    unknown = sorted(given.keys() - MEMBERS)
    if unknown:
        raise unsupported(f"server_vad has no member {unknown[0][:40]!r}", client_event)
    if given.get("interrupt_response") is False:
        raise unsupported("with server_vad speech interrupts: interrupt_response is true", client_event)
    usual = TurnDetection()
    return TurnDetection(
        threshold_permille=round(_threshold(given, usual, client_event) * 1000),
        prefix_padding_ms=_ms(given, "prefix_padding_ms", usual.prefix_padding_ms, client_event),
        silence_duration_ms=_ms(given, "silence_duration_ms", usual.silence_duration_ms, client_event),
        min_speech_ms=max(
            _ms(given, "min_speech_duration_ms", usual.min_speech_ms, client_event), SHORTEST_SPEECH_MS
        ),
        create_response=_flag(given, "create_response", client_event),
        interrupt_response=_flag(given, "interrupt_response", client_event),
    )


def _threshold(given: dict[str, Any], usual: TurnDetection, client_event: str | None) -> float:
    value = given.get("threshold")
    if value is None:
        return usual.threshold_permille / 1000
    if isinstance(value, bool) or not isinstance(value, int | float) or not LOWEST_THRESHOLD < value <= 1:
        raise unsupported(f"threshold lies above {LOWEST_THRESHOLD} and is at most 1", client_event)
    return float(value)


def _ms(given: dict[str, Any], name: str, usual: int, client_event: str | None) -> int:
    value = given.get(name)
    least, most = RANGES[name]
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise unsupported(f"{name} is between {least} and {most}", client_event)
    return int(value)


def _flag(given: dict[str, Any], name: str, client_event: str | None) -> bool:
    value = given.get(name)
    if value is not None and not isinstance(value, bool):
        raise unsupported(f"{name} is true or false", client_event)
    return value is not False


def unsupported(message: str, client_event: str | None) -> Undecodable:
    return Undecodable("unsupported_turn_detection", message, "turn_detection", client_event)
