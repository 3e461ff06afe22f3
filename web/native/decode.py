"""Client frames to commands, for one connection of the native dialect."""

from __future__ import annotations

from typing import NoReturn

from antiphon.web.duplex.decode import DuplexDecoder
from antiphon.web.duplex.frames import ClientFrame, SessionResume, reading
from antiphon.web.realtime.undecodable import Undecodable
from antiphon.web.wishes import Wish

from . import frames as f


def cannot_resume(frame: SessionResume) -> NoReturn:
    message = "a message resumes nothing here: connect with session_id and resume_token in the URL"
    raise Undecodable("unsupported_session_resume", message, "type", frame.event_id)


class NativeDecoder(DuplexDecoder):
    """Implements Decoder."""

    kinds = f.KINDS
    frames = reading(f.KINDS)

    def at_once(self, frame: ClientFrame) -> list[Wish]:
        match frame:
            case f.SessionCreate():
                message = "the session is open: session.update changes it"
                raise Undecodable("session_exists", message, "type", frame.event_id)
            case SessionResume():
                cannot_resume(frame)
            case _:
                return super().at_once(frame)
