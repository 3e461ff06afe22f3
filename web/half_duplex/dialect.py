"""Half-duplex calls at the edge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from antiphon.actors.runtime import Retrieved
from antiphon.actors.session.refusals import Unsupported, VoiceDetectorMissing
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import Abilities, ClientResumed, Config
from antiphon.projections.half_duplex import frames as f
from antiphon.projections.half_duplex.projection import HalfDuplexProjection
from antiphon.web.auth import Denied
from antiphon.web.dialect import Beginning, Dialect, Receive

from .decode import HalfDuplexDecoder
from .voice import HalfDuplexSound

ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def named(name: str) -> SessionId:
    """The session of that name. Raises Denied: a name that is none is not made one."""
    if not ID.fullmatch(name):
        raise Denied(400, "invalid_session_id", "a session id is 1 to 64 of A-Z a-z 0-9 _ -")
    return SessionId(name)


async def begin(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning:
    """At once; `prepare` says how the call is to go. Raises Refused where no call can be held here."""
    able = abilities()
    if not able.detects_voice:
        raise VoiceDetectorMissing("this server has no voice detector, and a half-duplex call needs one")
    if able.hears != "utterances" or not able.transcribes:
        told = "a half-duplex call needs a model that hears utterances; this server's does not"
        raise Unsupported(told)
    return Beginning(
        Config(
            model=model or able.stage,
            output_modalities=("audio",) if able.speaks else ("text",),
        )
    )


class HalfDuplexReplies:
    """Nobody asks for items or signs of life here, and nobody comes back."""

    def refused(
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> f.Error:
        return f.Error(error=message, code=code)

    def retrieved(self, event_id: str, answer: Retrieved) -> NoReturn:
        raise NotImplementedError("no frame of this dialect asks for an item")

    def alive(self, event_id: str, session: SessionId) -> NoReturn:
        raise NotImplementedError("no frame of this dialect asks for a sign of life")

    def resumed(self, event_id: str, view: Any, event: ClientResumed, token: str) -> NoReturn:
        raise NotImplementedError("a call ends with its connection")

    def replaced(self, event_id: str, session: SessionId, attachment: int) -> None:
        """Nobody takes the place of another."""

    def resync(self, event_id: str, session: SessionId, reason: str) -> NoReturn:
        raise NotImplementedError("a call ends with its connection")


def _keep(frame: Any, token: str) -> Any:
    """No frame tells a client how to come back."""
    return frame


HALF_DUPLEX = Dialect(
    name="half_duplex",
    mode="half_duplex",
    projection=HalfDuplexProjection(),
    audio=f.AudioChunk,
    greeting=type(None),
    entrust=_keep,
    sound=HalfDuplexSound,
    replies=HalfDuplexReplies(),
    begin=begin,
    decoder=HalfDuplexDecoder,
    drops_when_full=False,
)
