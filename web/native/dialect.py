"""The native dialect at the edge: what it says and reads is its own, all else is as in the duplex dialect."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.projections.duplex.errors import body
from antiphon.projections.native import frames as f
from antiphon.projections.native.projection import NativeProjection
from antiphon.projections.native.wording import flat
from antiphon.web.duplex.dialect import DUPLEX, DuplexReplies
from antiphon.web.duplex.voice import DuplexSound

from .decode import NativeDecoder
from .opening import begin


class NativeReplies(DuplexReplies):
    def refused(  # type: ignore[override]  # errors are flat here
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> f.Error | None:
        said = body(code, message, param, client_event)
        return None if said is None else f.Error(event_id=event_id, **flat(said))


class NativeSound(DuplexSound):
    """Implements Sound."""

    member = "audio"


NATIVE = replace(
    DUPLEX,
    name="native",
    projection=NativeProjection(),
    audio=f.AudioDelta,
    sound=NativeSound,
    replies=NativeReplies(),
    begin=begin,
    decoder=NativeDecoder,
)
