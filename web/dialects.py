"""The dialects, and which one a connection speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .beta import dialect as beta
from .dialect import Dialect
from .duplex.dialect import DUPLEX
from .duplex.opening import is_asked_for
from .native.dialect import NATIVE
from .personaplex.dialect import AUDIO_DUPLEX, CHAT_PATH, DUPLEX_PATH, PERSONAPLEX
from .realtime.dialect import REALTIME
from .video.dialect import VIDEO

NATIVE_PATH = "/v1/duplex"
VIDEO_PATH = "/v1/video/chat/stream"
BY_PATH: Mapping[str, Dialect] = {
    NATIVE_PATH: NATIVE,
    VIDEO_PATH: VIDEO,
    CHAT_PATH: PERSONAPLEX,
    DUPLEX_PATH: AUDIO_DUPLEX,
}


def chosen(
    path: str, query: Mapping[str, str], headers: Mapping[str, str], subprotocols: Sequence[str]
) -> Dialect:
    """By its URL; at `/v1/realtime` the plain one, unless the client asks for the other, by its earlier names
    if the client says that it knows no others."""
    if path in BY_PATH:
        return BY_PATH[path]
    if is_asked_for(query):
        return DUPLEX
    return beta.BETA if beta.is_spoken_by(headers, subprotocols) else REALTIME


def members(query: Mapping[str, str]) -> dict[str, str]:
    """What a URL says. Some clients write `?model=M` behind whatever URL they are given: where it has a query
    already, that stands at the end of the query's last value."""
    said = dict(query)
    for name, value in query.items():
        before, appended, model = value.partition("?model=")
        if appended:
            said[name] = before
            said.setdefault("model", model)
    return said
