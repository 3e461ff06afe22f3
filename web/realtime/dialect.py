"""The plain dialect at the edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.actors.runtime import Published, Retrieved
from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import Abilities, AudioSpoken, ClientResumed, Config, TurnDetection
from antiphon.media.encodings import Encoding
from antiphon.media.outgoing import Outgoing
from antiphon.projections.duplex.formats import Format
from antiphon.projections.realtime import frames as f
from antiphon.projections.realtime.errors import error
from antiphon.projections.realtime.items import retrieved
from antiphon.projections.realtime.projection import RealtimeProjection
from antiphon.projections.realtime.session import session_object
from antiphon.projections.realtime.step import View
from antiphon.web.cutting import Cutter
from antiphon.web.dialect import Beginning, Dialect, Receive

from .decode import RealtimeDecoder


async def begin(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning:
    """At once: clients wait for session.created before they say anything."""
    able = abilities()
    config = Config(
        model=model or able.stage,
        output_modalities=("audio",) if able.speaks else ("text",),
        turn_detection=TurnDetection() if able.detects_voice else None,
    )
    return Beginning(config)


class PlainSound:
    """An event's audio as it lies in the log, or as the telephone has it: then an answer is one stream."""

    def __init__(self) -> None:
        self._cutter = Cutter()
        self._response = ""
        self._stream: Outgoing | None = None

    def fill(self, frame: f.AudioDelta, published: Published) -> tuple[f.AudioDelta, int, ResponseId]:
        event, response = published.stored.event, ResponseId(frame.response_id)
        pcm = self._cutter.next(event, published) if isinstance(event, AudioSpoken) else None
        if frame.form is UNSET:
            return replace(frame, delta=pcm or b""), self._cutter.until, response
        if self._stream is None or response != self._response:
            self._response, self._stream = response, _stream(frame.form)
        delta = self._stream.finish() if pcm is None else self._stream.convert(pcm)
        return replace(frame, delta=delta, form=UNSET), self._cutter.until, response

    def is_stream(self, frame: f.AudioDelta) -> bool:
        """The telephone's is."""
        return frame.form is not UNSET

    def hold(self, published: Published) -> None:
        """Audio without a frame is not wanted here."""


def _stream(form: Format) -> Outgoing:
    encoding: Encoding = form.encoding  # type: ignore[assignment]  # one of FORMATS, and those are encodings
    return Outgoing(SAMPLE_RATE, form.rate, encoding)


class RealtimeReplies:
    def refused(
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> f.Error:
        """A question about a missing item has its own code in this dialect."""
        if code == "item_not_found":
            code = "item_retrieve_invalid_item_id"
        return error(event_id, code, message, param=param, client_event=client_event)

    def retrieved(self, event_id: str, answer: Retrieved) -> f.ItemRetrieved:
        return f.ItemRetrieved(event_id=event_id, item=retrieved(answer.entry, answer.state))

    def alive(self, event_id: str, session: SessionId) -> f.Frame:
        raise NotImplementedError("no frame of this dialect asks for a sign of life")

    def resumed(self, event_id: str, view: View, event: ClientResumed, token: str) -> f.SessionCreated:
        """Clients know no other frame to begin with. What is more is in the session."""
        shown = session_object(view.session, view.config, view.expires_at)
        shown |= {
            "attachment_generation": event.attachment,
            "resumed": True,
            "last_accepted_client_event_id": event.last_client_event,
        }
        return entrust(f.SessionCreated(event_id=event_id, session=shown), token)

    def replaced(self, event_id: str, session: SessionId, attachment: int) -> None:
        """Clients know no frame for it."""

    def resync(self, event_id: str, session: SessionId, reason: str) -> f.Error:
        told = f"what was missed cannot be sent any more ({reason}): open a new session"
        return error(event_id, "session_resync_required", told)


def entrust(frame: f.SessionCreated, token: str) -> f.SessionCreated:
    """With the token by which the client can come back."""
    return replace(frame, session={**frame.session, "resume_token": token})


REALTIME = Dialect(
    name="realtime",
    mode="duplex",
    projection=RealtimeProjection(),
    audio=f.AudioDelta,
    greeting=f.SessionCreated,
    entrust=entrust,
    sound=PlainSound,
    replies=RealtimeReplies(),
    begin=begin,
    decoder=RealtimeDecoder,
    drops_when_full=False,
)
