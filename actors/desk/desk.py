"""The stage's side of the contract that every engine shares: what may be done, and what is said of it.

The desk stands between connections (peers) and one engine. It does no I/O and runs on one thread; an engine's
`emit` may be called from any thread and reaches it through `post`.

* Work of an earlier epoch is refused with `stale_fence`; output of void work is dropped and counted. The
  user's own words (a voice stage's pieces, whole utterances) are fenced by session and incarnation only.
* A session belongs to the peer that opened it last. A higher writer epoch takes over, and so does the same
  writer on a new connection; both are told again what is not acknowledged. A lower one is refused, and what
  the former peer still sends is dropped: it is a zombie.
* `Opened.engine` names the engine's life and this opening of the session. If it is the one a writer has in
  its log, the session was kept: numbers go on. If not, it is new: numbers start at 1 and nothing is known.
* A session whose peer is lost is kept for LINGER_S, so that a resumed session finds its place.
* A session with more than RETAINED_SOFT unacknowledged outputs is given no new work; beyond RETAINED_HARD it
  is let go, with `Refused("unacknowledged")`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import structlog

from antiphon.actors.desk.book import StageSession
from antiphon.actors.link.codec import cancels_first
from antiphon.actors.link.window import Work, is_output_side
from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Acknowledge,
    Body,
    Cancel,
    Cancelled,
    Close,
    Closed,
    Descriptor,
    EndTurn,
    Engine,
    EngineRefused,
    Failed,
    Listen,
    Open,
    Opened,
    Refused,
    Speak,
    StageCommand,
    StageMessage,
)
from antiphon.events.ids import Fence, Operation, SessionId

LINGER_S = 60.0
RETAINED_SOFT = 1024
RETAINED_HARD = 4096
RETAINED_BYTES_HARD = 64 * 1024 * 1024

Send = Callable[[StageMessage], None]
Post = Callable[[Callable[[], None]], None]

log = structlog.get_logger()


def check_descriptor(descriptor: Descriptor) -> None:
    """Raise EngineRefused unless the descriptor is one that this desk can serve."""
    wrong = (
        f"contract {descriptor.contract}, this is {CONTRACT_VERSION}"
        if descriptor.contract != CONTRACT_VERSION
        else "no name"
        if not descriptor.name
        else "no engine id"
        if not descriptor.engine
        else f"max_sessions {descriptor.max_sessions}"
        if descriptor.max_sessions < 1
        else ""
    )
    if wrong:
        raise EngineRefused("bad_descriptor", f"stage descriptor: {wrong}")


class Peer:
    """One connection of a serving process. Its identity is what tells a writer from a zombie."""

    def __init__(self, desk: StageDesk, send: Send) -> None:
        self._desk = desk
        self.send = send

    def take(self, batch: list[StageCommand]) -> None:
        """Do what one read brought, cancels first. Never raises."""
        for command in cancels_first(batch):
            self._desk.take(self, command)

    def lost(self) -> None:
        """The connection is gone; its sessions wait for a writer to take them over."""
        self._desk.peer_lost(self)


class StageDesk:
    """All sessions of one engine."""

    def __init__(self, engine: Engine, post: Post, *, clock: Callable[[], float] = time.monotonic) -> None:
        check_descriptor(engine.descriptor)
        self.descriptor = engine.descriptor
        self._role = engine.descriptor.role
        self._engine = engine
        self._post = post
        self._clock = clock
        self._sessions: dict[SessionId, StageSession] = {}
        self._peers: dict[SessionId, Peer] = {}
        self._lingering: dict[SessionId, float] = {}
        self._openings = 0
        self.dropped_late = 0
        """Outputs that an engine said of work that had ended or was void."""
        self.dropped_zombie = 0
        """Commands of peers whose session had been taken over."""
        self._take: dict[type[StageCommand], Callable[..., None]] = {
            Listen: partial(self._work, ask=engine.listen),
            EndTurn: partial(self._work, ask=engine.end_turn),
            Speak: partial(self._work, ask=engine.speak),
            Acknowledge: self._acknowledge,
            Cancel: self._cancel,
            Open: self._open,
            Close: self._close,
        }
        engine.start(self._emit)

    def connect(self, send: Send) -> Peer:
        return Peer(self, send)

    def __len__(self) -> int:
        return len(self._sessions)

    def take(self, peer: Peer, command: StageCommand) -> None:
        """Do one command of `peer`. Never raises: what an engine raises ends that operation or session."""
        self._take[type(command)](peer, command)

    def peer_lost(self, peer: Peer) -> None:
        until = self._clock() + LINGER_S
        for session in [name for name, owner in self._peers.items() if owner is peer]:
            del self._peers[session]
            self._lingering[session] = until

    def expire(self) -> None:
        """Let go of sessions whose writer did not come back; called every now and then."""
        if not self._lingering:
            return
        now = self._clock()
        for name in [name for name, until in self._lingering.items() if until <= now]:
            self._release(self._sessions[name])

    def stop(self) -> None:
        """Let every session go and end the engine."""
        for session in list(self._sessions.values()):
            self._release(session)
        self._engine.stop()

    # --- opening and closing ------------------------------------------------------------------------------

    def _open(self, peer: Peer, command: Open) -> None:
        fence = command.fence
        session = self._sessions.get(fence.session)
        if session is not None and fence.incarnation > session.fence.incarnation:
            self._release(session)
            session = None
        if session is None:
            self._open_new(peer, command)
        elif fence.incarnation < session.fence.incarnation or command.writer_epoch < session.writer_epoch:
            peer.send(Refused(fence, "fenced", "another writer has the session"))
        else:
            self._take_over(peer, command, session)

    def _open_new(self, peer: Peer, command: Open) -> None:
        fence = command.fence
        if len(self._sessions) >= self.descriptor.max_sessions:
            taken = f"all {self.descriptor.max_sessions} places are taken"
            peer.send(Refused(fence, "resource_exhausted", taken, retryable=True))
            return
        try:
            self._engine.open(fence, command.config)
        except EngineRefused as refused:
            peer.send(Refused(fence, refused.code, refused.message, retryable=refused.retryable))
            return
        except Exception:
            log.exception("stage.open_failed", session=fence.session)
            peer.send(Refused(fence, "engine_error", "the engine could not open the session"))
            return
        self._openings += 1
        session = StageSession(fence, command.writer_epoch, f"{self.descriptor.engine}/{self._openings}")
        self._sessions[fence.session] = session
        self._peers[fence.session] = peer
        peer.send(Opened(fence, session.opening))

    def _take_over(self, peer: Peer, command: Open, session: StageSession) -> None:
        again = (
            self._peers.get(command.fence.session) is not peer or command.writer_epoch > session.writer_epoch
        )
        session.writer_epoch = command.writer_epoch
        self._peers[command.fence.session] = peer
        self._lingering.pop(command.fence.session, None)
        self._advance(session, command.fence)
        peer.send(Opened(command.fence, session.opening))
        session.window.taken_over()
        if again:
            for kept in session.retained:
                peer.send(kept.output)

    def _close(self, peer: Peer, command: Close) -> None:
        session = self._sessions.get(command.fence.session)
        if session is not None and command.fence.incarnation == session.fence.incarnation:
            if not self._owns(peer, session):
                return
            self._release(session)
        peer.send(Closed(command.fence))

    def _release(self, session: StageSession) -> None:
        """The place is free only when the engine has let go."""
        name = session.fence.session
        try:
            self._engine.close(session.fence)
        except Exception:
            log.exception("stage.close_failed", session=name)
        del self._sessions[name]
        self._peers.pop(name, None)
        self._lingering.pop(name, None)

    # --- work ---------------------------------------------------------------------------------------------

    def _work(self, peer: Peer, command: Work, *, ask: Callable[..., None]) -> None:
        fence, operation = command.fence, command.operation
        session = self._sessions.get(fence.session)
        if session is None or session.fence.incarnation != fence.incarnation:
            peer.send(Refused(fence, "not_open", "the session is not open at this stage"))
            return
        if not self._owns(peer, session) or session.knows(operation):
            return
        epoch = fence.epoch if is_output_side(command, role=self._role) else None
        if epoch is not None and epoch != session.epoch:
            if epoch < session.epoch:
                stale = Failed("stale_fence", f"epoch {epoch} is over, {session.epoch} is current")
                self._refuse(session, command, epoch, stale)
                return
            self._advance(session, fence)
        if len(session.retained) >= RETAINED_SOFT or not session.window.take(operation, epoch):
            busy = Failed("busy", "too much work of the session is not acknowledged", retryable=True)
            self._refuse(session, command, epoch, busy)
            return
        session.begin(operation, fence, epoch)
        try:
            ask(command)
        except Exception:
            log.exception("stage.operation_failed", session=fence.session, operation=operation)
            self._said(fence, operation, Failed("engine_error", "the engine failed"), True)

    def _refuse(self, session: StageSession, command: Work, epoch: int | None, failed: Failed) -> None:
        output = session.refuse(command.operation, command.fence, epoch, failed)
        self._peers[command.fence.session].send(output)
        self._check_retained(session)

    def _cancel(self, peer: Peer, command: Cancel) -> None:
        fence, following = command.fence, command.next
        if following.epoch <= fence.epoch or following.session != fence.session:
            peer.send(Refused(fence, "bad_cancel", "a cancel names the epoch it voids and a later one"))
            return
        session = self._sessions.get(fence.session)
        if session is not None and session.fence.incarnation == fence.incarnation:
            if not self._owns(peer, session):
                return
            self._advance(session, following)
        peer.send(Cancelled(fence, following))

    def _advance(self, session: StageSession, following: Fence) -> None:
        """Void what precedes `following`; the engine is told only when something moves."""
        if following.epoch <= session.epoch:
            return
        void = Fence(following.session, following.incarnation, session.epoch, following.turn)
        session.advance(following.epoch)
        try:
            self._engine.cancel(void, following)
        except Exception:
            log.exception("stage.cancel_failed", session=following.session)

    def _acknowledge(self, peer: Peer, command: Acknowledge) -> None:
        session = self._sessions.get(command.session)
        if session is not None and self._owns(peer, session):
            session.acknowledged(command.number)

    def _owns(self, peer: Peer, session: StageSession) -> bool:
        if self._peers.get(session.fence.session) is peer:
            return True
        self.dropped_zombie += 1
        return False

    # --- output -------------------------------------------------------------------------------------------

    def _emit(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
        self._post(partial(self._said, fence, operation, body, last))

    def _said(self, fence: Fence, operation: Operation, body: Body, last: bool) -> None:
        session = self._sessions.get(fence.session)
        if session is None or session.fence.incarnation != fence.incarnation:
            self.dropped_late += 1
            return
        output = session.say(operation, body, last=last)
        if output is None:
            self.dropped_late += 1
            return
        peer = self._peers.get(fence.session)
        if peer is not None:
            peer.send(output)
        self._check_retained(session)

    def _check_retained(self, session: StageSession) -> None:
        if len(session.retained) <= RETAINED_HARD and session.retained_bytes <= RETAINED_BYTES_HARD:
            return
        peer = self._peers.get(session.fence.session)
        log.warning("stage.session_let_go", session=session.fence.session, reason="unacknowledged")
        self._release(session)
        if peer is not None:
            peer.send(Refused(session.fence, "unacknowledged", "outputs were not acknowledged"))
