"""Reading what earlier versions wrote: one function per (type, version), each a step to the next version.

Rules: a step takes the body as builtins and returns it; it may change the dict it was given. Steps are never
edited once released. A row here means that the event class's `version` is higher than the row's.
"""

from collections.abc import Callable, Mapping
from typing import Any

Body = dict[str, Any]
Step = Callable[[Body], Body]
Upcasts = Mapping[tuple[str, int], Step]


def _frames_sent_1(body: Body) -> Body:
    """Version 1 told of one response's audio and had no digests."""
    sent = [body.pop("response"), body.pop("until_sample"), body.pop("first_mono_ns")]
    return {**body, "audio": [sent]}


UPCASTS: Upcasts = {("FramesSent", 1): _frames_sent_1}


def upcast(type_: str, version: int, body: Body, *, to: int, steps: Upcasts = UPCASTS) -> Body:
    """Take `body` from `version` to version `to`, step by step. Raises KeyError where a step is missing."""
    for at in range(version, to):
        body = steps[type_, at](body)
    return body
