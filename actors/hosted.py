"""A session that this process serves, as its attachment reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from antiphon.events.ids import ItemId, SessionId

from .link.queue import StageQueue
from .runtime import Sink
from .session import commands
from .session.commands import StageRole
from .session_actor import Ask, Retrieve
from .stages.contract import StageCommand


class Hosted:
    """One live session."""

    __slots__ = (
        "__weakref__",
        "_log_behind",
        "_relief",
        "address",
        "gone",
        "held",
        "id",
        "principal",
        "queues",
        "tell",
    )

    def __init__(
        self,
        session: SessionId,
        address: Any,
        principal: str | None,
        tell: Callable[[object], None],
        senders: Mapping[StageRole, Callable[[StageCommand], None]],
    ) -> None:
        """`tell` reaches its actor, `senders` its stages; `principal` is whose it is."""
        self.id, self.address, self.principal = session, address, principal
        self.tell = tell
        self.queues = {role: StageQueue(send) for role, send in senders.items()}
        self._relief = asyncio.Event()
        self.gone = asyncio.Event()
        """Set when this process serves it no more."""
        self.held = False
        """Whether its client is waiting for relief."""
        self._log_behind = False
        """Whether its log is behind what was decided: the disk is slow, or hangs."""

    def ask(self, sink: Sink, command: commands.Command) -> None:
        self.tell(Ask(sink, command))

    def retrieve(self, sink: Sink, item: ItemId, client_event: str | None) -> None:
        self.tell(Retrieve(sink, item, client_event))

    @property
    def behind(self) -> bool:
        """Whether the stages or the log are behind what the client has sent: stop reading from it."""
        if self._log_behind:
            return True
        for queue in self.queues.values():  # noqa: SIM110  # asked with every frame: any() takes twice as long
            if queue.is_long:
                return True
        return False

    def wait_for_log(self, behind: bool) -> None:
        """The log is behind, or it has caught up."""
        self._log_behind = behind
        if self.held and not self.behind:
            self.relieve()

    async def relieved(self) -> None:
        """Wait until whoever is behind has caught up, or the session has ended."""
        self.held = True
        self._relief.clear()
        await self._relief.wait()

    def relieve(self) -> None:
        self.held = False
        self._relief.set()
