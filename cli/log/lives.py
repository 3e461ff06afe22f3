"""Which lives a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon.events.ids import SessionId
    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.store import Holding, Log


def chosen(store: SegmentLog, session: str | None, life: int | None) -> list[Holding]:
    """All lives of all sessions, of one session, or one life of it. Raises NoSuchSession."""
    from antiphon.events.errors import NoSuchSession
    from antiphon.events.ids import SessionId

    found = [
        one for one in store.holdings() if session in (None, one.session) and life in (None, one.incarnation)
    ]
    if session is not None and not found:
        raise NoSuchSession(SessionId(session))
    return sorted(found, key=lambda one: (one.session, one.incarnation))


def is_gone(log: Log, session: SessionId, life: int) -> bool:
    """Whether a life that was found is in the store no more: somebody erased it in the meantime."""
    from antiphon.events.errors import NoSuchSession

    try:
        return life not in log.lives(session)
    except NoSuchSession:
        return True
