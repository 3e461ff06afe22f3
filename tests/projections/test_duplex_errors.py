"""Every code that a client can be told has its row in the dialect's table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session import refusals
from antiphon.projections.duplex import errors
from antiphon.projections.duplex.frames import ErrorType
from tests.actors.session.given import Talk

from .duplex_laws import frames_of

ROOT = Path(__file__).resolve().parents[2]
RAISED = ("Undecodable", "CannotOpen")
TOLD = ("abort", "turn_away", "give_up", "_give_up", "refuse")
CODE = re.compile(r"[a-z]+(_[a-z]+)*")

CONTRACT = [
    "internal_error", "runtime_append_failed", "runtime_append_task_failed", "runtime_signal_failed",
    "runtime_abort_failed", "runtime_data_plane_stream_failed", "runtime_data_plane_text_without_audio",
    "runtime_touch_failed", "engine_error", "commit_aborted", "server_vad_unavailable",
    "resource_exhausted", "input_backpressure", "duplex_session_busy", "bad_event", "bad_audio",
    "config_timeout", "invalid_json", "event_too_large", "unknown_event", "session_exists",
    "session_closed", "unknown_session", "invalid_duplex_runtime_config",
    "instructions_update_unsupported", "persona_update_unsupported", "voice_update_unsupported",
    "voice_update_after_audio_unsupported", "ref_audio_update_unsupported", "model_update_unsupported",
    "unsupported_nemotron_duplex_mode", "unsupported_native_response_options", "response_already_active",
    "response_not_active", "response_create_without_input", "text_only_turn_unsupported",
    "input_audio_buffer_empty", "missing_item_id", "item_not_found", "playback_item_mismatch",
    "playback_item_not_found", "playback_ack_too_late", "unsupported_audio_format",
    "unsupported_turn_detection", "unsupported_ref_audio_path", "ref_audio_required",
    "native_text_append_unsupported", "invalid_video_frames", "invalid_input_modality",
    "invalid_function_call_output", "sliding_window_update_unsupported", "invalid_sliding_window_config",
    "nemotron_function_call_parse_error", "function_response_backlog", "session_update_aborted",
    "barge_in_unsupported", "invalid_session_config", "session_resume_expired", "session_resume_conflict",
    "invalid_resume_token", "invalid_session_resume", "runtime_resume_failed", "realtime_input_failed",
    "unsupported", "invalid_image", "engine_dead", "engine_backpressure", "timeout", "stale_fence",
    "runtime_contract_invalid", "runtime_open_failed", "runtime_open_unsupported",
    "runtime_resume_unsupported", "runtime_touch_unsupported", "unsupported_response_modality",
    "response_error", "unsupported_session_resume", "invalid_event_ack", "not_found", "invalid_argument",
    "failed_precondition", "invalid_capability",
]  # fmt: skip
"""All that the protocol's documents name."""


def of_the_core() -> set[str]:
    found = vars(refusals).values()
    return {one.code for one in found if isinstance(one, type) and issubclass(one, refusals.Refused)}


def calls(*folders: str) -> Iterator[ast.Call]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    yield node


def said(names: tuple[str, ...], *folders: str) -> set[str]:
    """The codes that stand as the first argument of calls of these names."""
    codes = set()
    for call in calls(*folders):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = call.args[0] if call.args else None
        value = first.value if isinstance(first, ast.Constant) else None
        if name in names and isinstance(value, str) and CODE.fullmatch(value):
            codes.add(value)
    return codes


def keywords(*folders: str) -> set[str]:
    """Codes that events and answers are given by name."""
    return {
        keyword.value.value
        for call in calls(*folders)
        for keyword in call.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }


def everything() -> set[str]:
    edge = said(RAISED, "web", "actors") | said(TOLD, "web", "actors/session_loop.py", "actors")
    return of_the_core() | edge | keywords("actors/session")


def test_the_walk_finds_what_it_should() -> None:
    found = everything()
    assert {"response_unknown", "config_timeout", "not_ready", "too_many_errors", "log_unavailable"} <= found
    assert "invalid_video_frames" in said(("Undecodable",), "web")


@pytest.mark.parametrize("code", sorted(everything()))
def test_a_code_of_ours_has_a_row(code: str) -> None:
    named = errors.CODES.get(code, code)
    assert named is None or named in errors.TYPES


@pytest.mark.parametrize("code", CONTRACT)
def test_a_code_of_the_protocol_has_a_row(code: str) -> None:
    assert code in errors.TYPES


def test_a_row_is_of_one_kind_and_renames_to_one_that_is_there() -> None:
    rows = [*errors.CLIENT, *errors.BUSY, *errors.SERVER]
    assert len(rows) == len(set(rows))
    assert set(errors.TYPES.values()) == set(get_args(ErrorType))
    assert {name for name in errors.CODES.values() if name is not None} <= errors.TYPES.keys()
    assert errors.TYPES.keys() >= errors.RETRYABLE


def test_what_is_not_worth_a_word_is_not_said() -> None:
    assert errors.told("response_unknown", "there is no such response") == []
    [(_, members)] = errors.told("active_response", "wait", "p", "e")
    body = members["error"]
    assert (body.code, body.type, body.param, body.event_id) == (
        "response_already_active",
        "invalid_request_error",
        "p",
        "e",
    )


def test_a_code_that_only_its_stage_knows_is_not_the_clients_mistake() -> None:
    log = Talk(detection=None)
    log.do(c.CreateResponse())
    active = log.active
    word = {"operation": active.operation, "index": 0, "epoch": 0, "last": True}
    log.do(c.RecordFailure(code="out_of_tune", message="no string is", **word))
    [told] = [frame["error"] for frame in frames_of(log.stored) if frame["type"] == "error"]
    assert (told["code"], told["type"], told["message"]) == ("out_of_tune", "server_error", "no string is")
