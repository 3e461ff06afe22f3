"""The beta's names at the edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from antiphon.actors.runtime import Retrieved
from antiphon.events.vocabulary import ClientResumed
from antiphon.projections.beta import frames as f
from antiphon.projections.beta import names
from antiphon.projections.beta.projection import BetaProjection
from antiphon.projections.realtime import frames as today
from antiphon.projections.realtime.step import View
from antiphon.web.realtime.dialect import REALTIME, RealtimeReplies

from .decode import BetaDecoder

SUBPROTOCOL = "openai-beta.realtime-v1"
HEADER, VALUE = "openai-beta", "realtime=v1"


def is_spoken_by(headers: Mapping[str, str], subprotocols: Sequence[str]) -> bool:
    """Whether a client says that it knows the beta only."""
    given = headers.get(HEADER, "").lower().replace(" ", "").split(",")
    return SUBPROTOCOL in subprotocols or VALUE in given


class BetaReplies(RealtimeReplies):
    def retrieved(self, event_id: str, answer: Retrieved) -> today.ItemRetrieved:
        shown = super().retrieved(event_id, answer)
        return replace(shown, item=names.item(shown.item))

    def resumed(self, event_id: str, view: View, event: ClientResumed, token: str) -> today.SessionCreated:
        shown = super().resumed(event_id, view, event, token)
        return replace(shown, session=names.flat(shown.session))


BETA = replace(
    REALTIME,
    name="realtime_beta",
    projection=BetaProjection(),
    audio=f.AudioDelta,
    replies=BetaReplies(),
    decoder=BetaDecoder,
)
