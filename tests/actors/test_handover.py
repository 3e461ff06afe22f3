"""Asking another process for a session, with owners that are stubs; and what is left when nobody came for it."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.actors import handover
from antiphon.actors.admission import CannotOpen
from antiphon.actors.handover import Departed, Handover
from antiphon.events.ids import Fence, SessionId

SESSION = SessionId("sess_1")


class Owner:
    """A stub: has the session until it is asked, and then, `busy` times, not yet."""

    def __init__(self, *, busy: int = 0, deaf: bool = False) -> None:
        self.has, self._busy, self._deaf = True, busy, deaf
        self.asked = 0

    def holder(self, session: SessionId) -> int | None:
        return 7 if self.has else None

    async def ask(self, pid: int, session: SessionId) -> bool:
        assert (pid, session) == (7, SESSION)
        self.asked += 1
        if self._deaf:
            await asyncio.Event().wait()
        self.has = self.asked <= self._busy
        return not self.has


async def test_what_nobody_has_nobody_is_asked_for() -> None:
    owner = Owner()
    owner.has = False

    assert await Handover(owner.holder, owner.ask).fetch(SESSION) is False
    assert owner.asked == 0


@pytest.mark.parametrize("busy", [0, 3])
async def test_the_owner_is_asked_until_it_has_let_go(busy: int) -> None:
    owner = Owner(busy=busy)

    assert await Handover(owner.holder, owner.ask).fetch(SESSION) is True
    assert owner.asked == busy + 1


async def test_an_owner_that_does_not_answer_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handover, "ANSWER_S", 0.01)
    owner = Owner(deaf=True)

    with pytest.raises(CannotOpen) as refused:
        await Handover(owner.holder, owner.ask).fetch(SESSION)
    assert refused.value.code == "not_ready"


async def test_a_session_that_nobody_came_for_is_closed_at_the_stages() -> None:
    closed: asyncio.Queue[Fence] = asyncio.Queue()
    departed = Departed(closed.put_nowait, after_s=0.01)
    departed.went(SESSION, 3)
    departed.went(SessionId("sess_back"), 1)
    departed.came(SessionId("sess_back"))

    async with asyncio.timeout(5):
        fence = await closed.get()
    assert (fence.session, fence.incarnation) == (SESSION, 3)
    departed.went(SESSION, 3)
    async with asyncio.timeout(5):
        assert (await closed.get()).session == SESSION  # and the one that came back was never closed
