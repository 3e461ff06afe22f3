"""What stages measured of themselves, as it comes with the frames of one answer.

There are two ways in which it comes: piece by piece in `metadata.vllm_omni.stage_metrics`, each piece about
one segment, and at the end of the answer in `response.metrics.stage`, about all of it. Counts of segments
are added; of first times the first counts; between outputs all counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from . import events as e
from .figures import intervals, ms

Json = dict[str, Any]
OWN = "model"
"""The name of the one stage that `response.metrics` is about."""
ADDED = (
    "num_tokens_in",
    "num_tokens_out",
    "stage_gen_time_ms",
    "audio_generated_frames",
    "audio_duration_s",
    "output_unit_count",
)
FIRST = ("vllm_ttft_ms", "serving_time_to_first_output_ms")
JOINED = ("vllm_itls_ms", "inter_output_latencies_ms")
SOURCE = "engine_stage_metrics"


def stages(events: Iterable[e.Event]) -> dict[str, Json]:
    """By stage, the blocks of whatever was measured: of tokens, of audio, of a stream of outputs."""
    gathered: dict[str, Json] = {}
    blocks: dict[str, Json] = {}
    for event in events:
        for name, segment in _segments(event):
            _add(gathered.setdefault(name, {}), segment)
        own = _own(event)
        if own:
            blocks[OWN] = _own_block(own)
    return {**{name: _block(metrics) for name, metrics in gathered.items()}, **blocks}


def omni(event: e.Event) -> Json:
    """The reference server's own member of an event, {} if there is none."""
    response = event.raw.get("response")
    holders = (event.raw, response if isinstance(response, dict) else {})
    for holder in holders:
        metadata = holder.get("metadata")
        found = metadata.get("vllm_omni") if isinstance(metadata, dict) else None
        if isinstance(found, dict):
            return found
    return {}


def _segments(event: e.Event) -> Iterator[tuple[str, Json]]:
    found = omni(event).get("stage_metrics")
    if isinstance(found, dict):
        yield from ((str(name), segment) for name, segment in found.items() if isinstance(segment, dict))


def _own(event: e.Event) -> Json:
    metrics = event.response.get("metrics") if isinstance(event, e.ResponseDone) else None
    return metrics.get("stage", {}) if isinstance(metrics, dict) else {}


def _add(metrics: Json, segment: Json) -> None:
    tokens, more = metrics.get("num_tokens_out") or 0, segment.get("num_tokens_out") or 0
    _weigh(metrics, segment, max(tokens - 1, 0), max(more - 1, 0))
    for name, value in segment.items():
        if name in ADDED:
            metrics[name] = (metrics.get(name) or 0) + (value or 0)
        elif name in FIRST:
            metrics[name] = metrics.get(name) or value
        elif name in JOINED:
            metrics[name] = [*metrics.get(name, []), *(value or [])]
        elif name != "vllm_tpot_ms":
            metrics[name] = value


def _weigh(metrics: Json, segment: Json, before: int, more: int) -> None:
    """The time per token: the mean over all of them, so a segment counts by its intervals."""
    value = segment.get("vllm_tpot_ms")
    if value is None:
        return
    held = metrics.get("vllm_tpot_ms")
    if held is None or not before:
        metrics["vllm_tpot_ms"] = value
    elif more:
        metrics["vllm_tpot_ms"] = (held * before + value * more) / (before + more)


def _block(metrics: Json) -> Json:
    block: Json = {"source": SOURCE}
    if metrics.get("vllm_ttft_ms") or metrics.get("vllm_itls_ms"):
        itls = metrics.get("vllm_itls_ms", [])
        block |= {
            "output_token_count": metrics.get("num_tokens_out", 0),
            "ttft_ms": _ms(metrics.get("vllm_ttft_ms")),
            "tpot_ms": _ms(metrics.get("vllm_tpot_ms")),
            "itls_ms": [ms(value) for value in itls],
            "inter_token_interval_ms": intervals(itls),
        }
    if metrics.get("audio_generated_frames") or metrics.get("audio_duration_s"):
        block |= {
            "output_unit_count": metrics.get("output_unit_count", 0),
            "audio_generated_frames": metrics.get("audio_generated_frames", 0),
            "audio_duration_s": metrics.get("audio_duration_s", 0.0),
        }
        if metrics.get("serving_time_to_first_output_ms"):
            block["ttfp_ms"] = _ms(metrics["serving_time_to_first_output_ms"])
    elif metrics.get("inter_output_latencies_ms"):
        gaps = metrics["inter_output_latencies_ms"]
        block |= {
            "output_unit_count": metrics.get("output_unit_count", 0),
            "ttfc_ms": _ms(metrics.get("serving_time_to_first_output_ms")),
            "tpop_ms": _ms(metrics.get("time_per_output_unit_ms")),
            "icls_ms": [ms(value) for value in gaps],
            "inter_chunk_interval_ms": intervals(gaps),
        }
    return block


def _own_block(stage: Json) -> Json:
    """Single intervals do not come over the wire, only what they come to."""
    block: Json = {
        "source": SOURCE,
        "output_token_count": stage.get("output_tokens", 0),
        "ttft_ms": _ms(stage.get("first_token_ms")),
        "tpot_ms": _ms(stage.get("per_token_ms")),
        "itls_ms": [],
        "inter_token_interval_ms": stage.get("between_tokens_ms"),
    }
    if stage.get("first_audio_ms") is not None:
        block["ttfp_ms"] = _ms(stage["first_audio_ms"])
    return block


def _ms(value: float | None) -> float | None:
    return None if value is None else ms(value)
