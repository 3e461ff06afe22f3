"""One engine for all tests of a run: it takes vLLM a minute to start, and more where others work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from antiphon.actors.stages.vllm_streaming.options import KV_BLOCK, Options
from antiphon.actors.stages.vllm_streaming.thinker import VllmThinker
from tests.vllm.asking import LONG_ENOUGH_S

if TYPE_CHECKING:
    from tests.vllm.tiny import Tiny

CONTEXT, PLACES = 1024, 4
BLOCKS = PLACES * CONTEXT // KV_BLOCK + 1
"""Exactly what four full sessions need: nothing may leak."""


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from antiphon.actors.stages.minicpmo.tiny import make_tiny  # torch is only where these tests run

    folder = tmp_path_factory.mktemp("tiny")
    make_tiny(folder, seed=1)
    return folder


@pytest.fixture(scope="session")
def tiny(checkpoint: Path) -> Tiny:
    from tests.vllm.tiny import Tiny

    return Tiny(checkpoint)


@pytest.fixture(scope="session")
def thinker(tiny: Tiny) -> Iterator[VllmThinker]:
    options = Options(
        model=str(tiny.folder),
        max_sessions=PLACES,
        context_tokens=CONTEXT,
        kv_blocks=BLOCKS,
        eager=True,
        append_timeout_s=LONG_ENOUGH_S,
    )
    progress: list[str] = []
    os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "1"  # as an operator might, for another server
    started = VllmThinker(options, characters=[1] * tiny.vocabulary, progress=progress.append)
    assert progress[-1] == f"warming vLLM: {PLACES} of {PLACES} sessions"
    yield started
    started.stop()
