"""What vLLM is told and what it has made of it, before any vLLM is there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.options import read_settings
from antiphon.actors.stages.vllm_streaming.engine import check_resolved
from antiphon.actors.stages.vllm_streaming.options import (
    GIVEN_ANEW,
    Options,
    VllmSettings,
    engine_arguments,
    set_environment,
    step_positions,
    visible_device,
)

UNIT = 13


def test_what_the_rules_stand_on_is_forced_and_the_rest_is_the_operators(monkeypatch: pytest.MonkeyPatch):
    import os

    before = dict(os.environ)
    monkeypatch.setattr(os, "environ", before)
    before |= {
        "VLLM_USE_V2_MODEL_RUNNER": "1",
        "VLLM_WORKER_MULTIPROC_METHOD": "fork",
        "VLLM_HOST_IP": "127.0.0.2",
    }
    set_environment()
    assert before["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert before["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
    assert before["VLLM_HOST_IP"] == "127.0.0.2"
    assert before["HF_HUB_OFFLINE"] == "1"


@pytest.mark.parametrize(
    ("overlapping", "caching", "runner_v2", "drawn"),
    [
        (True, False, False, True),
        (False, True, False, True),
        (False, False, True, True),
        (False, False, False, False),
    ],
    ids=["async scheduling", "prefix caching", "model runner V2", "a logits processor that was not loaded"],
)
def test_an_engine_that_would_lose_sessions_or_draw_by_other_rules_is_not_started(
    overlapping: bool, caching: bool, runner_v2: bool, drawn: bool
):
    with pytest.raises(EngineRefused) as refusal:
        check_resolved(resolved(overlapping, caching, runner_v2), is_drawn=drawn)
    assert refusal.value.code == "runtime_contract_invalid"


def test_an_engine_that_is_as_it_was_asked_for_is_started():
    check_resolved(resolved(False, False, False), is_drawn=True)


def resolved(overlapping: bool, caching: bool, runner_v2: bool) -> SimpleNamespace:
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(async_scheduling=overlapping),
        cache_config=SimpleNamespace(enable_prefix_caching=caching),
        use_v2_model_runner=runner_v2,
    )


@pytest.mark.parametrize(
    ("device", "visible", "on_gpu", "of_the_core"),
    [
        ("", None, True, None),
        ("", "3,5", True, None),
        ("cuda", "3,5", True, None),
        ("cuda:1", None, True, "1"),
        ("cuda:1", "3,5", True, "5"),
        ("cuda:0", "GPU-8932f937", True, "GPU-8932f937"),
        ("", None, False, None),
        ("cpu", None, False, None),
    ],
)
def test_the_engine_core_gets_the_device_of_the_stage(
    device: str, visible: str | None, on_gpu: bool, of_the_core: str | None
):
    assert visible_device(device, visible, on_gpu=on_gpu) == of_the_core


@pytest.mark.parametrize(
    ("device", "visible", "on_gpu"),
    [
        ("cpu", None, True),
        ("cuda:2", "3,5", True),
        ("cuda:x", None, True),
        ("mps", None, True),
        ("cuda:1", None, False),
        ("cuda", None, False),
    ],
)
def test_a_device_that_vllm_cannot_be_given_is_refused(device: str, visible: str | None, on_gpu: bool):
    with pytest.raises(EngineRefused, match=device) as refusal:
        visible_device(device, visible, on_gpu=on_gpu)
    assert refusal.value.code == "bad_settings"


@pytest.mark.parametrize("sessions", [1, 4, 64])
def test_a_step_holds_a_unit_of_everybody_and_not_much_more(sessions: int):
    options = Options(model="m", max_sessions=sessions)
    arguments = engine_arguments(options, on_gpu=True, additional={})
    assert arguments["max_num_batched_tokens"] == step_positions(sessions)
    assert sessions * UNIT <= step_positions(sessions) - GIVEN_ANEW < 2 * sessions * UNIT


def test_what_vllm_alone_has_stands_in_a_table_of_its_own():
    chosen = read_settings({"model": "m", "vllm": {"gpu_memory": 0.3, "eager": True}})
    assert chosen.vllm == VllmSettings(gpu_memory=0.3, eager=True)
    assert read_settings({"model": "m"}).vllm == VllmSettings()


@pytest.mark.parametrize(
    "wrong", [{"model": "m"}, {"gpu_memory": 1.5}, {"kv_blocks": 1}, {"dtype": "float8"}, {"eagre": True}]
)
def test_what_vllm_cannot_be_told_is_refused_whatever_runs_the_model(wrong: dict[str, object]):
    with pytest.raises(EngineRefused, match="vllm") as refusal:
        read_settings({"model": "m", "vllm": wrong})
    assert refusal.value.code == "bad_settings"
