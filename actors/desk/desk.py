"""The stage's side of the contract that every engine shares: what may be done, and what is said of it.

The desk stands between connections (peers) and one engine. It does no I/O and runs on one thread; an engine's
`emit` and its futures may come from any thread and reach it through `post`.

* Work of an earlier epoch is refused with `stale_fence`; output of void work is dropped and counted. The
  user's own words (a voice stage's pieces, whole utterances) are fenced by session and incarnation only.
* A session belongs to the peer that opened it last (sessions.py). A higher writer epoch takes over, and so
  does the same writer on a new connection; both are told again what is not acknowledged. A lower one is
  refused, and what the former peer still sends is dropped: it is a zombie.
* `Opened.engine` names the engine's life and this opening of the session. If it is the one a writer has in
  its log, the session was kept: numbers go on. If not, it is new: numbers start at 1 and nothing is known.
* Opening is whole or nothing: what an opening that failed has left is closed again. Closing takes two steps:
  a session that is let go keeps its place until the engine has really let go of it (departures.py).
* While the engine opens or configures a session, what is asked of the session waits, in order.
* Of a stage that hears in units a second one is refused with `busy` while one is under way.
* A session whose peer is lost is kept for LINGER_S, so that a resumed session finds its place; it gives way
  to one that is opened while there is no other place.
* A session with more than RETAINED_SOFT unacknowledged outputs is given no new work; beyond RETAINED_HARD it
  is let go, with `Refused("unacknowledged")`.
* An engine that has died ends all work under way with `engine_dead`; from then on nothing is taken.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial

import structlog

from antiphon.actors.desk.book import StageSession
from antiphon.actors.desk.calls import Calls, Post
from antiphon.actors.desk.sessions import Sessions
from antiphon.actors.desk.units import what_is_wrong
from antiphon.actors.link.codec import FRAME_LIMIT, cancels_first
from antiphon.actors.link.window import Work, is_output_side, weight_of
from antiphon.actors.stages import descriptor as descriptors
from antiphon.actors.stages.contract import (
    ENGINE_DEAD,
    Acknowledge,
    Body,
    Cancel,
    Cancelled,
    CancelRefused,
    Close,
    ConfigRefused,
    Configure,
    Configured,
    EndTurn,
    Engine,
    EngineDied,
    EngineRefused,
    Failed,
    Listen,
    Open,
    Refused,
    Said,
    Speak,
    StageCommand,
    StageMessage,
)
from antiphon.events.ids import Fence, Operation

RETAINED_SOFT = 1024
RETAINED_HARD = 4096
RETAINED_BYTES_HARD = 64 * 1024 * 1024
LARGEST_OUTPUT = FRAME_LIMIT - 64 * 1024
"""Bytes of audio that one output may hold."""
NOT_OPEN = "the session is not open at this stage"

Send = Callable[[StageMessage], None]

log = structlog.get_logger()


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
        self._desk.sessions.lost(self)


class StageDesk:
    """All sessions of one engine. `on_death` is called once, with the reason, when the engine has died.

    Raises EngineRefused (`runtime_contract_invalid`) for an engine that cannot be served.
    """

    def __init__(
        self,
        engine: Engine,
        post: Post,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_death: Callable[[str], None] = lambda why: None,
    ) -> None:
        descriptors.check(engine)
        self.descriptor = engine.descriptor
        self.dead: str | None = None
        self._role, self._unit_ms = engine.descriptor.role, engine.descriptor.unit_ms
        self._engine = engine
        self._post, self._on_death = post, on_death
        self._calls = Calls(post, self._die)
        self.sessions = Sessions(engine, self._calls, clock, went_on=self._go_on, died=self._die)
        self._of, self._peers = self.sessions.of, self.sessions.peers
        self.dropped_late = 0
        """Outputs that an engine said of work that had ended or was void."""
        self.dropped_zombie = 0
        """Commands of peers whose session had been taken over."""
        self._take: dict[type[StageCommand], Callable[..., None]] = {
            Listen: partial(self._work, ask=engine.listen),
            EndTurn: partial(self._work, ask=engine.end_turn),
            Speak: partial(self._work, ask=engine.speak),
            Acknowledge: self._acknowledge,
            Configure: self._configure,
            Cancel: self._cancel,
            Open: self.sessions.open,
            Close: self._close,
        }
        engine.start(self._emit)

    def connect(self, send: Send) -> Peer:
        return Peer(self, send)

    def __len__(self) -> int:
        """How many places are taken."""
        return len(self.sessions)

    def take(self, peer: Peer, command: StageCommand) -> None:
        """Do one command of `peer`. Never raises: what an engine raises ends that operation or session."""
        if self.dead is None:
            self._take[type(command)](peer, command)

    def expire(self) -> None:
        """Called every now and then: let go of what nobody came back for, try failed cleanups again."""
        if self.dead is None:
            self.sessions.expire()

    def stop(self) -> None:
        """Let every session go and end the engine. Nothing is taken any more."""
        if self.dead is None:
            self.dead = "stopped"
            for session in list(self._of.values()):
                self.sessions.let_go(session)
        self._engine.stop()

    # --- work ---------------------------------------------------------------------------------------------

    def _work(self, peer: Peer, command: Work, *, ask: Callable[..., None]) -> None:
        fence, operation = command.fence, command.operation
        session = self._of.get(fence.session)
        if session is None or session.fence.incarnation != fence.incarnation:
            peer.send(Refused(fence, "not_open", NOT_OPEN))
            return
        if self._peers.get(fence.session) is not peer:
            self.dropped_zombie += 1
            return
        if session.knows(operation):
            return
        epoch = fence.epoch if is_output_side(command, role=self._role) else None
        if epoch is not None and epoch != session.epoch:
            if epoch < session.epoch:
                stale = Failed("stale_fence", f"epoch {epoch} is over, {session.epoch} is current")
                self._refuse(session, command, epoch, stale)
                return
            self.sessions.advance(session, fence)
        wrong, weight = None, 0
        if type(command) is Listen:
            weight = len(command.pcm)
            if self._unit_ms or command.images:
                weight = weight_of(command)
                wrong = self._not_so(session, command)
        if wrong is None and (
            len(session.retained) >= RETAINED_SOFT or not session.window.take(operation, epoch, weight)
        ):
            wrong = Failed("busy", "too much work of the session is not acknowledged", retryable=True)
        if wrong is not None:
            self._refuse(session, command, epoch, wrong)
            return
        session.begin(operation, fence, epoch)
        if session.waiting is not None:
            session.waiting.append(partial(self._ask_after_all, session, command, ask))
            return
        try:
            ask(command)
        except Exception as error:  # noqa: BLE001  # logged there
            self._broke(command, error)

    def _not_so(self, session: StageSession, command: Listen) -> Failed | None:
        """Why this input cannot be given to the engine now, or not at all."""
        wrong = what_is_wrong(command, self.descriptor)
        if wrong is None and self._unit_ms and not command.whole:
            if session.unit in session.under_way:
                return Failed("busy", f"unit {session.unit} of the session is under way", retryable=True)
            session.unit = command.operation
        return wrong

    def _ask_after_all(self, session: StageSession, command: Work, ask: Callable[..., None]) -> None:
        if command.operation not in session.under_way:
            return  # cancelled while it waited
        try:
            ask(command)
        except Exception as error:  # noqa: BLE001  # logged there
            self._broke(command, error)

    def _broke(self, command: Work, error: Exception) -> None:
        if isinstance(error, EngineDied):
            self._die(str(error))
            return
        fence, operation = command.fence, command.operation
        log.error("stage.operation_failed", session=fence.session, operation=operation, exc_info=error)
        self._said(fence, operation, Failed("engine_error", "the engine failed"), True)

    def _refuse(self, session: StageSession, command: Work, epoch: int | None, failed: Failed) -> None:
        output = session.refuse(command.operation, command.fence, epoch, failed)
        self.sessions.tell(session, output)
        if len(session.retained) > RETAINED_HARD:
            self._give_up(session)

    def _go_on(self, session: StageSession) -> None:
        """The engine is done with the session itself: have it do what waited."""
        waiting, session.waiting = session.waiting or deque(), None
        while waiting and self._is_free(session):
            waiting.popleft()()
        if not self._is_free(session):  # the next configuration is not decided yet
            session.waiting = waiting

    def _is_free(self, session: StageSession) -> bool:
        return session.waiting is None and self._of.get(session.fence.session) is session

    # --- configuration, cancels, acknowledgements ---------------------------------------------------------

    def _configure(self, peer: Peer, command: Configure) -> None:
        session = self._mine(peer, command.fence)
        if session is None:
            return
        if not self.descriptor.confirms_config:
            text = "this stage takes a configuration when it opens a session only"
            peer.send(ConfigRefused(command.fence, command.generation, "not_supported", text))
        elif session.waiting is None:
            self._run_by(session, command)
        else:
            session.waiting.append(partial(self._run_by, session, command))

    def _run_by(self, session: StageSession, command: Configure) -> None:
        if session.generation is not None and command.generation <= session.generation:
            self._configured(session, command, None)  # said again, or overtaken: nothing is to be done
            return
        session.waiting = deque()
        call = partial(self._engine.configure, command.fence, command.config)
        self._calls.when(call, partial(self._decided, session, command))

    def _decided(self, session: StageSession, command: Configure, error: BaseException | None) -> None:
        if self.sessions.stays(session):
            if error is None:
                session.generation = command.generation
            self._configured(session, command, error)
            self._go_on(session)

    def _configured(self, session: StageSession, command: Configure, error: BaseException | None) -> None:
        fence, generation = command.fence, command.generation
        match error:
            case None:
                self.sessions.tell(session, Configured(fence, generation))
            case EngineRefused(code=code, message=text):
                self.sessions.tell(session, ConfigRefused(fence, generation, code, text))
            case _:
                log.error("stage.configure_failed", session=fence.session, exc_info=error)
                text = "the engine could not take the configuration"
                self.sessions.tell(session, ConfigRefused(fence, generation, "engine_error", text))

    def _cancel(self, peer: Peer, command: Cancel) -> None:
        fence, following = command.fence, command.next
        if following is None or following.epoch <= fence.epoch or following.session != fence.session:
            peer.send(CancelRefused(fence, "a cancel names the epoch it voids and a later one"))
            return
        session = self._of.get(fence.session)
        if session is not None and session.fence.incarnation == fence.incarnation:
            if not self._owns(peer, session):
                return
            self.sessions.advance(session, following)
        peer.send(Cancelled(fence, following))

    def _close(self, peer: Peer, command: Close) -> None:
        session = self._of.get(command.fence.session)
        if (
            session is None
            or session.fence.incarnation != command.fence.incarnation
            or self._owns(peer, session)
        ):
            self.sessions.close(peer, command)

    def _acknowledge(self, peer: Peer, command: Acknowledge) -> None:
        session = self._of.get(command.session)
        if session is not None and self._owns(peer, session):
            session.acknowledged(command.number)

    def _mine(self, peer: Peer, fence: Fence) -> StageSession | None:
        """The session if it is open and the peer's; the peer is told if it is not open."""
        session = self._of.get(fence.session)
        if session is None or session.fence.incarnation != fence.incarnation:
            peer.send(Refused(fence, "not_open", NOT_OPEN))
            return None
        return session if self._owns(peer, session) else None

    def _owns(self, peer: Peer, session: StageSession) -> bool:
        if self._peers.get(session.fence.session) is peer:
            return True
        self.dropped_zombie += 1
        return False

    # --- output -------------------------------------------------------------------------------------------

    def _emit(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
        self._post(partial(self._said, fence, operation, body, last))

    def _said(self, fence: Fence, operation: Operation, body: Body, last: bool) -> None:
        session = self._of.get(fence.session)
        if session is None or session.fence.incarnation != fence.incarnation:
            self.dropped_late += 1
            return
        if type(body) is Said and len(body.pcm) > LARGEST_OUTPUT:
            body, last = Failed("engine_error", f"an output of {len(body.pcm)} bytes of audio"), True
        output = session.say(operation, body, last=last)
        if output is None:
            self.dropped_late += 1
            return
        peer = self._peers.get(fence.session)
        if peer is not None:
            peer.send(output)
        if len(session.retained) > RETAINED_HARD or session.retained_bytes > RETAINED_BYTES_HARD:
            self._give_up(session)
        if last and type(body) is Failed and body.code == ENGINE_DEAD:
            self._die(body.message)

    def _give_up(self, session: StageSession) -> None:
        """Its writer acknowledges nothing: what is kept for it must not grow for ever."""
        log.warning("stage.session_let_go", session=session.fence.session, reason="unacknowledged")
        refused = Refused(session.fence, "unacknowledged", "outputs were not acknowledged")
        self.sessions.tell(session, refused)
        self.sessions.let_go(session)

    # --- the end of the engine ----------------------------------------------------------------------------

    def _die(self, why: str) -> None:
        """End all that is under way: whoever waits must not wait for ever, and nothing new may begin."""
        if self.dead is not None:
            return
        self.dead = why
        log.error("stage.engine_died", reason=why)
        failed = Failed(ENGINE_DEAD, why, retryable=True)
        for session in list(self._of.values()):
            for operation in list(session.under_way):
                output = session.say(operation, failed, last=True)
                if output is not None:
                    self.sessions.tell(session, output)
        self._on_death(why)
