"""The client's frames: the duplex dialect's, and how a session opens."""

from __future__ import annotations

from typing import Any

from antiphon.web.duplex import frames as duplex


class SessionCreate(duplex.SessionUpdate, frozen=True, kw_only=True, tag="session.create"):
    """Without `session` all other members are the session. The server names sessions: a `session_id` is
    passed over."""

    session_id: Any = None


class SessionResume(duplex.ClientFrame, frozen=True, kw_only=True, tag="session.resume"):
    """Not served, whatever it says: here a session is resumed by the URL."""


OWN = (SessionCreate, SessionResume)

ALIASES: dict[str, type[duplex.ClientFrame]] = {
    "open_session": SessionCreate,
    "session.config": SessionCreate,
}

KINDS: duplex.Kinds = {
    **{cls: kind for cls, kind in duplex.KINDS.items() if kind is not duplex.SessionResume},
    **duplex.kinds(OWN, ALIASES),
}
