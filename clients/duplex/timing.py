"""How long answers took, as a client can tell.

There are three clocks: the stages' (stage_timing.py), the server's, and the client's own (`Event.at`). No
figure mixes two of them; `source` says whose it is. Where the server says how long a request took, that
counts; only otherwise is it what the client saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from . import events as e
from .figures import between_ms, intervals, ms, spread
from .stage_timing import OWN, omni, stages

Json = dict[str, Any]
CLIENT, SERVER = "client_monotonic_receive", "server_monotonic_request_start"
TEXT = ("response.output_audio_transcript.delta", "response.output_text.delta")
FIGURES = ("ttft_ms", "ttfp_ms", "audio_generation_ms", "audio_duration_ms")


def timing_summary(
    events: Sequence[e.Event], *, input_committed_at_s: float | None, measurement_origin: str | None
) -> Json:
    """Of one answer, whose events these are. Figures of what did not happen are None."""
    by_stage = stages(events)
    first = by_stage.get("0") or by_stage.get(OWN)
    return {
        "stages": by_stage,
        "stage0_tokens": first if first is not None and "output_token_count" in first else None,
        "audio_output": _audio_output(events, input_committed_at_s),
        "request_metrics": _request(events, first, input_committed_at_s, measurement_origin),
    }


def global_timing_summary(summaries: Sequence[Json]) -> Json:
    """Of several answers as one: how soon the first began, and what all of them took and played."""
    requests = [summary["request_metrics"] for summary in summaries]
    if not requests:
        return {"response_count": 0, **dict.fromkeys(FIGURES)}
    return {
        "response_count": len(requests),
        "source": requests[0]["source"],
        "measurement_origin": requests[0]["measurement_origin"],
        "ttft_ms": requests[0]["ttft_ms"],
        "ttfp_ms": requests[0]["ttfp_ms"],
        "audio_generation_ms": _sum(one["audio_generation_ms"] for one in requests),
        "audio_duration_ms": _sum(one["audio_duration_ms"] for one in requests),
    }


def summarize_session_request_metrics(session_id: str | None, summaries: Iterable[Json]) -> Json:
    """Of a session: count, mean, p50 and p99 over its spoken answers. `rtf` is generation over duration."""
    spoken = [one for one in summaries if one["request_metrics"]["audio_duration_ms"]]
    requests = [one["request_metrics"] for one in spoken]
    found: Json = {"session_id": session_id, "audio_turn_count": len(spoken)}
    for name in ("ttft_ms", "ttfp_ms"):
        found[name] = _over(requests, name)
    found["rtf"] = spread(
        [
            one["audio_generation_ms"] / one["audio_duration_ms"]
            for one in requests
            if one["audio_generation_ms"] is not None
        ]
    )
    if any(one.get("tpot_ms") is not None for one in requests):
        found["tpot_ms"] = _over(requests, "tpot_ms")
    names = sorted({name for one in spoken for name in one["stages"]})
    if names:
        found["stages"] = {
            name: _over_stage([one["stages"].get(name, {}) for one in spoken]) for name in names
        }
    return found


def _over(blocks: Iterable[Json], name: str) -> Json | None:
    return spread([one[name] for one in blocks if one.get(name) is not None])


def _over_stage(blocks: list[Json]) -> Json:
    wanted = ("ttft_ms", "tpot_ms", "ttfp_ms", "ttfc_ms", "tpop_ms")
    found = {name: _over(blocks, name) for name in wanted}
    return {name: figures for name, figures in found.items() if figures is not None}


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return ms(sum(known)) if known else None


# --- one answer -------------------------------------------------------------------------------------------


def _audio_output(events: Sequence[e.Event], committed_at_s: float | None) -> Json:
    audio = [event for event in events if isinstance(event, e.AudioDelta)]
    first = audio[0].at if audio else None
    gaps = [(after.at - before.at) * 1000 for before, after in pairwise(audio)]
    ends = [0, *(d for one in audio if (d := one.metadata.audio_duration_ms) is not None)]
    return {
        "source": CLIENT,
        "chunk_count": len(audio),
        "response_created_to_first_audio_ms": between_ms(_created_at(events), first),
        "commit_to_first_audio_ms": between_ms(committed_at_s, first),
        "inter_chunk_interval_ms": intervals(gaps),
        "chunk_duration_ms": intervals([after - before for before, after in pairwise(ends)]),
        "max_chunk_gap_ms": ms(max(gaps)) if gaps else None,
    }


def _request(
    events: Sequence[e.Event], first: Json | None, committed_at_s: float | None, origin: str | None
) -> Json:
    created = _created_at(events)
    text_at, audio_at = _first_text_at(events), _first_audio_at(events)
    found = _by_server(events) or _by_client(events, created, committed_at_s, origin)
    if first is not None and first.get("tpot_ms") is not None:
        found["tpot_ms"] = first["tpot_ms"]
    for name, at in (("text", text_at), ("audio", audio_at)):
        if created is not None and at is not None:
            found[f"response_created_to_first_{name}_ms"] = between_ms(created, at)
    return found


def _by_client(
    events: Sequence[e.Event], created: float | None, committed_at_s: float | None, origin: str | None
) -> Json:
    begun = created if committed_at_s is None else committed_at_s
    usual = "response_created" if committed_at_s is None else "input_committed"
    audio = [event.at for event in events if isinstance(event, e.AudioDelta)]
    return {
        "source": CLIENT,
        "measurement_origin": origin or usual,
        "ttft_ms": between_ms(begun, _first_text_at(events)),
        "ttfp_ms": between_ms(begun, _first_audio_at(events)),
        "audio_generation_ms": between_ms(begun, audio[-1]) if audio else None,
        "audio_duration_ms": _duration_ms(events),
    }


def _by_server(events: Sequence[e.Event]) -> Json | None:
    """What the server says of the request; None: nothing."""
    for event in events:
        if isinstance(event, e.ResponseDone) and isinstance(event.response.get("metrics"), dict):
            server = event.response["metrics"].get("server", {})
            return {
                "source": SERVER,
                "measurement_origin": "asked",
                "ttft_ms": server.get("asked_to_first_output_ms"),
                "ttfp_ms": server.get("asked_to_first_audio_ms"),
                "audio_generation_ms": server.get("generation_ms"),
                "audio_duration_ms": server.get("audio_ms") or _duration_ms(events),
            }
    told = [found for event in events if (found := omni(event).get("response_request_metrics"))]
    if not told:
        return None
    return {
        "source": SERVER,
        "measurement_origin": next(
            (one["measurement_origin"] for one in told if "measurement_origin" in one), None
        ),
        "ttft_ms": next((one["ttft_ms"] for one in told if one.get("ttft_ms") is not None), None),
        "ttfp_ms": next((one["ttfp_ms"] for one in told if one.get("ttfp_ms") is not None), None),
        "audio_generation_ms": None,
        "audio_duration_ms": _duration_ms(events),
    }


def _created_at(events: Sequence[e.Event]) -> float | None:
    return next((event.at for event in events if isinstance(event, e.ResponseCreated)), None)


def _first_text_at(events: Sequence[e.Event]) -> float | None:
    words = (event for event in events if isinstance(event, e.TextDelta) and event.type in TEXT)
    return next((event.at for event in words if event.delta), None)


def _first_audio_at(events: Sequence[e.Event]) -> float | None:
    return next((event.at for event in events if isinstance(event, e.AudioDelta)), None)


def _duration_ms(events: Sequence[e.Event]) -> float | None:
    ends = [
        one.metadata.audio_duration_ms
        for one in events
        if isinstance(one, e.AudioDelta) and one.metadata.audio_duration_ms is not None
    ]
    return float(max(ends)) if ends else None
