"""Where a client stands in its session: what it needs to come back, and what a lost connection means.

No socket, no clock: this is asked and told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import events as e

ENDINGS = frozenset({1000, 1003, 1007, 1008, 1009})
"""Close codes after which there is nothing to come back to: the server is done, or will not have what this
client says. All others (1001, 1006, 1011, 1012, 1013, ...) are tried again."""

GONE, NOT_OURS = "session_resume_expired", "invalid_resume_token"
FATAL = frozenset(
    {
        GONE,
        "invalid_session_resume",
        "unsupported_session_resume",
        NOT_OURS,
        "session_resume_conflict",
    }
)
"""Errors after which no further attempt can succeed."""


@dataclass(frozen=True, slots=True)
class ReconnectPolicy:
    """How often and how soon a lost connection is tried again.

    Attempts count from the last frame that the server sent: a connection that comes back and says something
    new has earned all of them anew.
    """

    max_attempts: int = 5
    backoff_s: tuple[float, float] = (0.25, 4.0)
    """The first wait and the longest. Each is twice the one before."""
    jitter: float = 0.5
    """Up to that part of a wait is left out at random, so that clients of a restarted server do not all come
    at once."""

    def delay_s(self, attempt: int, chance: float) -> float:
        """The wait before an attempt (1 is the first). `chance` is from 0 to 1."""
        first, longest = self.backoff_s
        return min(first * 2.0 ** (attempt - 1), longest) * (1 - self.jitter * chance)


@dataclass(slots=True)
class Standing:
    session_id: str | None = None
    session: dict[str, Any] = field(default_factory=dict)
    """The session object as it was last shown."""
    resume_token: str | None = None
    attachment_generation: int | None = None
    last_number: int = 0
    """The `server_event_seq` of the last numbered frame."""
    acknowledged: int = 0
    """Up to where the server was told that frames arrived."""

    @property
    def can_resume(self) -> bool:
        return self.session_id is not None and self.resume_token is not None

    @property
    def resume_command(self) -> dict[str, Any]:
        return {
            "type": "session.resume",
            "session_id": self.session_id,
            "resume_token": self.resume_token,
            "last_received_server_event_seq": self.last_number,
        }

    def note(self, event: e.Event) -> bool:
        """Take an event into account; whether it is news: a number that was there already is none."""
        number = event.server_event_seq
        if number is not None:
            if number <= self.last_number:
                return False
            self.last_number = number
        match event:
            case e.SessionCreated(session=session):
                self._attached(event, session.get("id"), session)
            case e.SessionResumed(session=session):
                self._attached(event, event.session_id, session)
            case e.SessionUpdated(session=session):
                self.session = session
            case e.ResyncRequired() | e.SessionEnded():
                self.resume_token = None
        return True

    def _attached(
        self, event: e.SessionCreated | e.SessionResumed, session_id: Any, session: dict[str, Any]
    ) -> None:
        self.session_id = session_id if isinstance(session_id, str) else None
        self.session = session
        self.resume_token = event.resume_token or session.get("resume_token")
        self.attachment_generation = event.attachment_generation
