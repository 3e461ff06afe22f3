"""Continuous calls at the edge, over both of their wires."""

from __future__ import annotations

from typing import Any, NoReturn

from msgspec.structs import replace

from antiphon.actors.runtime import Retrieved
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import ClientResumed
from antiphon.projections.personaplex import frames as f
from antiphon.projections.personaplex.projection import AudioDuplexProjection, PersonaPlexProjection
from antiphon.web.dialect import Dialect

from .decode import AudioDuplexDecoder, PersonaPlexDecoder
from .opening import FINISHED, begin_chat, begin_duplex
from .pacing import PacedOutbox
from .voice import ContinuousSound, FloatSound

CHAT_PATH = "/api/chat"
DUPLEX_PATH = "/v1/audio/duplex"


class ContinuousReplies:
    """Nobody asks for items or signs of life here. That a client is back an event says."""

    def refused(
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> f.Frame:
        return f.Done() if code == FINISHED else f.Error(code, message)

    def retrieved(self, event_id: str, answer: Retrieved) -> NoReturn:
        raise NotImplementedError("no message of this dialect asks for an item")

    def alive(self, event_id: str, session: SessionId) -> NoReturn:
        raise NotImplementedError("no message of this dialect asks for a sign of life")

    def resumed(self, event_id: str, view: Any, event: ClientResumed, token: str) -> None:
        """The event itself is shown."""

    def replaced(self, event_id: str, session: SessionId, attachment: int) -> f.Error:
        return f.Error("session_replaced", "the session goes on with another connection")

    def resync(self, event_id: str, session: SessionId, reason: str) -> f.Error:
        return f.Error("session_resync_required", f"the session cannot be gone on with ({reason})")


def entrust(frame: f.Metadata, token: str) -> f.Metadata:
    """With the token by which the client can come back."""
    return replace(frame, resume_token=token)


PERSONAPLEX = Dialect(
    name="personaplex",
    mode="personaplex",
    projection=PersonaPlexProjection(),
    audio=f.Audio,
    greeting=f.Metadata,
    entrust=entrust,
    sound=ContinuousSound,
    replies=ContinuousReplies(),
    begin=begin_chat,
    decoder=PersonaPlexDecoder,
    drops_when_full=False,
    binary=(f.Frame,),
    live=True,
    outbox=PacedOutbox,
)
AUDIO_DUPLEX = Dialect(
    name="audio_duplex",
    mode="personaplex",
    projection=AudioDuplexProjection(),
    audio=f.Audio,
    greeting=f.Metadata,
    entrust=entrust,
    sound=FloatSound,
    replies=ContinuousReplies(),
    begin=begin_duplex,
    decoder=AudioDuplexDecoder,
    drops_when_full=False,
    binary=(f.Audio,),
    live=True,
)
