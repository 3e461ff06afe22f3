"""Names that clients choose for their sessions: whose they are, and that each names one session at a time.

A name is its first user's for as long as anything of that use is kept: a name that somebody else has used, or
that names a session of another mode, is refused. Used again, it names the next life of the same session.
"""

from __future__ import annotations

from antiphon.events.errors import LogError, NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import SessionOpened

from .admission import CannotOpen

WITHIN = 8
"""Events of a life among which the one is that says whose it is."""


def check_name(log: Log, session: SessionId, mode: str, principal: str | None) -> None:
    """Raises CannotOpen (`session_exists`) where that client cannot open a session of that name now."""
    try:
        sealed = log.head(session).sealed
        opened = first_of(log, session)
    except NoSuchSession:
        return
    except LogError as error:
        raise CannotOpen("session_exists", "the log of that name cannot be read: take another") from error
    if opened is not None and (opened.principal, opened.mode) != (principal, mode):
        raise CannotOpen("session_exists", "that name is taken: take another")
    if not sealed:
        raise CannotOpen("session_exists", "a session of that name has not ended: take another")


def first_of(log: Log, session: SessionId) -> SessionOpened | None:
    """How the latest life of a session began; None: it got no further than its writer. Raises LogError."""
    events = (stored.event for stored in log.read(session, stop=WITHIN))
    return next((event for event in events if isinstance(event, SessionOpened)), None)
