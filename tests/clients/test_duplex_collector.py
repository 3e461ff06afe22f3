"""What a collector says of events: made up ones, with the times a test gives them, and a real conversation's."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.clients.duplex import (
    DuplexClient,
    EventCollector,
    SessionConfig,
    acknowledge_collected_playback,
    summarize_session_request_metrics,
)
from antiphon.clients.duplex import events as e
from antiphon.clients.duplex.figures import percentile
from antiphon.clients.duplex.reading import own
from tests.serving import running

AUDIO, WORDS = "response.output_audio.delta", "response.output_audio_transcript.delta"
OF_ITEM = {"item_id": "i"}


def collected(*events: tuple[float, str, dict[str, Any]]) -> EventCollector:
    collector = EventCollector()
    for at, kind, members in events:
        collector.add(own(kind, at, **members))
    return collector


def created(at: float, name: str = "r") -> tuple[float, str, dict[str, Any]]:
    return at, "response.created", {"response_id": name, "response": {}}


def words(at: float, text: str, name: str = "r") -> tuple[float, str, dict[str, Any]]:
    return at, WORDS, {"response_id": name, **OF_ITEM, "delta": text}


def audio(
    at: float, until_ms: int, name: str = "r", pcm: bytes = b"\1\0"
) -> tuple[float, str, dict[str, Any]]:
    delta = base64.b64encode(pcm).decode()
    members = {"response_id": name, **OF_ITEM, "delta": delta, "metadata": {"audio_duration_ms": until_ms}}
    return at, AUDIO, members


def done(at: float, name: str = "r", **response: Any) -> tuple[float, str, dict[str, Any]]:
    return at, "response.done", {"response_id": name, "response": {"status": "completed", **response}}


SPOKEN = (
    created(10.0),
    words(10.1, "Hi "),
    audio(10.2, 200),
    words(10.2, ""),
    audio(10.3, 400),
    words(10.35, "there."),
    audio(10.6, 500),
    done(10.7),
)


def test_counts_sound_and_words() -> None:
    told = collected(*SPOKEN, created(20.0, "s"), words(20.1, "Bye.", "s"), audio(20.2, 100, "s", b"\2\0"))
    assert (told.count(AUDIO), told.count(AUDIO, after_s=15)) == (4, 1)
    assert (told.audio_bytes("s"), told.audio_bytes()) == (b"\2\0", b"\1\0" * 3 + b"\2\0")
    assert (told.response_text("r"), told.response_text(after_s=15)) == ("Hi there.", "Bye.")
    assert (told.response_is_done("r"), told.response_is_done("s"), told.response_is_done()) == (
        True,
        False,
        True,
    )
    assert (told.first_received_at(AUDIO), told.last_received_at(AUDIO, "r")) == (10.2, 10.6)
    assert told.last_received_at("never") is None
    assert told.response_ids() == ["r", "s"]


def test_errors_are_kept_with_their_codes() -> None:
    told = collected((1.0, "error", {"error": {"code": "bad_event", "message": "no", "event_id": "c1"}}))
    assert [(error.code, error.event_id) for error in told.errors()] == [("bad_event", "c1")]


def test_how_long_it_took_by_the_clients_clock() -> None:
    told = collected(*SPOKEN).timing_summary(input_committed_at_s=9.9)
    assert told["audio_output"] == {
        "source": "client_monotonic_receive",
        "chunk_count": 3,
        "response_created_to_first_audio_ms": 200.0,
        "commit_to_first_audio_ms": 300.0,
        "inter_chunk_interval_ms": {"count": 2, "mean": 200.0, "p50": 100.0, "p95": 300.0, "max": 300.0},
        "chunk_duration_ms": {"count": 3, "mean": 166.667, "p50": 200, "p95": 200, "max": 200},
        "max_chunk_gap_ms": 300.0,
    }
    assert told["request_metrics"] == {
        "source": "client_monotonic_receive",
        "measurement_origin": "input_committed",
        "ttft_ms": 200.0,
        "ttfp_ms": 300.0,
        "audio_generation_ms": 700.0,
        "audio_duration_ms": 500.0,
        "response_created_to_first_text_ms": 100.0,
        "response_created_to_first_audio_ms": 200.0,
    }
    assert (told["stages"], told["stage0_tokens"]) == ({}, None)


def test_without_a_commit_it_counts_from_the_response() -> None:
    request = collected(*SPOKEN).timing_summary()["request_metrics"]
    assert (request["measurement_origin"], request["ttft_ms"]) == ("response_created", 100.0)


METRICS = {
    "stage": {
        "first_token_ms": 12.5,
        "first_audio_ms": 80.0,
        "per_token_ms": 4.0,
        "between_tokens_ms": {"count": 3, "mean": 4.0, "p50": 4.0, "p95": 5.0, "max": 5.0},
        "output_tokens": 4,
    },
    "server": {
        "asked_to_first_output_ms": 20.0,
        "asked_to_first_audio_ms": 90.0,
        "generation_ms": 300.0,
        "audio_ms": 500.0,
    },
}


def test_where_the_server_says_how_long_it_took_that_counts_and_clocks_are_not_mixed() -> None:
    told = collected(*SPOKEN[:-1], done(10.7, metrics=METRICS)).timing_summary(input_committed_at_s=9.9)
    request = told["request_metrics"]
    assert request["source"] == "server_monotonic_request_start"
    assert (request["ttft_ms"], request["ttfp_ms"]) == (20.0, 90.0)
    assert (request["audio_generation_ms"], request["audio_duration_ms"]) == (300.0, 500.0)
    assert (request["tpot_ms"], request["response_created_to_first_audio_ms"]) == (4.0, 200.0)
    assert told["audio_output"]["commit_to_first_audio_ms"] == 300.0
    assert told["stage0_tokens"] == told["stages"]["model"]
    assert told["stage0_tokens"] == {
        "source": "engine_stage_metrics",
        "output_token_count": 4,
        "ttft_ms": 12.5,
        "tpot_ms": 4.0,
        "itls_ms": [],
        "inter_token_interval_ms": METRICS["stage"]["between_tokens_ms"],
        "ttfp_ms": 80.0,
    }


def omni(at: float, kind: str, stages: dict[str, Any], **more: Any) -> tuple[float, str, dict[str, Any]]:
    metadata = {"vllm_omni": {"stage_metrics": stages, **more}}
    return at, kind, {"response_id": "r", **OF_ITEM, "delta": "", "metadata": metadata}


def test_segments_of_a_stage_are_added_up_and_of_first_times_the_first_counts() -> None:
    first = {"num_tokens_out": 3, "vllm_ttft_ms": 30.0, "vllm_tpot_ms": 10.0, "vllm_itls_ms": [9.0, 11.0]}
    second = {"num_tokens_out": 2, "vllm_ttft_ms": 5.0, "vllm_tpot_ms": 16.0, "vllm_itls_ms": [16.0]}
    voice = {"audio_generated_frames": 50, "audio_duration_s": 0.5, "output_unit_count": 1,
             "serving_time_to_first_output_ms": 70.0}  # fmt: skip
    stream = {
        "output_unit_count": 2,
        "serving_time_to_first_output_ms": 8.0,
        "inter_output_latencies_ms": [4.0],
    }
    told = collected(
        created(10.0),
        omni(10.1, WORDS, {"0": first}, response_request_metrics={"ttft_ms": 31.0, "measurement_origin": {"ttft": "append"}}),
        omni(10.2, WORDS, {"0": second, "1": voice}),
        omni(10.3, WORDS, {"1": voice, "2": stream}, response_request_metrics={"ttfp_ms": 71.0}),
    ).timing_summary()  # fmt: skip
    assert told["stage0_tokens"] == {
        "source": "engine_stage_metrics",
        "output_token_count": 5,
        "ttft_ms": 30.0,
        "tpot_ms": 12.0,
        "itls_ms": [9.0, 11.0, 16.0],
        "inter_token_interval_ms": {"count": 3, "mean": 12.0, "p50": 11.0, "p95": 16.0, "max": 16.0},
    }
    assert told["stages"]["1"] == {
        "source": "engine_stage_metrics",
        "output_unit_count": 2,
        "audio_generated_frames": 100,
        "audio_duration_s": 1.0,
        "ttfp_ms": 70.0,
    }
    assert told["stages"]["2"]["ttfc_ms"] == 8.0
    request = told["request_metrics"]
    assert (request["source"], request["ttft_ms"], request["ttfp_ms"]) == (
        "server_monotonic_request_start",
        31.0,
        71.0,
    )
    assert request["measurement_origin"] == {"ttft": "append"}


def test_several_answers_to_one_question_are_summed_up() -> None:
    told = collected(*SPOKEN, created(11.0, "s"), audio(11.2, 300, "s"), done(11.3, "s"))
    total = told.global_timing_summary(input_committed_at_s=9.9)
    assert (total["response_count"], total["ttft_ms"], total["ttfp_ms"]) == (2, 200.0, 300.0)
    assert total["audio_duration_ms"] == 800.0
    assert EventCollector().global_timing_summary()["response_count"] == 0


def test_a_session_is_summed_up_over_its_spoken_answers() -> None:
    told = collected(
        *SPOKEN[:-1],
        done(10.7, metrics=METRICS),
        created(11.0, "s"),
        words(11.1, "Only text.", "s"),
        done(11.3, "s"),
    )
    summaries = [told.timing_summary(response_id=one) for one in told.response_ids()]
    session = summarize_session_request_metrics("sess_1", summaries)
    assert (session["session_id"], session["audio_turn_count"]) == ("sess_1", 1)
    assert session["rtf"] == {"count": 1, "mean": 0.6, "p50": 0.6, "p99": 0.6}
    assert session["tpot_ms"]["mean"] == 4.0
    assert session["stages"]["model"]["ttft_ms"]["p99"] == 12.5


def test_nothing_has_no_figures() -> None:
    told = EventCollector().timing_summary()
    assert told["audio_output"]["chunk_count"] == 0
    assert told["request_metrics"]["ttft_ms"] is None
    with pytest.raises(ValueError):
        percentile([], 50)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([1, 50, 95, 99, 100]))
def test_a_percentile_is_one_of_the_values_and_so_many_do_not_exceed_it(
    values: list[float], percent: int
) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= percent * len(values)
    below = [value for value in values if value < found]
    assert len(below) * 100 < percent * len(values)


async def test_a_real_conversation_is_collected_and_acknowledged(tmp_path: Path) -> None:
    asked = SessionConfig(auto_response=False, extra_body={"return_stage_metrics": True})
    with running(tmp_path / "data", stage="scripted") as serving:
        collector = EventCollector()
        async with DuplexClient(serving.base, config=asked) as one:
            await one.send_text("Hello!")
            async for event in one:
                collector.add(event)
                if event.type == "response.done":
                    await acknowledge_collected_playback(one, collector)
                if event.type == "playback.acknowledged":
                    break
        await collector.consume(one.events())
    assert collector.count("session.closed") == 1
    assert collector.response_text() == "This is a scripted answer."
    assert len(collector.audio_bytes()) == 48_000
    [acknowledged] = [x for x in collector.events if isinstance(x, e.PlaybackAcknowledged)]
    assert acknowledged.event.committed_ms == 1000
    told = collector.timing_summary()
    assert told["request_metrics"]["source"] == "server_monotonic_request_start"
    assert told["request_metrics"]["audio_duration_ms"] == 1000
    assert told["audio_output"]["chunk_count"] == collector.count(AUDIO) > 0
    assert told["stages"] == {}, "a script measures nothing"
