"""What a log can answer instead of storing or reading.

LogError
  WrongSequence     the writer's idea of the head is not the log's
  Fenced            another writer has opened the log since
  Sealed            the session's log is closed for ever
  Locked            another living process holds the session's log
  NoSuchSession     there is no log of that name
  TooLarge          an event or blob is bigger than the format allows
  StoreFull         the disk is full; nothing of the batch was stored
  OutcomeUnknown    the batch may or may not be stored: reopen and read
  Corrupt           bytes in the middle of the log are not what was written
  UnknownCritical   the log holds a critical event this code does not know: inspect, do not resume
  UnknownMode       the log is of a kind of session that this code does not know
  NotALog           the file is not ours, or of a newer format
  Erased            the payload was erased
  LifeExists        that incarnation of the session is stored already, or was erased
"""

from __future__ import annotations

from typing import ClassVar

from .ids import Seq, SessionId


class LogError(Exception):
    """Base of all a log answers. `code` is stable, attributes carry the facts, `hint` says what to do."""

    code: ClassVar[str] = "log_error"
    hint: ClassVar[str] = ""


class WrongSequence(LogError):
    code = "wrong_sequence"

    def __init__(self, session: SessionId, *, expected: int, actual: int) -> None:
        super().__init__(f"session {session}: expected next seq {expected}, the log is at {actual}")
        self.session, self.expected, self.actual = session, Seq(expected), Seq(actual)


class Fenced(LogError):
    code = "fenced"
    hint = "stop writing: another process has taken the session over"

    def __init__(self, session: SessionId, *, given: int, current: int) -> None:
        super().__init__(f"session {session}: writer epoch {given} is over, {current} is current")
        self.session, self.given, self.current = session, given, current


class Sealed(LogError):
    code = "sealed"

    def __init__(self, session: SessionId) -> None:
        super().__init__(f"session {session} is sealed")
        self.session = session


class Locked(LogError):
    code = "locked"
    hint = "the process that hosts the session must park or end first"

    def __init__(self, session: SessionId, *, owner: str) -> None:
        super().__init__(f"session {session} is being written by {owner}")
        self.session, self.owner = session, owner


class NoSuchSession(LogError):
    code = "no_such_session"

    def __init__(self, session: SessionId) -> None:
        super().__init__(f"no log of session {session!r}")
        self.session = session


class TooLarge(LogError):
    code = "too_large"

    def __init__(self, what: str, *, size: int, limit: int) -> None:
        super().__init__(f"{what} of {size} bytes exceeds {limit}")
        self.size, self.limit = size, limit


class StoreFull(LogError):
    code = "store_full"
    hint = "free space under the data directory, or move it with --data"


class OutcomeUnknown(LogError):
    code = "outcome_unknown"
    hint = "reopen the session and read where its log ends"


class Corrupt(LogError):
    code = "corrupt"
    hint = "the file was left as it is; `antiphon log show` still shows what precedes the damage"

    def __init__(self, path: str, *, offset: int, seq: int | None, reason: str) -> None:
        super().__init__(f"{path}: {reason} at byte {offset} (after seq {seq})")
        self.path, self.offset, self.seq, self.reason = path, offset, seq, reason


class UnknownCritical(LogError):
    code = "unknown_critical_event"
    hint = "use the version of antiphon that wrote this log, or a later one"

    def __init__(self, type_: str, version: int, *, seq: int) -> None:
        super().__init__(f"seq {seq}: critical event {type_} version {version} is not known here")
        self.type, self.version, self.seq = type_, version, Seq(seq)


class UnknownMode(LogError):
    code = "unknown_mode"
    hint = "use the version of antiphon that wrote this log, or a later one"

    def __init__(self, session: SessionId, mode: str) -> None:
        super().__init__(f"session {session}: mode {mode!r} is not known here")
        self.session, self.mode = session, mode


class NotALog(LogError):
    code = "not_a_log"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


class Erased(LogError):
    code = "erased"

    def __init__(self, session: SessionId, incarnation: int) -> None:
        super().__init__(f"session {session}/{incarnation}: the audio was erased")
        self.session, self.incarnation = session, incarnation


class LifeExists(LogError):
    """An import would put a second log where there is one. `erased`: there was one, and it may not return."""

    code = "life_exists"

    def __init__(self, session: SessionId, incarnation: int, *, erased: bool = False) -> None:
        what = "was erased from this store" if erased else "is in this store already"
        super().__init__(f"session {session}/{incarnation} {what}")
        self.session, self.incarnation, self.erased = session, incarnation, erased
