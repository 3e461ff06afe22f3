"""Commands that the state does not allow. A refusal changes nothing and is recorded as CommandRefused.

    session_closed                  the session has ended
    invalid_value                   a field's value cannot be used; `parameter` names it
    server_vad_unavailable          no voice detector is configured
    unsupported                     the stage behind the session cannot do this
    input_audio_buffer_commit_empty fewer than 100 ms of uncommitted audio
    active_response                 a response is being generated
    response_not_active             nothing (or not the named response) is being generated
    response_unknown                nothing is being generated, and no response has that id
    item_not_found                  no item of that id
    item_exists                     an item of that id is already there
    event_too_large                 what it asks for does not fit into an event
    input_backpressure              too much waits already; try again when some of it is done
    commit_aborted                  input before the commit did not reach the stage
    session_update_aborted          what the update waited for failed
    model_update_unsupported        a session keeps its model
    instructions_update_unsupported, voice_update_unsupported   the stage keeps what it was opened with
    voice_update_after_audio_unsupported    the voice has been heard
    unsupported_native_response_options     the stage cannot do this for one response only
    response_create_without_input   nothing was said since the last answer
    text_only_turn_unsupported      the stage cannot read, and nothing was spoken
    native_text_append_unsupported  the stage cannot read
    invalid_input_modality          the stage cannot see
    invalid_image                   images belong to a user's message, one to each of its image parts
    invalid_function_call_output    a function's output answers one call that is there, once
    playback_item_not_found         no answer of that name
    playback_item_mismatch          the item is not the named response's
    invalid_event_ack               no frame of that number was sent
    invalid_resume_token            not the token of this session, or not any more
    not_prepared                    a half-duplex call takes no audio before it was prepared
    not_idle                        the assistant speaks, or is about to
    no_frames                       there is no image to ask about
    session_resume_conflict         the client has seen frames that the session never sent

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


class UnknownResponse(Refused):
    code = "response_unknown"


class Backpressure(Refused):
    code = "input_backpressure"


class CommitAborted(Refused):
    code = "commit_aborted"


class UpdateAborted(Refused):
    code = "session_update_aborted"


class ModelIsFixed(Refused):
    code = "model_update_unsupported"


class InstructionsAreFixed(Refused):
    code = "instructions_update_unsupported"


class VoiceIsFixed(Refused):
    code = "voice_update_unsupported"


class VoiceWasHeard(Refused):
    code = "voice_update_after_audio_unsupported"


class OptionUnsupported(Refused):
    code = "unsupported_native_response_options"


class NothingToAnswer(Refused):
    code = "response_create_without_input"


class NothingSpoken(Refused):
    code = "text_only_turn_unsupported"


class CannotRead(Refused):
    code = "native_text_append_unsupported"


class CannotSee(Refused):
    code = "invalid_input_modality"


class InvalidImage(Refused):
    code = "invalid_image"


class InvalidOutput(Refused):
    code = "invalid_function_call_output"


class PlaybackNotFound(Refused):
    code = "playback_item_not_found"


class PlaybackMismatch(Refused):
    code = "playback_item_mismatch"


class NoSuchFrame(Refused):
    code = "invalid_event_ack"


class InvalidToken(Refused):
    code = "invalid_resume_token"


class ResumeConflict(Refused):
    code = "session_resume_conflict"


class NotPrepared(Refused):
    code = "not_prepared"


class NotIdle(Refused):
    code = "not_idle"


class NoFrames(Refused):
    code = "no_frames"
