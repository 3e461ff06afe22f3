"""Who has which session at this stage, and which of its epochs counts.

A session belongs to the peer that opened it last, takes one of the engine's places from before the engine is
asked to open it until the engine has really let go, and knows one current epoch, which never goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import structlog

from antiphon.actors.desk.book import StageSession
from antiphon.actors.desk.calls import Calls
from antiphon.actors.desk.departures import Departure, Departures
from antiphon.actors.stages.contract import (
    Close,
    Closed,
    Engine,
    EngineDied,
    EngineRefused,
    Open,
    Opened,
    Refused,
    StageMessage,
)
from antiphon.events.ids import Fence, SessionId

LINGER_S = 60.0
"""How long a session is kept whose peer is lost."""

log = structlog.get_logger()


class Told(Protocol):
    """Somebody with a session: what is said of it goes there."""

    def send(self, message: StageMessage, /) -> None: ...


class Sessions:
    """All sessions of one engine. `went_on` is called when the engine has opened one."""

    def __init__(
        self,
        engine: Engine,
        calls: Calls,
        clock: Callable[[], float],
        *,
        went_on: Callable[[StageSession], None],
        died: Callable[[str], None],
    ) -> None:
        self._engine, self._calls, self._clock = engine, calls, clock
        self._went_on, self._died = went_on, died
        self._places = engine.descriptor.max_sessions
        self._openings = 0
        self._lingering: dict[SessionId, float] = {}
        self._departures = Departures(engine.close, calls.when, clock)
        self.of: dict[SessionId, StageSession] = {}
        self.peers: dict[SessionId, Told] = {}

    def __len__(self) -> int:
        """How many places are taken."""
        return len(self.of) + len(self._departures)

    def tell(self, session: StageSession, message: StageMessage) -> None:
        """Tell whoever has the session now, if anybody has."""
        peer = self.peers.get(session.fence.session)
        if peer is not None:
            peer.send(message)

    # --- opening ------------------------------------------------------------------------------------------

    def open(self, peer: Told, command: Open) -> None:
        fence = command.fence
        session = self.of.get(fence.session)
        if session is not None and fence.incarnation > session.fence.incarnation:
            self.let_go(session)
            session = None
        if session is None:
            self._open_new(peer, command)
        elif fence.incarnation < session.fence.incarnation or command.writer_epoch < session.writer_epoch:
            peer.send(Refused(fence, "fenced", "another writer has the session"))
        else:
            self._take_over(peer, command, session)

    def _open_new(self, peer: Told, command: Open) -> None:
        fence = command.fence
        if not self._has_room() or self._departures.of(fence.session) is not None:
            taken = f"all {self._places} places are taken"
            peer.send(Refused(fence, "resource_exhausted", taken, retryable=True))
            return
        session = StageSession(fence, command.writer_epoch)
        self.of[fence.session] = session
        self.peers[fence.session] = peer
        self._calls.when(partial(self._engine.open, fence, command.config), partial(self._opened, session))

    def _has_room(self) -> bool:
        """For one more. Where all places are taken, the session that has waited longest for its writer gives
        way. Its place is free at once unless the engine takes time to let go."""
        if len(self) >= self._places and self._lingering:
            self.let_go(self.of[next(iter(self._lingering))])
        return len(self) < self._places

    def _opened(self, session: StageSession, error: BaseException | None) -> None:
        """The engine has opened it, or has not and holds nothing that is not closed again."""
        if error is None:
            if not self.stays(session):
                return  # abandoned meanwhile
            self._openings += 1
            session.opening = f"{self._engine.descriptor.engine}/{self._openings}"
            self.tell(session, Opened(session.fence, session.opening))
            self._clean(session)
            self._went_on(session)
            return
        departure = self._departures.of(session.fence.session)
        if departure is None:
            self.tell(session, self._refusal(session, error))
            departure = self._depart(session)
        if isinstance(error, EngineRefused):
            self._departures.end(departure)
        else:
            self._departures.begin(departure)

    def _refusal(self, session: StageSession, error: BaseException) -> Refused:
        if isinstance(error, EngineRefused):
            return Refused(session.fence, error.code, error.message, retryable=error.retryable)
        log.error("stage.open_failed", session=session.fence.session, exc_info=error)
        return Refused(session.fence, "engine_error", "the engine could not open the session")

    def _take_over(self, peer: Told, command: Open, session: StageSession) -> None:
        name = command.fence.session
        again = self.peers.get(name) is not peer or command.writer_epoch > session.writer_epoch
        session.writer_epoch = command.writer_epoch
        self.peers[name] = peer
        self._lingering.pop(name, None)
        self.advance(session, command.fence)
        session.window.taken_over()
        if session.opening:  # else whoever has the session by then is told
            peer.send(Opened(command.fence, session.opening))
        if again:
            for kept in session.retained:
                peer.send(kept.output)

    # --- epochs -------------------------------------------------------------------------------------------

    def advance(self, session: StageSession, following: Fence) -> None:
        """Void what precedes `following`. One that is not later only has a failed cleanup tried again."""
        session.advance(following)
        self._clean(session)

    def _clean(self, session: StageSession) -> None:
        """Tell the engine what is void, until it has heard it without an error."""
        current = session.current
        if session.cleaned == current.epoch or not session.opening:
            return
        try:
            self._engine.cancel(
                Fence(current.session, current.incarnation, session.cleaned, current.turn), current
            )
        except EngineDied as died:
            self._died(str(died))
        except Exception:
            log.exception("stage.cancel_failed", session=current.session)
        else:
            session.cleaned = current.epoch

    # --- closing ------------------------------------------------------------------------------------------

    def close(self, peer: Told, command: Close) -> None:
        """The session's own peer has asked; told when the engine has let go, or holds nothing of it."""
        fence = command.fence
        session = self.of.get(fence.session)
        if session is not None and session.fence.incarnation == fence.incarnation:
            self.let_go(session, partial(peer.send, Closed(fence)))
            return
        departure = self._departures.of(fence.session)
        if departure is not None and departure.fence.incarnation == fence.incarnation:
            departure.gone.append(partial(peer.send, Closed(fence)))
        else:
            peer.send(Closed(fence))

    def let_go(self, session: StageSession, gone: Callable[[], None] | None = None) -> None:
        """The session is over here. `gone` is called when its place is free."""
        departure = self._depart(session)
        if gone is not None:
            departure.gone.append(gone)
        if session.waiting is None:
            self._departures.begin(departure)

    def stays(self, session: StageSession) -> bool:
        """Whether it does, now that the engine has answered; one that was let go meanwhile leaves now."""
        if self.of.get(session.fence.session) is session:
            return True
        departure = self._departures.of(session.fence.session)
        if departure is not None:
            self._departures.begin(departure)
        return False

    def _depart(self, session: StageSession) -> Departure:
        name = session.fence.session
        del self.of[name]
        self.peers.pop(name, None)
        self._lingering.pop(name, None)
        return self._departures.expect(session.fence)

    # --- lost peers, and the end --------------------------------------------------------------------------

    def lost(self, peer: Told) -> None:
        """Its sessions wait for a writer to take them over."""
        until = self._clock() + LINGER_S
        for name in [name for name, owner in self.peers.items() if owner is peer]:
            del self.peers[name]
            self._lingering[name] = until

    def expire(self) -> None:
        """Let go of sessions whose writer did not come back, and try again what the engine failed to."""
        self._departures.try_again()
        if not self._lingering:
            return
        now = self._clock()
        for name in [name for name, until in self._lingering.items() if until <= now]:
            self.let_go(self.of[name])
