"""Reading what earlier versions wrote: one function per (type, version), each a step to the next version.

Rules: a step takes the body as builtins and returns it; it may change the dict it was given. Steps are never
edited once released. A row here means that the event class's `version` is higher than the row's.
"""

from collections.abc import Callable, Mapping
from typing import Any

Body = dict[str, Any]
Step = Callable[[Body], Body]
Upcasts = Mapping[tuple[str, int], Step]

UPCASTS: Upcasts = {}
"""Empty: no event has changed its meaning since the first release."""


def upcast(type_: str, version: int, body: Body, *, to: int, steps: Upcasts = UPCASTS) -> Body:
    """Take `body` from `version` to version `to`, step by step. Raises KeyError where a step is missing."""
    for at in range(version, to):
        body = steps[type_, at](body)
    return body
