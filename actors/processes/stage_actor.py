"""The stage as thespian sees it: started, asked how it is, ended.

Audio never comes this way (a hop costs a millisecond); it flows over the socket that StageProcess serves.
"""

from __future__ import annotations

import os

import structlog
from thespian.actors import Actor, ActorAddress, ActorExitRequest

from antiphon.actors.processes.stage_process import StageProcess, StageStatus, StartStage

log = structlog.get_logger()


class StageActor(Actor):  # type: ignore[misc]  # thespian is untyped
    """One process, one engine."""

    def __init__(self) -> None:
        self._process: StageProcess | None = None

    def receiveMessage(self, message: object, sender: ActorAddress) -> None:
        """Handle one message. Never raises: thespian would deliver it again."""
        try:
            self._handle(message, sender)
        except Exception:
            log.exception("stage.actor_failed", pid=os.getpid(), message=type(message).__name__)

    def _handle(self, message: object, sender: ActorAddress) -> None:
        match message:
            case StartStage() if self._process is None:
                self._process = StageProcess(message)
                self._process.begin()
                self.send(sender, self._process.status())
            case StartStage() if self._process is not None:  # said twice
                self.send(sender, self._process.status())
            case ActorExitRequest() if self._process is not None:
                self._process.stop()

    @staticmethod
    def status_of(answer: object) -> StageStatus | None:
        """The answer to StartStage; None if there was none in time."""
        return answer if isinstance(answer, StageStatus) else None
