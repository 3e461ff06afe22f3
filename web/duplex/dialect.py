"""The duplex dialect at the edge."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.runtime import Retrieved
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import ClientResumed, Config
from antiphon.projections.duplex import frames as f
from antiphon.projections.duplex.errors import body
from antiphon.projections.duplex.lifecycle import REASONS
from antiphon.projections.duplex.projection import DuplexProjection
from antiphon.projections.duplex.session import session_object
from antiphon.projections.duplex.view import View
from antiphon.projections.realtime.items import retrieved
from antiphon.web.dialect import Dialect

from .decode import DuplexDecoder
from .opening import begin
from .voice import DuplexSound


class DuplexReplies:
    def refused(
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> f.Error | None:
        said = body(code, message, param, client_event)
        return None if said is None else f.Error(event_id=event_id, error=said)

    def retrieved(self, event_id: str, answer: Retrieved) -> f.ItemRetrieved:
        return f.ItemRetrieved(event_id=event_id, item=retrieved(answer.entry, answer.state))

    def alive(self, event_id: str, session: SessionId) -> f.HeartbeatAck:
        return f.HeartbeatAck(event_id=event_id, session_id=session)

    def resumed(self, event_id: str, view: View, event: ClientResumed, token: str) -> f.SessionResumed:
        return f.SessionResumed(
            event_id=event_id,
            session_id=view.session,
            session=session_object(view),
            attachment_generation=event.attachment,
            resume_token=token,
            incarnation=view.incarnation,
            as_of_server_event_seq=max(event.after, 0),
            last_accepted_client_event_id=event.last_client_event,
        )

    def replaced(self, event_id: str, session: SessionId, attachment: int) -> f.SessionReplaced:
        return f.SessionReplaced(event_id=event_id, session_id=session, attachment_generation=attachment)

    def resync(self, event_id: str, session: SessionId, reason: str) -> f.ResyncRequired:
        return f.ResyncRequired(event_id=event_id, session_id=session, reason=reason)  # type: ignore[arg-type]


IDLE_S = 300.0


def patience(config: Config) -> float:
    """How long the client may be silent: as it asked."""
    asked = config.echo.get("idle_timeout_s")
    return float(asked) if isinstance(asked, int | float) and asked > 0 else IDLE_S


DUPLEX = Dialect(
    name="duplex",
    mode="duplex",
    projection=DuplexProjection(),
    audio=f.AudioDelta,
    greeting=f.SessionCreated,
    entrust=lambda frame, token: replace(frame, resume_token=token),
    sound=DuplexSound,
    replies=DuplexReplies(),
    begin=begin,
    decoder=DuplexDecoder,
    drops_when_full=True,
    patience=patience,
    reasons=REASONS,
)
