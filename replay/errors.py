"""Why a recording cannot be taken in, or made.

RecordingError
  UnsafeArchive     the file is no archive that can be taken in; nothing of it was used
  WrongRecording    the archive is no recording, or does not hold what its manifest says
  NewerRecording    a newer version of the program made it
  NotACall          it was to be one of a half-duplex call, and the session is none (half_duplex/turns.py)
  ChangedMeanwhile  the log was erased while it was being exported
"""

from __future__ import annotations

from typing import ClassVar


class RecordingError(Exception):
    """Base of them all. `code` is stable, the message a sentence for people."""

    code: ClassVar[str] = "recording_error"


class UnsafeArchive(RecordingError):
    code = "unsafe_archive"


class WrongRecording(RecordingError):
    code = "wrong_recording"


class NewerRecording(RecordingError):
    code = "newer_recording"

    def __init__(self, format_: int, known: int) -> None:
        super().__init__(f"recording format {format_}; this program reads {known}")
        self.format = format_


class ChangedMeanwhile(RecordingError):
    code = "changed_meanwhile"

    def __init__(self) -> None:
        super().__init__("the log was erased while it was being exported")
