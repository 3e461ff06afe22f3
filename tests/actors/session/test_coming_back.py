"""Connections that go and come back, and how long a session waits for them."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session.decide import decide
from antiphon.actors.session.life import HANDOVER
from antiphon.actors.session.timers import timers
from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import (
    ClientAttached,
    ClientConfirmed,
    ClientDetached,
    ClientReplaced,
    ClientResumed,
    ClientSeen,
    CommandsAccepted,
    Config,
    Item,
    ItemAdded,
    Part,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionParked,
    Terms,
    WriterOpened,
)

from .given import Talk, pcm

FIRST, SECOND, THIRD = b"first", b"second", b"third"
TERMS = Terms(disconnect_grace_s=30, idle_ttl_s=300, max_session_s=3_600, turn_grace_s=20)


def talk(terms: Terms = TERMS, **how: Any) -> Talk:
    return Talk(terms=terms, token=FIRST, config=Config(strict=True), detection=None, **how)


def resume(presented: bytes = FIRST, token: bytes = SECOND, **members: Any) -> c.Resume:
    return c.Resume(dialect="duplex", presented=presented, token=token, **members)


def lost(attachment: int = 1) -> c.Detach:
    return c.Detach(attachment=attachment, reason="lost", code=1006)


def write(text: str, event: str) -> c.AddItem:
    item = Item(id=ItemId(""), role="user", content=(Part(kind="input_text", text=text),))
    return c.AddItem(item=item, client_event=event)


def kinds(events: list[Any]) -> list[type]:
    return [type(event) for event in events]


# --- going and coming -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["lost", "slow", "server"])
def test_a_lost_connection_leaves_the_session_open(reason: Any) -> None:
    session = talk()
    assert kinds(session.do(c.Detach(attachment=1, reason=reason))) == [ClientDetached]
    [resumed] = session.do(resume(after=64))
    assert resumed == ClientResumed(attachment=2, dialect="duplex", after=64, epoch=0, token=SECOND)


@pytest.mark.parametrize(("reason", "why"), [("closed", "client"), ("expelled", "expelled")])
def test_who_closes_the_connection_or_is_sent_away_ends_the_session(reason: Any, why: str) -> None:
    happened = talk().do(c.Detach(attachment=1, reason=reason))
    assert [event.reason for event in happened if isinstance(event, SessionClosed)] == [why]


def test_without_a_grace_a_session_ends_with_its_connection() -> None:
    assert kinds(talk(Terms()).do(lost())) == [ClientDetached, SessionClosed]


def test_the_fence_moves_before_the_new_connection_has_its_place() -> None:
    session = talk()
    assert kinds(session.do(resume())) == [ClientReplaced, ClientResumed]
    assert session.asks(1, c.AppendAudio(pcm=pcm(100)), c.BargeIn()) == []
    assert session.asks(1, lost()) == []
    assert session.asks(2, c.AppendAudio(pcm=pcm(100))) != []


def test_what_the_replaced_connection_still_reports_is_a_fact() -> None:
    session = talk()
    session.do(resume(after=70))
    assert session.asks(1, c.ReportSent(attachment=1, through=72)) != []
    assert session.asks(2, c.ReportSent(attachment=2, through=71)) != []
    assert session.state.attached.reported == 71


@pytest.mark.parametrize(
    "asked",
    [
        resume(presented=b"guessed"),
        resume(presented=b""),
        resume(principal="somebody"),
        resume(after=10**6),
    ],
)
def test_a_resume_that_is_refused_changes_nothing(asked: c.Resume) -> None:
    session = talk()
    before = session.state
    with pytest.raises(Exception, match=r"token|frame"):
        decide(session.state, asked, session.moment)
    assert session.state == before


def test_the_former_token_is_good_until_a_frame_has_come_and_no_longer() -> None:
    session = talk()
    session.do(lost(), resume())
    session.do(resume(FIRST, THIRD))
    assert kinds(session.asks(3, c.ConfirmClient(attachment=3))) == [ClientConfirmed]
    assert session.asks(3, c.ConfirmClient(attachment=3)) == []
    for void in (FIRST, SECOND):
        with pytest.raises(Exception, match="token"):
            decide(session.state, resume(void), session.moment)
    assert ClientResumed in kinds(session.do(resume(THIRD, FIRST)))


@pytest.mark.parametrize(("acknowledged", "sent", "after"), [(None, 75, 75), (70, 75, 70), (None, None, -1)])
def test_who_does_not_say_what_it_has_is_told_what_was_not_acknowledged_or_not_sent(
    acknowledged: int | None, sent: int | None, after: int
) -> None:
    session = talk()
    if sent is not None:
        session.asks(1, c.ReportSent(attachment=1, through=sent))
    if acknowledged is not None:
        session.asks(1, c.AcknowledgeEvents(attachment=1, through=acknowledged))
    assert session.do(lost(), resume())[-1].after == after


# --- what was taken in ------------------------------------------------------------------------------------


def test_what_was_taken_in_is_known_by_its_name_and_taken_in_once() -> None:
    session = talk()
    assert kinds(session.asks(1, write("one", "evt_1"))) == [CommandsAccepted, ItemAdded]
    session.asks(1, write("one", "evt_1"))  # within a connection a name says nothing
    session.do(lost())
    [resumed] = session.do(resume())
    assert resumed.last_client_event == "evt_1"
    assert session.asks(2, write("one", "evt_1")) == []
    assert kinds(session.asks(2, write("two", "evt_2"))) == [CommandsAccepted, ItemAdded]
    assert len(session.all(ItemAdded)) == 3


def test_a_refused_frame_is_refused_once() -> None:
    session = talk()
    session.refuses(c.RemoveItem(item=ItemId("nobody"), client_event="evt_1"))
    session.do(lost())
    assert session.do(resume())[-1].last_client_event == "evt_1"
    assert session.asks(2, c.RemoveItem(item=ItemId("nobody"), client_event="evt_1")) == []


def test_the_parts_of_a_frame_are_known_each_by_itself() -> None:
    """A process that dies between two of them has taken in the first, and the second is still to come."""
    session = talk()
    session.asks(1, c.AppendAudio(pcm=pcm(100), client_event="evt_1", part=0))
    session.do(lost(), resume())
    again = [
        c.AppendAudio(pcm=pcm(100), client_event="evt_1", part=0),
        c.AppendAudio(pcm=pcm(60), client_event="evt_1", earlier_events=("evt_0",)),
    ]
    session.asks(2, *again)
    assert session.state.buffer.appended == 24 * 160
    assert session.state.accepted.now == ("evt_0", "evt_1")


def test_a_report_that_travels_with_known_audio_is_still_a_fact() -> None:
    session = talk()
    session.asks(1, c.AppendAudio(pcm=pcm(100), client_event="evt_1"))
    session.do(lost(), resume(after=70))
    report = c.ReportSent(attachment=2, through=80)
    [sent] = session.asks(2, c.AppendAudio(pcm=pcm(100), client_event="evt_1", sent=report))
    assert sent.through == 80


def test_only_so_many_names_are_remembered() -> None:
    session = talk(Terms(disconnect_grace_s=30, remembered_commands=3))
    for n in range(5):
        session.asks(1, write("text", f"evt_{n}"))
    session.do(lost(), resume())
    assert session.state.accepted.before == ("evt_2", "evt_3", "evt_4")


# --- how long it lasts ------------------------------------------------------------------------------------


def test_a_session_waits_for_its_client_and_then_is_over() -> None:
    session = talk()
    session.do(lost())
    assert session.wait(29_999) == []
    assert session.wait(1) == [SessionExpired(reason="disconnect_grace_expired")]


def test_who_is_back_in_time_stops_the_clock() -> None:
    session = talk()
    session.do(lost())
    session.wait(20_000)
    session.do(resume())
    assert session.wait(60_000) == []


def test_a_session_in_which_nothing_happens_is_over() -> None:
    session = talk()
    assert session.wait(299_999) == []
    assert session.wait(1) == [SessionExpired(reason="idle_ttl_expired")]


def test_a_client_that_says_it_is_there_keeps_the_session() -> None:
    session = talk()
    session.wait(60_000)
    assert session.asks(1, c.KeepAlive(attachment=1)) == []
    session.wait(100_000)
    assert kinds(session.asks(1, c.KeepAlive(attachment=1))) == [ClientSeen]
    assert session.wait(250_000) == []


def test_a_session_does_not_go_idle_while_an_answer_is_made() -> None:
    session = talk(Terms(disconnect_grace_s=30, idle_ttl_s=10))
    session.do(write("hello", "evt_1"), c.CreateResponse())
    assert SessionExpired not in kinds(session.wait(60_000))


def test_a_session_that_is_too_old_is_over_when_the_turn_is() -> None:
    session = talk(Terms(max_session_s=60, turn_grace_s=20))
    session.wait(55_000)
    session.do(write("hello", "evt_1"), c.CreateResponse())
    session.say("A long story.", 8_000)
    session.send(8_000)
    assert SessionExpired not in kinds(session.wait(6_000))
    session.finish()
    assert SessionExpired in kinds(session.wait(4_000))
    assert session.now_ms < 70_000


def test_a_turn_without_end_is_cut_off_when_its_grace_is_over() -> None:
    session = talk(Terms(max_session_s=60, turn_grace_s=20))
    session.wait(55_000)
    session.do(write("hello", "evt_1"), c.CreateResponse())
    session.say("A story without end.", 60_000)
    happened = session.wait(30_000)
    assert [type(event) for event in happened][-2:] == [ResponseEnded, SessionExpired]
    assert session.now_ms >= 80_000


def test_the_time_of_the_opening_counts_over_a_new_boot() -> None:
    session = talk(Terms(disconnect_grace_s=7_200, max_session_s=60))
    session.do(c.Park(reason="shutdown"))
    session.boot, session.now_ms = "boot-2", 61_000 + session.now_ms
    session.open_writer()
    assert timers(session.state)["lease"] <= session.now_ms * 1_000_000


# --- processes that stop ----------------------------------------------------------------------------------


def test_a_parked_session_waits_for_its_client_from_the_next_writer_on() -> None:
    session = talk()
    assert session.do(c.Park(reason="shutdown")) == [SessionParked(reason="shutdown")]
    session.now_ms += 3_600_000
    session.boot = "boot-2"
    session.open_writer()
    session.do(resume())
    assert session.state.attached.current == 2


def test_a_session_that_cannot_be_come_back_to_ends_with_the_process() -> None:
    assert talk(Terms()).do(c.Park(reason="shutdown")) == [SessionClosed(reason="shutdown")]


@pytest.mark.parametrize("terms", [TERMS, Terms()])
def test_a_session_that_goes_to_another_process_is_taken_over_from_whoever_was_connected(
    terms: Terms,
) -> None:
    session = talk(terms)
    parked = SessionParked(reason=HANDOVER)
    assert session.do(c.Park(reason=HANDOVER)) == [ClientReplaced(attachment=1), parked]
    session.open_writer()
    [resumed] = session.do(resume(after=64))
    assert isinstance(resumed, ClientResumed)
    assert session.state.attached.current == 2


def test_of_a_session_that_nobody_is_connected_to_nobody_is_replaced() -> None:
    session = talk()
    session.do(lost())
    assert session.do(c.Park(reason=HANDOVER)) == [SessionParked(reason=HANDOVER)]


def test_whoever_was_connected_to_a_process_that_died_is_not_connected_to_the_next() -> None:
    session = talk()
    opening = c.OpenWriter(writer_epoch=2, code="test", boot="boot-1", projections={}, alone=True)
    assert kinds(session.do(opening)) == [WriterOpened, ClientDetached]
    assert session.wait(30_000) == [SessionExpired(reason="disconnect_grace_expired")]


def test_a_session_that_is_over_lets_nobody_back_in() -> None:
    session = talk()
    session.do(c.CloseSession(reason="client"))
    with pytest.raises(Exception, match="ended"):
        decide(session.state, resume(), session.moment)
    assert ClientAttached in kinds(session.events)
