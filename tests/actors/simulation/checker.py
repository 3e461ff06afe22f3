"""What must be true of a run, whatever happened in it.

Shares no code with decide and evolve, save one comparison: the live state must be what the log folds to. It
reads what is stored, what was shown and when, what was asked, and what the stages said.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from antiphon.actors.session import commands as c
from antiphon.actors.session.commands import StageRole
from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.actors.stages.contract import (
    Acknowledge,
    Configure,
    EndTurn,
    Failed,
    Listen,
    Open,
    Output,
    Said,
    Speak,
    StageCommand,
    StageMessage,
)
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.errors import NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.store import Log

from ..session.books import Books
from ..session.laws import check_events, check_frames

if TYPE_CHECKING:
    from .customer import Attendance
    from .world import World

FACTS: dict[type[c.Command], Callable[[v.Event], bool]] = {
    c.CommitInput: lambda event: isinstance(event, v.InputCommitted) and event.by == "client",
    c.ClearInput: lambda event: isinstance(event, v.InputCleared),
    c.CreateResponse: lambda event: isinstance(event, v.ResponseCreated) and event.metadata is not None,
    c.CancelResponse: lambda event: _moved(event, "client_cancelled"),
    c.BargeIn: lambda event: _moved(event, "barge_in"),
    c.CancelInput: lambda event: _moved(event, "input_cancelled"),
    c.TruncateItem: lambda event: isinstance(event, v.ItemTruncated),
    c.AddItem: lambda event: isinstance(event, v.ItemAdded),
    c.RemoveItem: lambda event: isinstance(event, v.ItemRemoved),
    c.Configure: lambda event: (
        isinstance(event, v.SessionConfigured | v.ConfigProposed) and event.client_event is not None
    ),
}
"""What a client's wish becomes when it is not refused, once for each wish."""


class Life:
    """What one connection asked for, in order."""

    def __init__(self, attendance: Attendance, began_at: int) -> None:
        self.attendance, self.began_at = attendance, began_at
        self.asked: list[c.Command] = []


class Checker:
    """Of one session, through all lives of its process."""

    def __init__(self, store: Log, session: SessionId) -> None:
        self._store, self._session = store, session
        self._log: list[Stored] = []
        self._lives: list[Life] = []
        self._said: dict[tuple[StageRole, int, int], Output] = {}
        """Every output that ever reached the server, by stage, operation and index."""
        self._unacknowledged: dict[StageRole, list[Output]] = {"model": [], "voice": []}
        self._books = Books()
        self._entered = 0

    def log(self) -> list[Stored]:
        """What is stored now."""
        with contextlib.suppress(NoSuchSession):
            self._log += self._store.read(self._session, start=len(self._log))
        return self._log

    # --- while it runs ------------------------------------------------------------------------------------

    def life(self, attendance: Attendance) -> None:
        self._unacknowledged = {"model": [], "voice": []}
        self._lives.append(Life(attendance, len(self.log())))

    def asked(self, attendance: Attendance, command: c.Command) -> None:
        assert self._lives[-1].attendance is attendance
        self._lives[-1].asked.append(command)

    def heard(self, stage: StageRole, message: StageMessage) -> None:
        if not isinstance(message, Output):
            return
        self._unacknowledged[stage].append(message)
        if isinstance(message.body, Failed):
            return  # refused at the desk: not what the script says
        key = (stage, message.operation, message.index)
        first = self._said.setdefault(key, message)
        assert first.body == message.body, "the stage of this world says the same again"

    def acknowledged(self, stage: StageRole, command: Acknowledge, known: int) -> None:
        """The stage may forget these: then the log must hold what they said."""
        log = self.log()[:known]
        waiting = self._unacknowledged[stage]
        done = [output for output in waiting if output.number <= command.number]
        self._unacknowledged[stage] = [output for output in waiting if output.number > command.number]
        if not any(isinstance(o.body, Said) and (o.body.text or o.body.pcm) for o in done):
            return
        if any(isinstance(stored.event, v.SessionClosed | v.SessionFailed) for stored in self.log()):
            return  # nothing is said after the end
        held = {
            (stored.event.operation, stored.event.index)
            for stored in log
            if isinstance(stored.event, v.TextSpoken | v.AudioSpoken | v.StageOutputDropped)
        } | {(stored.event.operation, 0) for stored in log if isinstance(stored.event, v.ModelListened)}
        for output in done:
            if isinstance(output.body, Said) and (output.body.text or output.body.pcm):
                assert (output.operation, output.index) in held or self._voiceless(output), (
                    f"{output.operation}/{output.index} acknowledged and nowhere in the log"
                )

    def _voiceless(self, output: Output) -> bool:
        """Audio alone, for an answer that was asked for as text."""
        body = output.body
        return isinstance(body, Said) and not body.text and self._text_only(output.operation)

    def _text_only(self, operation: int) -> bool:
        asked = self._log[operation].event
        if not isinstance(asked, v.UnitSubmitted) or asked.work != "speak":
            return False
        created = [stored.event for stored in self._log if isinstance(stored.event, v.ResponseCreated)]
        return any("audio" not in one.modalities for one in created if one.response == asked.response)

    def after_step(self, commanded: Sequence[StageCommand], known: int) -> None:
        """Nothing was asked of a stage before it was stored; a new writer asked all that was outstanding."""
        for command in commanded:
            if isinstance(command, Listen | Speak | EndTurn):
                assert command.operation < known, f"{command.operation} asked before it was stored"
        log = self.log()
        for command in commanded:
            if isinstance(command, Listen):
                assert command.pcm == self._audio_of(command.operation), "other audio than was asked for"
        while self._entered < min(known, len(log)):
            stored = log[self._entered]
            self._books.enter(stored)
            self._entered += 1
            if isinstance(stored.event, v.WriterOpened) and not self._overtaken(stored):
                self._asked_again(commanded)

    def _audio_of(self, operation: int) -> bytes:
        """The input that an operation is about."""
        asked = self._log[operation].event
        silence = b""
        if isinstance(asked, v.UnitSubmitted):
            start, until, silence = asked.from_sample, asked.until_sample, bytes(2 * asked.silence)
        else:
            assert isinstance(asked, v.InputAppended)
            start, until = asked.until_sample - asked.samples, asked.until_sample
        pieces = [stored for stored in self._log if isinstance(stored.event, v.InputAppended)]
        sound = b"".join(
            self._store.read_blob(self._session, stored.blob) for stored in pieces if stored.blob is not None
        )
        return sound[2 * start : 2 * until] + silence

    def _overtaken(self, opened: Stored) -> bool:
        """Whether yet another writer came before this one could do anything."""
        later = self._log[opened.seq + 1 :]
        return any(isinstance(stored.event, v.WriterOpened) for stored in later) or (
            self._lives[-1].attendance.aborted is not None
        )

    def _asked_again(self, commanded: Sequence[StageCommand]) -> None:
        operations = {
            command.operation for command in commanded if isinstance(command, Listen | Speak | EndTurn)
        }
        opened = sum(isinstance(command, Open) for command in commanded)
        for what, *named in self._books.open():
            match what:
                case "open":
                    assert opened >= 1, "a new writer opens its stages again"
                case "configure":
                    assert any(isinstance(command, Configure) for command in commanded)
                case "recognise" | "answer" | "end turn" | "unit":
                    assert named[0] in operations, f"{what} {named[0]} was not asked again"
                case "hear again":
                    stage, first = named
                    pieces = {
                        stored.seq
                        for stored in self._log[: self._entered]
                        if isinstance(stored.event, v.InputAppended)
                        and (stored.event.until_sample > first if stage == "voice" else stored.seq >= first)
                    }
                    assert pieces <= operations, f"{stage} was not given {pieces - operations} again"

    # --- at the end ---------------------------------------------------------------------------------------

    def at_rest(self, world: World) -> None:
        """Nothing is under way any more and nothing has gone wrong since."""
        log = self.log()
        self._whole(log)
        events = [stored.event for stored in log]
        if any(isinstance(event, v.SessionFailed | v.SessionClosed) for event in events):
            return
        self._refolds(world)
        self._timers_fired(events)
        left = {name for name in self._books.open() if name[0] != "open"}
        assert not left, f"still outstanding at rest: {left}"
        created = sum(isinstance(event, v.ResponseCreated) for event in events)
        ended = sum(isinstance(event, v.ResponseEnded) for event in events)
        if world.plan.hears == "utterances":
            assert created == ended, "a response without an end"
        for stage in world.stages.values():
            for session in stage.desk.sessions.of.values():
                assert not session.retained, "outputs that nobody acknowledged"

    def _timers_fired(self, events: Sequence[v.Event]) -> None:
        """Nobody speaks for ever, and what was sent whole has been heard whole or otherwise accounted for."""
        speaking = False
        generated: dict[str, int] = {}
        due: set[str | None] = set()
        told: set[str | None] = set()
        for event in events:
            match event:
                case v.SpeechStarted():
                    speaking = True
                case v.SpeechStopped() | v.InputCleared() | v.InputCommitted(by="client"):
                    speaking = False
                case v.SessionConfigured(config=config) if config.turn_detection is None:
                    speaking = False
                case v.AudioSpoken(response=response, until_sample=until):
                    generated[response] = until
                    due.discard(response)
                case v.FramesSent(audio=audio):
                    due |= {sent.response for sent in audio if sent.until_sample == generated[sent.response]}
                case v.PlaybackEstimated(response=response):
                    due.discard(response)
                case v.PlaybackAcknowledged(response=response) | v.ItemTruncated(response=response):
                    told.add(response)
                case v.EpochAdvanced():
                    told |= set(generated)
        assert not speaking, "speech that never stopped"
        created = [event.response for event in events if isinstance(event, v.ResponseCreated)][-2:]
        ended = {event.response for event in events if isinstance(event, v.ResponseEnded)}
        assert not (due - told) & ended & set(created), "sent, and never accounted for as heard"

    def over(self, world: World) -> None:
        """The session ended by itself in the middle of the run."""
        self._whole(self.log())

    def closed(self, world: World) -> None:
        """The client has left and everything has been tidied up."""
        log = self.log()
        self._whole(log)
        assert any(isinstance(stored.event, v.SessionClosed | v.SessionFailed) for stored in log)
        assert world.process.over, "the host was not told that the session is over"
        assert self._store.head(self._session).sealed
        for role, stage in world.stages.items():
            line = world.process.lines[role]
            assert not line.up or len(stage.desk) == 0, f"the {role} stage still holds the session"

    def _whole(self, log: list[Stored]) -> None:
        check_events(log)
        check_frames(log)
        self._shown(log)
        self._units(log)
        for life, following in zip(self._lives, [*self._lives[1:], None], strict=True):
            stop = len(log) if following is None else following.began_at
            self._wishes(life, log[life.began_at : stop], last=following is None)

    def _refolds(self, world: World) -> None:
        live = world.live_state()
        if live is None:
            return
        state = Session(self._session)
        for stored in self.log():
            state = refold(state, stored)
        assert live == state, "the live state is not what the log folds to"

    def _shown(self, log: list[Stored]) -> None:
        """Whoever was connected was shown the log from its beginning, without a gap (see Attendance)."""
        for life in self._lives:
            seen = [one.stored for one in life.attendance.seen]
            assert seen == log[: len(seen)]
        last = self._lives[-1].attendance
        if last.aborted is None and not last.over:
            assert len(last.seen) == len(log)
        for one in last.seen:
            if one.stored.blob is not None:
                assert one.payload == self._store.read_blob(self._session, one.stored.blob)

    def _units(self, log: list[Stored]) -> None:
        """What the log holds of an answer is what the stage said: each piece once, none left out."""
        silent = {
            event.response
            for event in (stored.event for stored in log)
            if isinstance(event, v.ResponseCreated) and "audio" not in event.modalities
        }
        finished = {stored.event.operation for stored in log if isinstance(stored.event, v.UnitCompleted)}
        held: dict[int, dict[int, tuple[str, bytes]]] = {}
        mute: set[int] = set()
        for stored in log:
            event = stored.event
            if not isinstance(event, v.TextSpoken | v.AudioSpoken):
                continue
            pieces = held.setdefault(event.operation, {})
            assert all(index <= event.index for index in pieces), "out of order"
            text, pcm = pieces.get(event.index, ("", b""))
            if isinstance(event, v.TextSpoken):
                assert not text
                text = event.text
            elif stored.blob is not None:
                pcm += self._store.read_blob(self._session, stored.blob)
            pieces[event.index] = (text, pcm)
            if event.response in silent:
                mute.add(event.operation)
        for operation, pieces in held.items():
            said = self._said_of(operation, mute=operation in mute)
            last = max(said) if operation in finished else max(pieces)
            wanted = {index: what for index, what in said.items() if index <= last}
            assert pieces == wanted, f"of {operation} the log holds {list(pieces)}, said was {list(wanted)}"

    def _said_of(self, operation: int, *, mute: bool) -> dict[int, tuple[str, bytes]]:
        """What came from the model, by index; of an answer asked for as text, its text."""
        said = {
            index: (output.body.text, b"" if mute else output.body.pcm)
            for (stage, of, index), output in self._said.items()
            if stage == "model" and of == operation and isinstance(output.body, Said)
        }
        return {index: what for index, what in said.items() if any(what)}

    def _wishes(self, life: Life, log: list[Stored], *, last: bool) -> None:
        """Every wish became its fact or a refusal. When the process died, the newest ones may be gone."""
        events = [stored.event for stored in log]
        refused = {e.client_event for e in events if isinstance(e, v.CommandRefused)}
        refused |= set(life.attendance.refused)
        # a commit that was made and failed behind a unit was told of twice
        refused -= {e.client_event for e in events if isinstance(e, v.InputCommitted)} - {None}
        survived = last and life.attendance.aborted is None
        heard = [
            int.from_bytes(self._store.read_blob(self._session, stored.blob)[:2], "little")
            for stored in log
            if isinstance(stored.event, v.InputAppended) and stored.blob is not None
        ]
        tags = [_tag(one) for one in life.asked if isinstance(one, c.AppendAudio)]
        kept = [tag for tag in tags if f"audio-{tag}" not in refused]
        assert heard == (kept if survived else kept[: len(heard)]), "audio lost, doubled or out of order"
        whole = [stored.event for stored in self._log]
        proposed = {e.client_event for e in whole if isinstance(e, v.ConfigProposed)}
        breaks_in = any(isinstance(one, c.BargeIn | c.CancelInput) for one in life.asked)
        for kind, is_fact in FACTS.items():
            if kind is c.ClearInput and breaks_in:
                continue  # breaking in clears the input, too
            wished = [one for one in life.asked if type(one) is kind and one.client_event not in refused]
            facts = [event for event in events if is_fact(event) and not _settles(event, proposed)]
            assert len(facts) <= len(wished), f"what a {kind.__name__} amounts to, and nobody asked for it"
            assert len(facts) == len(wished) or not survived, f"a {kind.__name__} is lost"


def _tag(command: Any) -> int:
    return int.from_bytes(command.pcm[:2], "little")


def _moved(event: v.Event, reason: str) -> bool:
    return isinstance(event, v.EpochAdvanced) and event.reason == reason


def _settles(event: v.Event, proposed: set[str | None]) -> bool:
    """Whether it only says that a proposal holds."""
    return isinstance(event, v.SessionConfigured) and event.client_event in proposed
