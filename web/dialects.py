"""The dialects of `/v1/realtime`, and which one a connection speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .beta import dialect as beta
from .dialect import Dialect
from .duplex.dialect import DUPLEX
from .duplex.opening import is_asked_for
from .realtime.dialect import REALTIME


def chosen(query: Mapping[str, str], headers: Mapping[str, str], subprotocols: Sequence[str]) -> Dialect:
    """The plain one, unless the client's URL asks for the other; by its earlier names if the client says that
    it knows no others."""
    if is_asked_for(query):
        return DUPLEX
    return beta.BETA if beta.is_spoken_by(headers, subprotocols) else REALTIME
