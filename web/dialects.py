"""The dialects of `/v1/realtime`, and which one a connection speaks."""

from __future__ import annotations

from collections.abc import Mapping

from .dialect import Dialect
from .duplex.dialect import DUPLEX
from .duplex.opening import is_asked_for
from .realtime.dialect import REALTIME


def chosen(query: Mapping[str, str]) -> Dialect:
    """By what the client put into the URL: the plain one, unless it asks for the other."""
    return DUPLEX if is_asked_for(query) else REALTIME
