"""The loop around the core: nothing is shown or done before the log has it, whatever the log answers."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from thespian.actors import ActorSystem

from antiphon.actors.ledger import MOST_WAITING, MOST_WAITING_BYTES
from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands as c
from antiphon.actors.session.commands import StageRole, TimerName
from antiphon.actors.session_actor import Ask, Begin, FromStage, Retrieve, SessionActor
from antiphon.actors.session_loop import Opening
from antiphon.actors.stages.contract import (
    Acknowledge,
    Close,
    Closed,
    Finished,
    Heard,
    Listen,
    Opened,
    Output,
    Said,
    StageCommand,
)
from antiphon.events.codec import MAX_EVENT
from antiphon.events.envelope import Stored
from antiphon.events.errors import StoreFull
from antiphon.events.ids import Fence, ItemId, Operation, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Lease, Log
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    Abilities,
    AudioSent,
    CommandRefused,
    Config,
    Item,
    ItemAdded,
    Part,
    ResponseCreated,
    Terms,
    UnitSubmitted,
    WriterOpened,
)
from antiphon.events.wavering import Fate, WaveringLog

from .given import pcm

SESSION = SessionId("sess_1")
NOW, LATE, FULL, STORED, LOST = Fate.NOW, Fate.LATE, Fate.FULL, Fate.STORED, Fate.LOST


class Onlooker:
    """A sink that notes what it is shown and answered, in order."""

    def __init__(self) -> None:
        self.saw: list[object] = []
        self.failing = False

    def publish(self, batch: Sequence[Published]) -> None:
        if self.failing:
            raise ZeroDivisionError
        self.saw += [one.stored for one in batch]

    def answer(self, answer: Retrieved) -> None:
        self.saw.append(answer)

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        self.saw.append(("refused", code))

    def abort(self, code: str, message: str) -> None:
        self.saw.append(("aborted", code))

    @property
    def events(self) -> list[Stored]:
        return [one for one in self.saw if isinstance(one, Stored)]

    @property
    def names(self) -> list[str]:
        return [type(one.event).__name__ for one in self.events]


class Stand:
    """One actor over a log whose answers a test decides. Implements Runtime; its clock stands still."""

    def __init__(self, system: ActorSystem, *, detection: bool = False, log: Log | None = None) -> None:
        self.store = MemoryLog()
        self.fates: Iterator[Fate] = iter(())
        self.log = log or WaveringLog(self.store, lambda: next(self.fates, NOW))
        self.commanded: list[tuple[StageRole, StageCommand]] = []
        self.has_ended = False
        self.held: list[bool] = []
        self.armed: list[tuple[TimerName, int]] = []
        self.sink = Onlooker()
        self._system, self._detection = system, detection
        self._actor = system.createActor(SessionActor)

    def begin(self, fates: Iterable[Fate] = (), *, recovering: bool = False) -> Stand:
        self.fates = iter(fates)
        writer = c.OpenWriter(writer_epoch=0, code="test", boot="boot", projections={})
        abilities = Abilities(stage="s", hears="utterances", detects_voice=self._detection, transcribes=True)
        opened = c.OpenSession(
            incarnation=0,
            mode="duplex",
            abilities=abilities,
            config=Config(),
            terms=Terms(disconnect_grace_s=30),
        )
        opening = Opening(SESSION, self.log, self, "test", writer, None if recovering else opened)
        self.tell(Begin(opening, self.sink, c.Attach(dialect="realtime")))
        return self

    def tell(self, message: object) -> None:
        self._system.tell(self._actor, message)

    def ask(self, command: c.Command, *fates: Fate) -> None:
        self.fates = iter(fates)
        self.tell(Ask(self.sink, command))

    def add(self, name: str, *fates: Fate, text: str = "hello") -> None:
        item = Item(id=ItemId(name), role="user", content=(Part(kind="input_text", text=text),))
        self.ask(c.AddItem(item=item, client_event=name), *fates)

    @property
    def stored(self) -> list[Stored]:
        return list(self.store.read(SESSION))

    def items(self) -> list[str]:
        return [stored.event.item.id for stored in self.stored if isinstance(stored.event, ItemAdded)]

    def shown(self) -> list[str]:
        return [stored.event.item.id for stored in self.sink.events if isinstance(stored.event, ItemAdded)]

    def wavering(self) -> WaveringLog:
        assert isinstance(self.log, WaveringLog)
        return self.log

    # --- Runtime ------------------------------------------------------------------------------------------

    def now(self) -> Moment:
        return Moment(1_000, 1_000)

    def later(self, session: SessionId, due_mono_ns: int, name: TimerName) -> None:
        self.armed.append((name, due_mono_ns))

    def to_stage(self, stage: StageRole, command: StageCommand) -> None:
        self.commanded.append((stage, command))

    def hold(self, session: SessionId, held: bool) -> None:
        self.held.append(held)

    def ended(self, session: SessionId) -> None:
        assert not self.has_ended
        self.has_ended = True


@pytest.fixture(scope="module")
def system() -> Iterator[ActorSystem]:
    actors = ActorSystem("simpleSystemBase", logDefs=False, transientUnique=True)
    yield actors
    actors.shutdown()


@pytest.fixture
def stand(system: ActorSystem) -> Stand:
    return Stand(system).begin()


# --- persist before publish -------------------------------------------------------------------------------


def test_of_a_session_whose_log_does_not_answer_no_more_is_asked_until_it_does(stand: Stand) -> None:
    for _ in range(MOST_WAITING):
        stand.ask(c.AppendAudio(pcm=pcm(80)), LATE)
    assert stand.held == []
    stand.ask(c.AppendAudio(pcm=pcm(80)), LATE)
    assert stand.held == [True]

    stand.wavering().settle()
    assert stand.held == [True, False]


def test_a_few_large_appends_that_wait_are_too_much_too(stand: Stand) -> None:
    half = bytes(MOST_WAITING_BYTES // 2)
    stand.ask(c.AppendAudio(pcm=half), LATE)
    stand.ask(c.AppendAudio(pcm=half), LATE)
    assert stand.held == []
    stand.ask(c.AppendAudio(pcm=pcm(80)), LATE)
    assert stand.held == [True]

    stand.wavering().settle_all()
    assert stand.held == [True, False]


def test_frames_and_effects_of_an_event_are_released_only_after_its_acknowledgement(stand: Stand) -> None:
    stand.ask(c.AppendAudio(pcm=pcm(200)), LATE)
    stand.ask(c.CommitInput(), LATE)
    assert "InputAppended" not in stand.sink.names
    assert not any(isinstance(command, Listen) for _, command in stand.commanded)
    stand.wavering().settle()
    assert stand.sink.names[-1] == "InputAppended"
    stand.wavering().settle()
    assert stand.sink.names[-2:] == ["InputCommitted", "UnitSubmitted"]
    assert stand.commanded[-1][1] == Listen(
        Fence(SESSION, 0, 0, 0), Operation(stand.stored[-1].seq), 4_800, pcm(200), whole=True
    )


def test_the_actor_folds_at_once_and_keeps_deciding_in_order(stand: Stand) -> None:
    stand.add("a", LATE)
    stand.add("a", LATE)  # decided against a state in which it is already there
    stand.wavering().settle_all()
    assert stand.items() == ["a"]
    assert isinstance(stand.stored[-1].event, CommandRefused)


@pytest.mark.parametrize("fate", [FULL, LOST])
def test_a_command_whose_facts_did_not_land_is_decided_again(stand: Stand, fate: Fate) -> None:
    stand.add("a", fate)
    assert stand.items() == stand.shown() == ["a"]
    assert [type(stored.event) for stored in stand.stored].count(WriterOpened) == 2


def test_facts_that_landed_although_the_answer_was_unknown_are_shown_once(stand: Stand) -> None:
    stand.add("a", STORED)
    assert stand.items() == stand.shown() == ["a"]
    assert stand.sink.events == stand.stored


def test_commands_behind_a_failed_append_keep_their_order(stand: Stand) -> None:
    stand.add("a", LATE)
    stand.add("b", LOST)
    stand.add("c", NOW)
    stand.wavering().settle_all()
    assert stand.items() == stand.shown() == ["a", "b", "c"]


def test_an_attachment_sees_what_is_published_to_it_as_any_reader_of_the_log_does(stand: Stand) -> None:
    stand.ask(c.CancelResponse())
    assert stand.sink.events == stand.stored


def test_a_log_that_cannot_be_written_is_given_up_and_the_client_is_told(stand: Stand) -> None:
    stand.add("a", *[FULL] * 10)
    assert stand.sink.saw[-1] == ("aborted", "log_unavailable")
    assert stand.has_ended


def test_a_session_given_up_gives_its_place_at_the_stage_back(stand: Stand) -> None:
    stand.add("a", *[FULL] * 10)
    assert stand.has_ended
    [(stage, last)] = [(stage, command) for stage, command in stand.commanded if isinstance(command, Close)]
    assert (stage, last.reason) == ("model", "log_unavailable")


def test_a_disk_that_takes_the_writer_s_name_but_no_audio_is_given_up_too(stand: Stand) -> None:
    """Each new writer's first event fits; the batch behind it never does."""
    stand.ask(c.AppendAudio(pcm=pcm(200)), *[FULL, NOW] * 20)
    assert stand.sink.saw[-1] == ("aborted", "log_unavailable")
    assert [type(stored.event) for stored in stand.stored].count(WriterOpened) <= 4


def test_what_is_too_large_for_the_log_is_refused_and_the_session_goes_on(stand: Stand) -> None:
    stand.add("big", text="x" * (MAX_EVENT + 1))
    [refusal] = [stored.event for stored in stand.sink.events if isinstance(stored.event, CommandRefused)]
    assert (refusal.code, refusal.client_event) == ("event_too_large", "big")
    stand.add("small")
    assert stand.items() == ["small"]


def test_a_log_that_lets_nobody_in_twice_is_opened_anew_all_the_same(
    system: ActorSystem, tmp_path: Path
) -> None:
    log = SegmentLog(tmp_path, deliver=lambda call: call())
    stand = Stand(system, log=log).begin()
    stand.add("small")
    stand.add("huge", text="x" * MAX_EVENT)
    stand.add("after")
    stored = [one.event for one in log.read(SESSION)]
    assert [one.item.id for one in stored if isinstance(one, ItemAdded)] == ["small", "after"]
    assert [one.client_event for one in stored if isinstance(one, CommandRefused)] == ["huge"]
    log.close()


def test_a_full_disk_costs_what_found_no_room_and_not_the_session(
    system: ActorSystem, tmp_path: Path
) -> None:
    full = False

    def write(fd: int, data: bytes | memoryview) -> int:
        nonlocal full
        if full:
            full = False
            raise OSError(errno.ENOSPC, "no space left")
        return os.write(fd, data)

    log = SegmentLog(tmp_path, deliver=lambda call: call(), files=Files(write=write))
    stand = Stand(system, log=log).begin()
    full = True
    stand.add("one")
    stand.add("two")
    assert stand.shown() == ["one", "two"]
    assert ("aborted", "locked") not in stand.sink.saw
    log.close()


def test_a_writer_that_was_taken_over_stops_and_does_not_fight(stand: Stand) -> None:
    stand.store.open(SESSION, expect=Expect.RESUME, owner="another process")
    stand.add("a")
    assert stand.sink.saw[-1] == ("aborted", "fenced")
    assert stand.items() == []
    assert stand.store.head(SESSION).writer_epoch == 2


def test_a_bug_while_the_log_answers_ends_this_session_and_raises_nothing(stand: Stand) -> None:
    stand.add("a", LATE)
    stand.sink.failing = True
    stand.wavering().settle()
    assert stand.has_ended
    assert stand.sink.saw[-1] == ("aborted", "internal_error")


# --- answers ----------------------------------------------------------------------------------------------


def test_an_item_is_shown_as_the_log_holds_it_and_not_as_it_was_decided_meanwhile(stand: Stand) -> None:
    stand.add("a", LATE)
    stand.tell(Retrieve(stand.sink, ItemId("a"), None))
    stand.add("b", LATE)
    assert not any(isinstance(one, Retrieved) for one in stand.sink.saw)
    stand.wavering().settle()
    answer = stand.sink.saw[-1]
    assert isinstance(answer, Retrieved)
    assert [entry.item.id for entry in answer.state.entries] == ["a"]


def test_an_answer_comes_behind_what_it_is_about_even_if_that_landed_unnoticed(stand: Stand) -> None:
    stand.add("a", LATE)
    stand.add("b", STORED)
    stand.tell(Retrieve(stand.sink, ItemId("b"), None))
    stand.wavering().settle_all()
    answered = next(at for at, one in enumerate(stand.sink.saw) if isinstance(one, Retrieved))
    before = [one.event for one in stand.sink.saw[:answered] if isinstance(one, Stored)]
    assert [event.item.id for event in before if isinstance(event, ItemAdded)] == ["a", "b"]


def test_a_question_about_nothing_is_refused_to_who_asked(stand: Stand) -> None:
    stand.tell(Retrieve(stand.sink, ItemId("none"), "e"))
    assert stand.sink.saw[-1] == ("refused", "item_not_found")


# --- stages -----------------------------------------------------------------------------------------------


def understood(stand: Stand, number: int) -> FromStage:
    operation = next(stored.seq for stored in stand.stored if isinstance(stored.event, UnitSubmitted))
    body = Heard("hello")
    return FromStage("model", Output(Fence(SESSION, 0, 0, 0), Operation(operation), number, 0, True, body))


def acknowledged(stand: Stand) -> list[int]:
    return [command.number for _, command in stand.commanded if isinstance(command, Acknowledge)]


def test_an_output_is_acknowledged_to_its_stage_when_what_it_amounts_to_is_in_the_log(stand: Stand) -> None:
    stand.ask(c.AppendAudio(pcm=pcm(200)))
    stand.ask(c.CommitInput())
    stand.fates = iter([LATE])
    stand.tell(understood(stand, 1))
    stand.tell(understood(stand, 2))  # said again: nothing new, but not before the first is there
    assert acknowledged(stand) == []
    stand.wavering().settle()
    assert acknowledged(stand) == [1, 2]


def test_an_output_that_landed_unnoticed_is_acknowledged_all_the_same(stand: Stand) -> None:
    stand.ask(c.AppendAudio(pcm=pcm(200)))
    stand.ask(c.CommitInput())
    stand.fates = iter([STORED])
    stand.tell(understood(stand, 1))
    assert acknowledged(stand) == [1]


def test_audio_that_came_by_way_of_the_log_leaves_no_hole_in_what_is_recognised(stand: Stand) -> None:
    """The window of recent input did not see what another writer's answer kept from it."""
    first, second, third = (bytes([n, 0]) * 2_400 for n in (1, 2, 3))
    stand.ask(c.AppendAudio(pcm=first))
    stand.ask(c.AppendAudio(pcm=second), STORED)
    stand.ask(c.AppendAudio(pcm=third))
    stand.ask(c.CommitInput())
    [whole] = [command for _, command in stand.commanded if isinstance(command, Listen) and command.whole]
    assert whole.pcm == first + second + third


def spoken(stand: Stand) -> None:
    """An answer of 100 ms, generated, sent, and not yet played out."""
    stand.ask(c.CreateResponse())
    operation = Operation(stand.stored[-1].seq)
    fence = Fence(SESSION, 0, 0, 1)
    bodies = [Said("Hi.", pcm(100)), Finished()]
    for index, body in enumerate(bodies):
        stand.tell(FromStage("model", Output(fence, operation, 1 + index, index, index == 1, body)))
    response = next(
        stored.event.response for stored in stand.stored if isinstance(stored.event, ResponseCreated)
    )
    stand.ask(c.ReportSent(attachment=0, through=1, audio=(AudioSent(response, Samples(2_400), 1_000),)))


def test_a_timer_is_armed_as_soon_as_the_state_asks_for_it_and_again_by_the_next_writer(
    system: ActorSystem, stand: Stand
) -> None:
    spoken(stand)
    assert [due for name, due in stand.armed if name == "playout"] == [1_000 + 100_000_000]
    other = Stand(system, log=stand.store)
    other.begin(recovering=True)
    assert [armed for armed in other.armed if armed[0] == "playout"] == [("playout", 1_000 + 100_000_000)]


# --- beginning and ending ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fates", [[FULL], [LOST], [STORED], [NOW, FULL], [NOW, STORED], [NOW, NOW, LOST]])
def test_a_session_begins_although_its_first_appends_fail(system: ActorSystem, fates: list[Fate]) -> None:
    stand = Stand(system).begin(fates)
    assert [name for name in stand.sink.names if name != "WriterOpened"] == [
        "SessionOpened",
        "ClientAttached",
    ]
    assert stand.sink.events == stand.stored


def test_a_session_that_cannot_begin_is_refused_once(system: ActorSystem) -> None:
    stand = Stand(system).begin([FULL] * 9)
    assert stand.sink.saw == [("aborted", "log_unavailable")]


def test_another_process_goes_on_where_the_log_ends_and_shows_it_from_the_beginning(
    system: ActorSystem, stand: Stand
) -> None:
    stand.add("a")
    other = Stand(system, log=stand.store)
    other.begin(recovering=True)
    assert other.sink.events == stand.stored
    assert other.sink.names[-3:] == ["WriterOpened", "ClientDetached", "ClientAttached"]


def test_a_log_in_which_no_session_was_opened_is_no_session(system: ActorSystem) -> None:
    store = MemoryLog()
    store.open(SESSION, expect=Expect.NEW, owner="a process that died at once")
    stand = Stand(system, log=store).begin(recovering=True)
    assert stand.sink.saw == [("aborted", "no_such_session")]


def test_a_log_is_sealed_once_the_client_has_left_and_the_stages_have_let_go(stand: Stand) -> None:
    fence = Fence(SESSION, 0, 0, 0)
    stand.tell(FromStage("model", Opened(fence, "e")))
    stand.ask(c.Detach(attachment=0, reason="closed"))
    assert isinstance(stand.commanded[-1][1], Close)
    assert not stand.store.head(SESSION).sealed
    stand.tell(FromStage("model", Closed(fence)))
    assert stand.store.head(SESSION).sealed
    assert stand.has_ended


def test_a_session_whose_log_cannot_be_sealed_is_over_all_the_same(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(lease: Lease, reason: str) -> None:
        raise StoreFull("no room for the seal")

    monkeypatch.setattr(stand.wavering(), "seal", full)
    stand.ask(c.Detach(attachment=0, reason="closed"))
    stand.tell(FromStage("model", Closed(Fence(SESSION, 0, 0, 0))))
    assert stand.has_ended
