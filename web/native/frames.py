"""The client's frames: the duplex dialect's, and how a session opens."""

from __future__ import annotations

from typing import Any

from antiphon.web.duplex import frames as duplex


class SessionCreate(duplex.SessionUpdate, frozen=True, kw_only=True, tag="session.create"):
    """Without `session` all other members are the session. The server names sessions: a `session_id` is
    passed over."""

    session_id: Any = None


ALIASES = dict.fromkeys(("open_session", "session.config"), SessionCreate)

KINDS: duplex.Kinds = {**duplex.KINDS, **duplex.kinds((SessionCreate,), ALIASES)}
