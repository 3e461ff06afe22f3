"""One session's loop: decide, append, fold; then, when the log has it, carry out the effects and publish.

    Command -> decide(state, command) -> [Event] -> log.append -> evolve(state) -> on Ack: effects, publish

Plain Python on one thread: the actor around it supplies messages and the guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import structlog
from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.envelope import Stored
from antiphon.events.errors import Fenced, LogError, NoSuchSession, Sealed, TooLarge
from antiphon.events.ids import ItemId, SessionId
from antiphon.events.store import Expect, Log
from antiphon.events.vocabulary import InputAppended, WriterOpened

from .checkpoints import Checkpoints, next_after
from .ledger import Asked, Guard, Ledger, Then
from .runtime import Published, Retrieved, Runtime, Sink
from .session import commands, refusals
from .session.commands import TimerName
from .session.decide import decide, refused
from .session.effects import STAGES, Effect
from .session.input import needed_from
from .session.state import Session
from .session.timers import timers
from .stage_port import StagePort, as_command
from .stages.contract import Acknowledge, Close, Output, StageMessage

log = structlog.get_logger(__name__)

MOST_REOPENS = 3
"""Reopenings in a row, with nothing but WriterOpened stored between, before the session is given up."""


_OF_THE_ATTACHMENT = (
    commands.Detach,
    commands.ReportSent,
    commands.AcknowledgeEvents,
    commands.ConfirmClient,
    commands.KeepAlive,
)


Watch = Callable[[Stored], None]
"""Told of each event once it is in the log, in order. It must neither block nor raise."""


class Opening(Struct, frozen=True):
    """What a session needs to begin. `open_session` is None where a log is to be recovered; `folded` is what
    is known of that log already. Without `checkpoints` none are made."""

    session: SessionId
    log: Log
    runtime: Runtime
    owner: str
    writer: commands.OpenWriter
    open_session: commands.OpenSession | None = None
    folded: Session | None = None
    watch: Watch | None = None
    checkpoints: Checkpoints | None = None


class SessionLoop:
    """The state of one live session and everything that may happen to it."""

    def __init__(self, opening: Opening, guard: Guard) -> None:
        self.id = opening.session
        self.over = False
        self._why_over = ("session_closed", "the session has ended")
        self._opening, self._runtime = opening, opening.runtime
        self._port = StagePort(opening.log, opening.runtime.to_stage)
        self._ledger = Ledger(
            opening.session,
            opening.log,
            owner=opening.owner,
            release=self._release,
            failed=self._append_failed,
            guard=guard,
        )
        self._sinks: dict[int, Sink] = {}
        self._armed: dict[TimerName, int] = {}
        self._timed = Session(opening.session)
        """The state that timers were last armed for."""
        self._checkpoint_due = next_after(0 if opening.folded is None else opening.folded.seq)
        self._reopened = 0
        self._recovering = self._held = False

    # --- beginning, recovering, ending --------------------------------------------------------------------

    def begin(self) -> None:
        """Open a new log, or recover an existing one. Raises LogError when there is no writing to it."""
        opening = self._opening.open_session
        if opening is None:
            self._recover(folded=self._opening.folded)
            if self._ledger.state.phase == "new":
                raise NoSuchSession(self.id)  # the writer before us got no further than its own name
            return
        self._ledger.open(Expect.NEW)
        self._do(Asked(self._writer()))
        lease = self._ledger.lease
        if lease is not None:
            self._do(Asked(replace(opening, incarnation=lease.incarnation)))

    def _writer(self) -> commands.OpenWriter:
        lease = self._ledger.lease
        epoch = 0 if lease is None else lease.writer_epoch
        return replace(self._opening.writer, writer_epoch=epoch, alone=not self._sinks)

    def _append_failed(self, error: LogError, asked: Asked) -> None:
        log.warning("session.append_failed", session=self.id, code=error.code)
        if isinstance(error, Fenced | Sealed):
            self.give_up(error.code, "the session goes on elsewhere, or has ended")
        elif not self._recovering:
            self._recover(asked if isinstance(error, TooLarge) else None)

    def _recover(self, too_large: Asked | None = None, folded: Session | None = None) -> None:
        """Open anew; publish what was not; decide again what did not land.

        The new writer's first event asks again what is outstanding. A command whose facts are `too_large`
        for the log is refused instead of being decided again; where it is the opening, there is no session.
        """
        self._recovering = True
        lost: list[Asked] = []
        while self._ledger.lease is None:
            self._reopened += 1
            if self._reopened > MOST_REOPENS:
                self.give_up("log_unavailable", "the session's log cannot be written")
                return
            found = self._ledger.open(Expect.RESUME, folded)
            lost += found.lost
            if found.unseen:
                for sink in tuple(self._sinks.values()):
                    sink.publish(found.unseen)
            for then in found.then:
                then()
            self._do(Asked(self._writer()))
        self._recovering = False
        for asked in lost:
            if asked is too_large:
                self._too_large(asked)
            elif not isinstance(asked.command, commands.OpenWriter):
                self._do(asked)
        self._pace()
        self._seal_if_over()

    def _too_large(self, asked: Asked) -> None:
        refusal = refusals.TooLarge("this is too large to be kept")
        if isinstance(asked.command, commands.OpenSession):
            self.give_up(refusal.code, refusal.message)
        else:
            self._refuse(asked, refusal)

    def give_up(self, code: str, message: str) -> None:
        """The session cannot go on here. Its log stays as it is; clients are told outside of it."""
        if self.over:
            return
        self.over, self._why_over = True, (code, message)
        for sink in self._sinks.values():
            sink.abort(code, message)
        state = self._ledger.settled
        for stage in STAGES:
            if stage in state.holding:  # nobody will ask again: its place must not stay taken
                self._runtime.to_stage(stage, Close(state.fence, code))
        self._ledger.give_up()
        self._runtime.ended(self.id)

    def end(self, reason: str) -> None:
        if self._ledger.state.phase == "open":
            self._do(Asked(commands.CloseSession(reason=reason)))

    def park(self, reason: str) -> None:
        """The process stops: leave the log to the next writer, once everything that was asked is in it."""
        self._do(Asked(commands.Park(reason=reason)))
        self._ledger.after((self._leave,))

    def _leave(self) -> None:
        if not self.over and self._ledger.settled.phase == "open":
            self._keep_state()
            self.stop()
            self._runtime.ended(self.id)

    def stop(self) -> None:
        """Write no more."""
        self.over = True
        self._ledger.give_up()

    def _seal_if_over(self) -> None:
        """Seal once nothing more can be said: ended, stages let go, nobody connected here."""
        state = self._ledger.state
        if state.phase != "closed" or state.holding or self._sinks or self.over:
            return
        if self._ledger.idle and self._ledger.lease is not None:
            self.over = True
            self._ledger.seal("ended")
            self._runtime.ended(self.id)

    # --- what may happen ----------------------------------------------------------------------------------

    def join(self, sink: Sink, attach: commands.Attach) -> None:
        """Bind an attachment; it is told everything from the beginning of the log."""
        if self.over:
            sink.abort(*self._why_over)
            return
        number = self._ledger.state.attached.count + 1
        self._sinks[number] = sink
        sink.publish(self._ledger.released())
        self._do(Asked(attach, number), sink)
        if self._ledger.state.attached.current != number:
            self._sinks.pop(number, None)

    def resume(self, sink: Sink, command: commands.Resume) -> None:
        """Bind an attachment in the place of the one before. It is published to from ClientResumed on; what
        was before it reads in the log."""
        code, told = self._why_over
        if code == "session_closed" and (self.over or self._ledger.state.phase == "closed"):
            code = "session_resume_expired"
        if self.over or self._ledger.state.phase == "closed":
            sink.abort(code, told)
            return
        number = self._ledger.state.attached.count + 1
        self._sinks[number] = sink
        self._do(Asked(command, number), sink)

    def ask(self, sink: Sink, command: commands.Command) -> None:
        """A client's command. Its attachment's number is ours to know."""
        number = 0
        for known_number, known in self._sinks.items():  # of every frame: a generator takes twice as long
            if known is sink:
                number = known_number
        if not number:
            return  # it was told that it is not, or no more, one of us
        if isinstance(command, _OF_THE_ATTACHMENT):
            command = replace(command, attachment=number)
        elif isinstance(command, commands.AppendAudio) and command.sent is not None:
            command = replace(command, sent=replace(command.sent, attachment=number))
        self._do(Asked(command, number), sink)
        if isinstance(command, commands.Detach):
            self._sinks.pop(number, None)
            self._seal_if_over()

    def retrieve(self, sink: Sink, item: ItemId, client_event: str | None) -> None:
        """Answer with the item as it stands once everything asked before is in the log."""

        def answer() -> None:
            state = self._ledger.settled
            entry = state.entry(item)
            if entry is None:
                sink.refuse("item_not_found", f"no item {item}", client_event, "item_id")
            else:
                sink.answer(Retrieved(entry, state))

        self._ledger.after((answer,))

    def stage_said(self, stage: commands.StageRole, message: StageMessage) -> None:
        """A stage's word; an output is acknowledged to the stage when what it amounts to is in the log."""
        command = as_command(stage, message)
        then: tuple[Then, ...] = ()
        if type(message) is Output:
            then = (partial(self._runtime.to_stage, stage, Acknowledge(self.id, message.number)),)
        if command is None:
            self._ledger.after(then)
        else:
            self._do(Asked(command, 0, then))

    def stage_gone(self, stage: commands.StageRole, reason: str) -> None:
        if stage in self._ledger.state.holding:
            self._do(Asked(commands.RecordStage(stage=stage, what="away", message=reason)))

    def stage_back(self, stage: commands.StageRole) -> None:
        self._do(Asked(commands.RecordStage(stage=stage, what="returned")))

    def timer_due(self, name: TimerName) -> None:
        self._armed.pop(name, None)
        self._timed = Session(self.id)
        self._do(Asked(commands.FireTimer(name=name)))
        self._arm()

    # --- the loop -----------------------------------------------------------------------------------------

    def _do(self, asked: Asked, sink: Sink | None = None) -> None:
        if self.over:
            return
        try:
            decision = decide(self._ledger.state, asked.command, self._runtime.now(), asked.attachment)
        except refusals.Refused as refusal:
            self._refuse(asked, refusal, sink)
            return
        if decision.drafts:
            self._ledger.record(decision, asked)
            self._arm()
            self._pace()
        else:
            self._ledger.after(asked.then)

    def _pace(self) -> None:
        """Have no more asked while the log is far behind."""
        behind = self._ledger.is_behind
        if behind is not self._held:
            self._held = behind
            self._runtime.hold(self.id, behind)

    def _refuse(self, asked: Asked, refusal: refusals.Refused, sink: Sink | None = None) -> None:
        if isinstance(asked.command, commands.Resume):
            self._sinks.pop(asked.attachment).abort(refusal.code, refusal.message)
            return
        client_event, now = asked.command.client_event, self._runtime.now()
        decision = refused(self._ledger.state, refusal, asked.attachment, client_event, now)
        if decision.drafts:
            self._ledger.record(decision, asked)
            self._arm()
        else:
            if sink is not None:
                sink.refuse(refusal.code, refusal.message, client_event, refusal.parameter)
            self._ledger.after(asked.then)
        if isinstance(asked.command, commands.AppendAudio) and asked.command.sent is not None:
            self._do(Asked(asked.command.sent, asked.attachment))  # it only travelled along

    def _release(self, published: Sequence[Published], effects: tuple[Effect, ...]) -> None:
        if type(published[0].stored.event) is not WriterOpened:
            self._reopened = 0
        heard, watch = None, self._opening.watch
        for one in published:
            event = one.stored.event
            if watch is not None:
                watch(one.stored)
            if type(event) is InputAppended and one.payload is not None:
                heard = one.payload
                self._keep(event.until_sample, heard)
        # Effects first: a model begins while what it is about is still being put into its clients' words.
        for effect in effects:
            self._port.perform(effect, self._ledger.state, heard)
        for sink in tuple(self._sinks.values()):
            sink.publish(published)
        if published[-1].stored.seq >= self._checkpoint_due:
            self._keep_state()
        self._pace()
        self._seal_if_over()

    def _keep_state(self) -> None:
        """For whoever goes on with the session."""
        settled, checkpoints = self._ledger.settled, self._opening.checkpoints
        self._checkpoint_due = next_after(settled.seq)
        if checkpoints is not None:
            checkpoints.keep_state(settled)

    def _keep(self, until: int, pcm: bytes) -> None:
        """Hold input at hand as long as a stage may be given it."""
        needed = needed_from(self._ledger.state)
        if until > needed:
            self._port.window.add(until, pcm)
        self._port.window.forget_before(needed)

    def _arm(self) -> None:
        """Have the runtime wake us for every armed timer; a later due is found out when the earlier fires."""
        state, timed = self._ledger.state, self._timed
        same = state.voice is timed.voice and state.played is timed.played and state.config is timed.config
        same = same and state.units is timed.units and state.proposals is timed.proposals
        same = same and state.lease is timed.lease and state.away is timed.away
        same = same and state.opening is timed.opening and state.own is timed.own
        if same and state.turns.active is timed.turns.active and state.input is timed.input:
            return  # what timers depend on is as it was; more input only makes them later
        self._timed = state
        for name, due in timers(state).items():
            armed = self._armed.get(name)
            if armed is None or due < armed:
                self._armed[name] = due
                self._runtime.later(self.id, due, name)
