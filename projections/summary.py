"""What the measures come to, as clients and operators read them: milliseconds, by clock.

Of one response: `of_response`. Of a session: `of_session`, where each figure is over its responses, except
those between tokens, which are over all tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from antiphon.events.units import samples_to_ms

from .figures import Figures, figures
from .measures import Answer, Measures


class StageClock(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As the stage measured itself, since it was asked. TTFT, TTFA, TPOT, ITL, in this order."""

    first_token_ms: float | None = None
    first_audio_ms: float | None = None
    per_token_ms: float | None = None
    between_tokens_ms: Figures | None = None
    output_tokens: int = 0


class ServerClock(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As the server saw it: `asked` is when a stage was given what it answers, `sent` when a client's socket
    had taken the first audio. `real_time_factor`: how long making the audio took, over how long it plays."""

    asked_to_first_output_ms: float | None = None
    asked_to_first_audio_ms: float | None = None
    commit_to_first_audio_ms: float | None = None
    created_to_first_audio_ms: float | None = None
    asked_to_sent_ms: float | None = None
    commit_to_sent_ms: float | None = None
    generation_ms: float | None = None
    audio_ms: float | None = None
    real_time_factor: float | None = None


class Clocks(Struct, frozen=True, kw_only=True):
    """Of one response."""

    stage: StageClock
    server: ServerClock


class SessionClocks(Struct, frozen=True, kw_only=True):
    """Of a session: figures by the names of StageClock and ServerClock, where there is anything to say.

    `listening`: of units that spoke for no response. `recognise_ms`: of utterances.
    """

    responses: dict[str, int]
    """How many, by outcome; "active" where there is none yet."""
    stage: dict[str, Figures]
    server: dict[str, Figures]
    listening: dict[str, Figures]
    recognise_ms: Figures | None


def of_response(answer: Answer) -> Clocks:
    gaps_ms = [gap / 1000 for gap in answer.gaps_us]
    stage = StageClock(
        first_token_ms=answer.first_token_ms,
        first_audio_ms=answer.first_sound_ms,
        per_token_ms=round(sum(gaps_ms) / len(gaps_ms), 3) if gaps_ms else None,
        between_tokens_ms=figures(gaps_ms),
        output_tokens=answer.output_tokens,
    )
    return Clocks(stage=stage, server=_server(answer))


def _server(answer: Answer) -> ServerClock:
    begun_ns = answer.created_ns if answer.asked_ns is None else answer.asked_ns
    generation_ms = _between(begun_ns, answer.last_audio_ns)
    audio_ms = float(samples_to_ms(answer.samples)) if answer.samples else None
    return ServerClock(
        asked_to_first_output_ms=_between(answer.asked_ns, answer.first_output_ns),
        asked_to_first_audio_ms=_between(answer.asked_ns, answer.first_audio_ns),
        commit_to_first_audio_ms=_between(answer.commit_ns, answer.first_audio_ns),
        created_to_first_audio_ms=_between(answer.created_ns, answer.first_audio_ns),
        asked_to_sent_ms=_between(answer.asked_ns, answer.sent_ns),
        commit_to_sent_ms=_between(answer.commit_ns, answer.sent_ns),
        generation_ms=generation_ms,
        audio_ms=audio_ms,
        real_time_factor=round(generation_ms / audio_ms, 3) if generation_ms and audio_ms else None,
    )


def _between(from_ns: int | None, until_ns: int | None) -> float | None:
    return None if from_ns is None or until_ns is None else round((until_ns - from_ns) / 1e6, 3)


def of_session(measures: Measures) -> SessionClocks:
    answers = measures.answers
    clocks = [of_response(answer) for answer in answers]
    gaps_ms = [gap / 1000 for answer in answers for gap in answer.gaps_us]
    stage = _named([clock.stage for clock in clocks], ("first_token_ms", "first_audio_ms", "per_token_ms"))
    own = measures.unspoken
    return SessionClocks(
        responses=dict(Counter(answer.outcome or "active" for answer in answers)),
        stage=stage | _present("between_tokens_ms", gaps_ms),
        server=_named([clock.server for clock in clocks], ServerClock.__struct_fields__),
        listening=_present("first_token_ms", own.first_token_ms)
        | _present("between_tokens_ms", [gap / 1000 for gap in own.gaps_us]),
        recognise_ms=figures(own.recognise_ms),
    )


def _named(clocks: list[StageClock] | list[ServerClock], names: Iterable[str]) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    for name in names:
        values = [getattr(clock, name) for clock in clocks]
        found |= _present(name, [value for value in values if value is not None])
    return found


def _present(name: str, values: Iterable[float]) -> dict[str, Figures]:
    found = figures(values)
    return {} if found is None else {name: found}
