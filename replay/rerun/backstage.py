"""The engines that play in calls held again, one call after another, and what they say from their threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from antiphon.actors.desk.desk import StageDesk
from antiphon.actors.session.commands import StageRole
from antiphon.actors.stages.contract import Descriptor, Engine


class Backstage:
    """A desk for each engine, as in a stage's own process. Ends the engines when it is left."""

    def __init__(self) -> None:
        self._desks: dict[StageRole, StageDesk] = {}
        self._posted: deque[Callable[[], None]] = deque()
        self._woken = threading.Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for desk in self._desks.values():
            desk.stop()

    def employ(self, role: StageRole, engine: Engine) -> None:
        """Raises EngineRefused for an engine that cannot be served."""
        self._desks[role] = StageDesk(engine, self._post)

    def dismiss(self, role: StageRole) -> None:
        self._desks.pop(role).stop()

    def desk(self, role: StageRole) -> StageDesk | None:
        return self._desks.get(role)

    def descriptor(self, role: StageRole) -> Descriptor | None:
        desk = self._desks.get(role)
        return None if desk is None else desk.descriptor

    def works(self, *roles: StageRole) -> bool:
        """Whether one of these engines has something under way; without any, one of them all."""
        desks = [desk for role, desk in self._desks.items() if role in (roles or self._desks)]
        sessions = [one for desk in desks for one in desk.sessions.of.values()]
        return any(one.under_way or one.waiting is not None for one in sessions)

    def clear(self) -> None:
        """A call is over, however it ended: no engine has anything under way for it any more."""
        for desk in self._desks.values():
            for session in list(desk.sessions.of.values()):
                desk.sessions.let_go(session)

    def _post(self, call: Callable[[], None]) -> None:
        with self._woken:
            self._posted.append(call)
            self._woken.notify()

    def hear(self) -> bool:
        """Let the desks take what their engines have said so far; whether there was anything."""
        heard = bool(self._posted)
        while self._posted:
            self._posted.popleft()()
        return heard

    def wait(self, seconds: float | None) -> bool:
        """Until an engine says something, or for so long; whether one did."""
        with self._woken:
            return self._woken.wait_for(lambda: bool(self._posted), seconds)
