"""What operators of such servers set by variables, read with every question.

    VLLM_VIDEO_ASYNC_CHUNK          on (the default): word by word; off: an answer comes whole
    VLLM_VIDEO_AUDIO_DELTA_MODE     fast (the default) or slow: accepted, and without effect here

Blanks around a value and its case do not matter. Of any other value the default holds, and the program's log
says so once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import structlog

log = structlog.get_logger(__name__)

ASYNC_CHUNK = "VLLM_VIDEO_ASYNC_CHUNK"
AUDIO_DELTA_MODE = "VLLM_VIDEO_AUDIO_DELTA_MODE"
VALUES = {ASYNC_CHUNK: ("on", "off"), AUDIO_DELTA_MODE: ("fast", "slow")}
"""The first of each is the default."""

_warned: set[tuple[str, str]] = set()


def streams(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether answers come word by word."""
    _chosen(AUDIO_DELTA_MODE, environment)
    return _chosen(ASYNC_CHUNK, environment) == "on"


def _chosen(variable: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "").strip().lower()
    if value in VALUES[variable] or not value:
        return value or VALUES[variable][0]
    if (variable, value) not in _warned:
        _warned.add((variable, value))
        log.warning("video.unknown_setting", variable=variable, value=value, known=VALUES[variable])
    return VALUES[variable][0]
