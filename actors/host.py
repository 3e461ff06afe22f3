"""The sessions of one serving process: actors in an embedded simpleSystemBase, on the process's event loop.

Everything here runs on the loop's thread. The host gives each session its actor, its clock, its timers and
its way to the stages, and routes what stages say to the session they mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import structlog
from msgspec import Struct
from thespian.actors import ActorExitRequest, ActorSystem

from antiphon.events.errors import LogError, NoSuchSession
from antiphon.events.ids import Fence, SessionId
from antiphon.events.store import Log
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Abilities, Config

from .admission import Admission, CannotOpen, Entrance, Places
from .checkpoints import Checkpoints
from .handover import ANSWER_S, Departed, Handover
from .hosted import Hosted
from .link.serving_end import StageLink
from .naming import check_name
from .queueing.reception import Reception, Ticket
from .returning import bring_back
from .revival import fold_in_slices
from .runtime import Sink
from .session import commands
from .session.attachment import resume
from .session.commands import StageRole, TimerName
from .session.life import HANDOVER
from .session.state import Session
from .session_actor import (
    Begin,
    Come,
    End,
    FromStage,
    Leave,
    SessionActor,
    StageBack,
    StageGone,
    Stop,
    TimerDue,
)
from .session_loop import Opening, Watch
from .stages.contract import Acknowledge, Close, Descriptor, Open, StageCommand, StageMessage

log = structlog.get_logger(__name__)

ENDING_S = 1.0


class Identity(Struct, frozen=True):
    """What this process says of itself in every log it writes."""

    code: str
    boot: str
    owner: str
    projections: dict[str, int]

    def writer(self) -> commands.OpenWriter:
        """To open a log with; the epoch is the lease's to say."""
        return commands.OpenWriter(
            writer_epoch=0, code=self.code, boot=self.boot, projections=self.projections
        )


def _kind(able: Abilities) -> tuple[str, str, int]:
    """What a stage must be to go on with another's sessions."""
    return able.stage, able.hears, able.unit_ms


class SessionHost:
    """Opens sessions and keeps them. Made on a running event loop; `close` ends it."""

    def __init__(
        self,
        store: Log,
        checkpoints: Checkpoints,
        sockets: Mapping[str, str],
        identity: Identity,
        admission: Admission = Admission(),
        watching: Callable[[], Watch] | None = None,
        places: Places | None = None,
        handover: Handover | None = None,
    ) -> None:
        """`watching` makes a session's watch. `places` and `handover` are there where other processes
        are."""
        self._watching = watching
        self._log, self._identity, self._terms = store, identity, admission.terms
        self._handover, self._checkpoints = handover, checkpoints
        self._loop = asyncio.get_running_loop()
        self._system = ActorSystem("simpleSystemBase", logDefs=False, transientUnique=True)
        self._sessions: dict[SessionId, Hosted] = {}
        self._wall_ns = 0
        self._empty = asyncio.Event()
        self._departed = Departed(self._close_at_stages)
        self.links: dict[StageRole, StageLink] = {}
        self._entrance = Entrance(self.links, admission, places)
        self.reception = Reception(self._entrance, time.monotonic_ns, alone=self._entrance.places.alone)
        roles: tuple[StageRole, ...] = ("model", "voice")
        for role in roles:
            if role in sockets:
                self.links[role] = StageLink.connect(
                    sockets[role],
                    self._hear(role),
                    on_ready=self._welcome(role),
                    on_lost=self._lose(role),
                    role=role,
                )

    # --- sessions -----------------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        return len(self._sessions)

    @property
    def live_everywhere(self) -> int:
        """The sessions of all serving processes."""
        return self._entrance.places.taken

    @property
    def model(self) -> Descriptor | None:
        """The model stage's descriptor, once it is ready."""
        return self.links["model"].descriptor

    @property
    def ready(self) -> bool:
        return self._entrance.ready

    def abilities(self) -> Abilities:
        """What a session opened now can do. Raises CannotOpen while a configured stage is not ready."""
        return self._entrance.abilities()

    def open(
        self,
        sink: Sink,
        config: Config,
        attach: commands.Attach,
        *,
        mode: str,
        principal: str | None,
        ticket: Ticket | None = None,
    ) -> Hosted:
        """Open a session for an attachment, which is told everything from its first event on.

        `ticket`: what its client got at the reception, with the place and the name that it wants the session
        to have. Raises CannotOpen; nothing was opened then.
        """
        abilities = self.abilities()
        if ticket is None:
            self._entrance.take_place()
        session = SessionId(f"sess_{secrets.token_hex(12)}") if ticket is None else ticket.session
        asked = commands.OpenSession(
            incarnation=0,
            mode=mode,
            abilities=abilities,
            config=config,
            principal=principal,
            terms=self._terms,
        )
        return self._host(self._opening(session, asked), sink, attach, principal)

    async def resume(self, sink: Sink, session: SessionId, asked: commands.Resume) -> Hosted:
        """Bind an attachment to a session that has begun, here, in another process or in one that is no more.

        Whether it may is decided in the session: where not, `sink` is told. Raises CannotOpen, and Refused
        where that is known without going on with the session.
        """
        hosted = self._sessions.get(session)
        if hosted is None:
            opening, admitted = await self._revive(session, asked)
            hosted = self._sessions.get(session)  # somebody else may have been quicker
            if hosted is None:
                self._entrance.take_place(admitted=admitted)
                return self._host(opening, sink, asked, asked.principal)
        hosted.tell(Come(sink, asked))
        return hosted

    async def _revive(self, session: SessionId, asked: commands.Resume) -> tuple[Opening, bool]:
        """What to go on with a session that is not served here, and whether another process let it go for
        that. Until whoever asks has shown that they may, nothing of it changes."""
        gone = CannotOpen("session_resume_expired", "there is no such session, or not any more")
        try:
            if self._log.head(session).sealed:
                raise gone
            state = await fold_in_slices(self._checkpoints, session)
        except NoSuchSession:
            raise gone from None
        except LogError as error:
            log.warning("session.not_revived", session=session, code=error.code)
            raise CannotOpen("session_resume_expired", "the session's log cannot be read") from error
        if state.phase != "open":
            raise gone
        resume(state, asked, self.now())
        able = self.abilities()
        if _kind(able) != _kind(state.abilities):
            told = f"the session was with {state.abilities.stage}, and here is {able.stage}"
            raise CannotOpen("session_resume_conflict", told)
        let_go = self._handover is not None and await self._handover.fetch(session)
        return self._opening(session, None, state), let_go

    async def check_name(self, session: SessionId, mode: str, principal: str | None) -> None:
        """Whether a client may open a session of that name; one that is here is given a moment to be over, as
        its client may just have gone. Raises CannotOpen."""
        hosted = self._sessions.get(session)
        if hosted is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hosted.gone.wait(), ENDING_S)
        check_name(self._log, session, mode, principal)

    def end(self, session: SessionId, mode: str, principal: str | None) -> bool:
        """End a session as its client would. Whether there is one of that mode here, of that principal."""
        hosted, served = self._sessions.get(session), self.reception.queue.served.get(session)
        if hosted is None or served is None or (served.mode, hosted.principal) != (mode, principal):
            return False
        hosted.tell(End("client"))
        return True

    async def hand_over(self, session: SessionId) -> bool:
        """Let a session go, for another process. Whether it was here."""
        hosted = self._sessions.get(session)
        if hosted is None:
            return False
        incarnation = self._log.head(session).incarnation
        hosted.tell(Leave(HANDOVER))
        try:
            await asyncio.wait_for(hosted.gone.wait(), ANSWER_S)
        except TimeoutError:
            return False
        self._departed.went(session, incarnation)
        return True

    def _opening(
        self, session: SessionId, asked: commands.OpenSession | None, folded: Session | None = None
    ) -> Opening:
        identity = self._identity
        watch = None if self._watching is None else self._watching()
        return Opening(
            session,
            self._log,
            self,
            identity.owner,
            identity.writer(),
            asked,
            folded,
            watch,
            self._checkpoints,
        )

    def _host(
        self, opening: Opening, sink: Sink, asked: commands.Attach | commands.Resume, principal: str | None
    ) -> Hosted:
        address = self._system.createActor(SessionActor)
        senders = {role: self.sender(role) for role in self.links}
        hosted = Hosted(opening.session, address, principal, self.teller(address), senders)
        self._sessions[opening.session] = hosted
        asked_mode = opening.open_session or opening.folded
        self.reception.began(opening.session, "" if asked_mode is None else asked_mode.mode)
        self._departed.came(opening.session)
        self._empty.clear()
        hosted.tell(Begin(opening, sink, asked))
        return hosted

    def teller(self, address: Any) -> Callable[[object], None]:
        """Sends an actor of this process a message. It is handled before the call returns."""
        return partial(self._system.tell, address)

    async def drain(self, reason: str, seconds: float) -> None:
        """Park every session, or end those to which nobody may come back; wait until that is done, or
        `seconds` have passed."""
        if not self._sessions:
            return
        for hosted in tuple(self._sessions.values()):
            hosted.tell(Leave(reason))
        try:
            await asyncio.wait_for(self._empty.wait(), seconds)
        except TimeoutError:
            log.warning("host.sessions_left_open", count=self.live)

    def close(self) -> None:
        for hosted in tuple(self._sessions.values()):
            hosted.tell(Stop())
        for link in self.links.values():
            link.close()
        self._system.shutdown()

    # --- the Runtime of its actors ------------------------------------------------------------------------

    def now(self) -> Moment:
        wall_ns = time.time_ns()
        if wall_ns > self._wall_ns:
            self._wall_ns = wall_ns
        return Moment(time.monotonic_ns(), self._wall_ns)

    def later(self, session: SessionId, due_mono_ns: int, name: TimerName) -> None:
        seconds = max(due_mono_ns - time.monotonic_ns(), 0) / 1e9
        self._loop.call_later(seconds, self._fire, session, name)

    def _fire(self, session: SessionId, name: TimerName) -> None:
        hosted = self._sessions.get(session)
        if hosted is not None:
            hosted.tell(TimerDue(name))

    def to_stage(self, stage: StageRole, command: StageCommand) -> None:
        session = command.session if isinstance(command, Acknowledge) else command.fence.session
        hosted = self._sessions.get(session)
        if hosted is not None:
            hosted.queues[stage].put(command)
            if hosted.held and type(command) is Acknowledge and not hosted.behind:
                hosted.relieve()

    def hold(self, session: SessionId, held: bool) -> None:
        hosted = self._sessions.get(session)
        if hosted is not None:
            hosted.wait_for_log(held)

    def sender(self, role: StageRole) -> Callable[[StageCommand], None]:
        link = self.links[role]

        def send(command: StageCommand) -> None:
            if link.state == "ready":
                link.send(command)
            elif isinstance(command, Open | Close):
                # The stage is gone: whoever waits for its answer must hear so, but not from inside a turn.
                self._loop.call_soon(self._missed, command.fence.session, role, link.detail)

        return send

    def _close_at_stages(self, fence: Fence) -> None:
        for link in self.links.values():
            if link.state == "ready":
                link.send(Close(fence, HANDOVER))

    def ended(self, session: SessionId) -> None:
        hosted = self._sessions.pop(session, None)
        if hosted is None:
            return
        for link in self.links.values():
            link.forget(session)
        hosted.relieve()
        hosted.gone.set()
        self.reception.ended(session)
        # Not from inside the actor's own turn.
        self._loop.call_soon(self._system.tell, hosted.address, ActorExitRequest())
        if not self._sessions:
            self._empty.set()

    # --- what stages say ----------------------------------------------------------------------------------

    def _hear(self, role: StageRole) -> Callable[[StageMessage], None]:
        def hear(message: StageMessage) -> None:
            hosted = self._sessions.get(message.fence.session)
            if hosted is not None:
                hosted.tell(FromStage(role, message))

        return hear

    def _welcome(self, role: StageRole) -> Callable[[Descriptor], None]:
        def welcome(descriptor: Descriptor) -> None:
            if self._sessions:
                log.info("stage.returned", stage=role, engine=descriptor.engine)
            bring_back(self._loop, self.links[role], self._sessions, StageBack(role))
            self.reception.go_on()

        return welcome

    def _lose(self, role: StageRole) -> Callable[[str], None]:
        def lose(reason: str) -> None:
            log.error("stage.lost", stage=role, reason=reason)
            for session in tuple(self._sessions):
                self._tell_gone(session, role, reason)

        return lose

    def _missed(self, session: SessionId, role: StageRole, reason: str) -> None:
        """A stage was gone when it was told something; by now it may be back."""
        self._tell_gone(session, role, reason)
        hosted = self._sessions.get(session)
        if hosted is not None and self.links[role].state == "ready":
            hosted.tell(StageBack(role))

    def _tell_gone(self, session: SessionId, role: StageRole, reason: str) -> None:
        hosted = self._sessions.get(session)
        if hosted is not None:
            hosted.queues[role].forget()
            hosted.relieve()
            hosted.tell(StageGone(role, reason))
