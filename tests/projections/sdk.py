"""The public SDK's own models, as the judge of our frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import msgspec
from openai.types.realtime import RealtimeServerEvent
from pydantic import BaseModel

from antiphon.projections.realtime import frames as f


def _models() -> dict[str, type[BaseModel]]:
    union, *_ = get_args(RealtimeServerEvent)
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(union)}


MODELS = _models()


def judged(frame: f.Frame) -> dict[str, Any]:
    """The frame as it goes over the wire, held to the SDK's model: no member missing, none of another type."""
    text = msgspec.json.encode(frame)
    read: dict[str, Any] = msgspec.json.decode(text)
    MODELS[read["type"]].model_validate_json(text, strict=True)
    return read


def all_judged(frames: Iterable[f.Frame]) -> list[dict[str, Any]]:
    return [judged(frame) for frame in frames]
