"""A session goes on in another serving process: the one that comes asks, the one that has it lets go.

Who has it says the log's lock. The owner parks it (what was asked is in the log, its client is told that
another has its place, the lock is free), and the asking process goes on from the log as from any other. The
stage keeps the session until its next writer opens it there.

An owner that is dead has no lock. One that does not answer is the launcher's to end: until then the client is
told to try again soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from antiphon.events.ids import Fence, SessionId

from .admission import CannotOpen

ANSWER_S = 2.0
"""How long the owner is waited for."""
LOOK_AGAIN_S = 0.005
ABANDONED_S = 60.0
"""How long a stage keeps a session that was let go and that nobody opened there since: as long as one whose
process has died (desk/sessions.py)."""

Holder = Callable[[SessionId], int | None]
"""The pid of whoever writes the session's log now; 0: somebody; None: nobody."""
AskOwner = Callable[[int, SessionId], Awaitable[bool]]
"""Asks the process with that pid to let the session go; whether it had it and did."""

log = structlog.get_logger(__name__)


class Handover:
    """How this process gets sessions of others."""

    def __init__(self, holder: Holder, ask_owner: AskOwner) -> None:
        self._holder, self._ask_owner = holder, ask_owner

    async def fetch(self, session: SessionId) -> bool:
        """Wait until nobody writes the session's log. Whether somebody let it go for us.

        Raises CannotOpen (`not_ready`) where it is not let go in time, NoSuchSession.
        """
        let_go = False
        try:
            async with asyncio.timeout(ANSWER_S):
                while (pid := self._holder(session)) is not None:
                    if await self._ask_owner(pid, session):
                        let_go = True
                    else:  # it is being ended, or looked after; or the process is another server's
                        await asyncio.sleep(LOOK_AGAIN_S)
        except TimeoutError:
            log.warning("handover.not_let_go", session=session, owner_pid=pid)
            told = "another process has the session and does not let it go; try again soon"
            raise CannotOpen("not_ready", told) from None
        return let_go


class Departed:
    """Sessions that this process let go. What nobody opens at the stages then is let go there, too."""

    def __init__(self, close: Callable[[Fence], None], after_s: float = ABANDONED_S) -> None:
        """`close` lets go of a session at the stages; they pass over what is not this process's any more."""
        self._close, self._after_s = close, after_s
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[SessionId, asyncio.TimerHandle] = {}

    def went(self, session: SessionId, incarnation: int) -> None:
        self.came(session)
        fence = Fence(session, incarnation, 0, 0)
        self._waiting[session] = self._loop.call_later(self._after_s, self._abandon, fence)

    def came(self, session: SessionId) -> None:
        """It is served here (again)."""
        waiting = self._waiting.pop(session, None)
        if waiting is not None:
            waiting.cancel()

    def _abandon(self, fence: Fence) -> None:
        self._waiting.pop(fence.session, None)
        self._close(fence)
