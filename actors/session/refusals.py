"""Commands that the state does not allow. A refusal changes nothing and is recorded as CommandRefused.

    session_closed                  the session has ended
    invalid_value                   a field's value cannot be used; `parameter` names it
    server_vad_unavailable          no voice detector is configured
    unsupported                     the stage behind the session cannot do this
    input_audio_buffer_commit_empty fewer than 100 ms of uncommitted audio
    active_response                 a response is being generated
    response_not_active             nothing (or not the named response) is being generated
    item_not_found                  no item of that id
    item_exists                     an item of that id is already there
    event_too_large                 what it asks for does not fit into an event

Dialects translate codes to their own names (projections/realtime/errors.py).
"""

from __future__ import annotations

from typing import ClassVar


class Refused(Exception):
    """A command the state does not allow. `code` is stable; the message is for people."""

    code: ClassVar[str] = "invalid_value"

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.message, self.parameter = message, parameter


class SessionOver(Refused):
    code = "session_closed"


class InvalidValue(Refused):
    code = "invalid_value"


class VoiceDetectorMissing(Refused):
    code = "server_vad_unavailable"


class Unsupported(Refused):
    code = "unsupported"


class NothingToCommit(Refused):
    code = "input_audio_buffer_commit_empty"


class ActiveResponse(Refused):
    code = "active_response"


class NotSpeaking(Refused):
    code = "response_not_active"


class ItemNotFound(Refused):
    code = "item_not_found"


class ItemExists(Refused):
    code = "item_exists"


class TooLarge(Refused):
    code = "event_too_large"
