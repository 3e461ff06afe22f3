"""What the pages are told of a recorded session."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.conformance.cases.evolving import Whispered
from antiphon.events.envelope import Stored
from antiphon.events.errors import UnknownCritical
from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect
from antiphon.events.units import SAMPLE_RATE, Samples
from antiphon.events.vocabulary import (
    CommandRefused,
    InputCommitted,
    InputTranscribed,
    SpeechStarted,
    SpeechStopped,
    TextSpoken,
    VoiceScored,
)
from antiphon.replay.inspect import summary
from antiphon.replay.inspect.life import CHECKPOINT_EVERY, LifeView, Span
from antiphon.replay.inspect.peaks import columns
from antiphon.replay.inspect.rows import row
from antiphon.replay.inspect.summary import Summary

from .calls import Call, tone

MS = SAMPLE_RATE // 1000
ITEM = ItemId("item_said")


def asked(call: Call) -> None:
    """The user speaks from 400 to 1400 and is answered from 2000 on with 3 s, of which 1.2 s are heard."""
    call.hear(500, tone(100 * MS))
    for k in range(9):
        call.hear(600 + 100 * k, tone(100 * MS))
    call.say(1_400, SpeechStarted(item=ITEM, onset_sample=Samples(0), from_sample=Samples(0)))
    call.say(1_400, SpeechStopped(item=ITEM, until_sample=Samples(1_000 * MS)))
    committed = InputCommitted(
        item=ITEM, from_sample=Samples(0), until_sample=Samples(1_000 * MS), by="voice"
    )
    call.say(1_500, committed)
    call.say(1_510, InputTranscribed(item=ITEM, text="What is it?", operation=Operation(0)))
    call.answer(1_600)
    said = TextSpoken(
        response=ResponseId("resp_1"),
        text="It is late.",
        operation=Operation(0),
        index=0,
        from_sample=Samples(0),
    )
    call.say(1_700, said)
    call.speak(1_800, tone(3_000 * MS, 700))
    call.sent(2_100, 3_000 * MS, first_ms=2_000)
    call.heard(3_000, 1_000)
    call.heard(3_300, 1_200)
    call.end_answer(3_400, outcome="cancelled", reason="turn_detected")
    call.truncate(3_410, 1_200)


@pytest.fixture
def call() -> Call:
    call = Call(MemoryLog())
    asked(call)
    return call


def events(call: Call) -> list[Stored]:
    return list(call.log.read(call.session))


def view(call: Call) -> LifeView:
    life = LifeView(call.session)
    for stored in events(call):
        life.take(stored)
    return life


def spans(life: LifeView, after: int = 0) -> dict[str, Span]:
    return {span.key: span for span in life.spans(after)}


def test_a_question_and_its_answer_lie_where_they_sounded(call: Call) -> None:
    found = spans(view(call))
    assert (found[ITEM].side, found[ITEM].from_ms, found[ITEM].to_ms) == ("you", 400, 1_400)
    assert found[ITEM].text == "What is it?"
    answer = found["resp_1"]
    assert (answer.side, answer.from_ms, answer.to_ms, answer.heard_ms) == ("it", 2_000, 5_000, 3_200)
    assert (answer.waited_ms, answer.outcome, answer.text) == (500, "cancelled", "It is late.")


def test_marks_say_what_was_decided_heard_and_refused(call: Call) -> None:
    call.say(3_500, CommandRefused(code="not_speaking", message="nobody speaks", attachment=1))
    life = view(call)
    lanes = {(mark.lane, mark.label) for mark in life.marks}
    assert ("decisions", "committed by voice, kept") in lanes
    assert ("decisions", "answer cancelled: turn_detected") in lanes
    assert ("heard", "heard 1200 ms") in lanes
    assert ("heard", "cut at 1200 ms") in lanes
    assert [mark.at_ms for mark in life.marks if mark.lane == "faults"] == [3_500]


@given(st.integers(0, 60))
def test_who_was_told_a_part_is_told_the_rest(seen: int) -> None:
    call = Call(MemoryLog())
    asked(call)
    everything = events(call)
    seen = min(seen, len(everything))
    life = LifeView(call.session)
    for stored in everything[:seen]:
        life.take(stored)
    told, marks, notable = spans(life), life.marks_after(0), life.notable_after(0)
    for stored in everything[seen:]:
        life.take(stored)
    assert told | spans(life, seen) == spans(life)
    assert marks + life.marks_after(seen) == life.marks
    assert notable + life.notable_after(seen) == life.notable_after(0)


def test_the_time_between_two_writers_is_left_out() -> None:
    log = MemoryLog()
    call = Call(log)
    call.hear(100, tone(100 * MS))
    log.release(call.lease)
    call.open(Expect.RESUME, boot="another", at_ms=900_000)
    call.hear(900_500, tone(100 * MS))
    life, (*_, last) = view(call), events(call)
    assert life.until_ms == 600
    assert life.at_ms(last) == 600.0
    assert (row(last, life.at_ms(last)).type, life.notable[-1]) == ("InputAppended", last.seq - 1)


@pytest.mark.parametrize("past", [0, 1, 7])
def test_any_state_is_few_events_behind_one_that_is_kept(past: int) -> None:
    call = Call(MemoryLog())
    for k in range(CHECKPOINT_EVERY + 8):
        call.hear(80 * k, tone(80))
    everything, life = events(call), view(call)
    at = CHECKPOINT_EVERY - 1 + past
    known = life.state_before(at + 1)
    assert at + 1 - known.seq <= 8
    straight = Session(call.session)
    for stored in everything[: at + 1]:
        straight = refold(straight, stored)
    for stored in everything[known.seq : at + 1]:
        known = refold(known, stored)
    assert known == straight


def drawn(call: Call, start_ms: int, stop_ms: int, count: int) -> np.ndarray:
    def payload(ref: object) -> bytes:
        return call.log.read_blob(call.session, ref)  # type: ignore[arg-type]

    made = b"".join(columns(view(call), payload, start_ms * MS, stop_ms * MS, count))
    return np.frombuffer(made, np.uint8).reshape(count, 3)


def test_peaks_show_both_sides_where_they_sounded_also_what_nobody_heard(call: Call) -> None:
    drawing = drawn(call, 0, 6_000, 60)
    loud = 8_000 >> 7
    you, it = drawing[:, 0], drawing[:, 1]
    assert list(np.flatnonzero(you)) == list(range(4, 14))
    assert list(np.flatnonzero(it)) == list(range(20, 50))
    assert set(you[4:14]) | set(it[20:50]) <= {loud, loud - 1}


def test_a_column_of_many_pieces_is_made_of_some_of_them_and_a_piece_is_cut_into_columns(call: Call) -> None:
    assert list(drawn(call, 0, 6_000, 1)[0][:2]) == [62, 62]
    assert len(np.flatnonzero(drawn(call, 2_000, 2_100, 400)[:, 1])) >= 399


def test_voice_probabilities_lie_with_the_sound_that_they_are_of(call: Call) -> None:
    scored = VoiceScored(until_sample=Samples(1_000 * MS), window=Samples(32 * MS), permille=(100, 1_000))
    call.say(3_600, scored)
    voice = drawn(call, 0, 6_000, 60)[:, 2]
    assert set(np.flatnonzero(voice)) <= {12, 13, 14}
    assert voice.max() == 255


def test_a_summary_goes_on_where_it_stopped(call: Call) -> None:
    call.hang_up(5_000)
    whole, half = Summary(), Summary()
    everything = events(call)
    for stored in everything:
        whole.take(stored)
    for stored in everything[:10]:
        half.take(stored)
    for stored in everything[half.next_seq :]:
        half.take(stored)
    assert half == whole
    assert (whole.mode, whole.responses, whole.ended, whole.faults) == ("duplex", 1, "client", 0)
    assert "What is it?" in whole.words
    assert "It is late." in whole.words


def test_an_answer_that_nobody_began_is_no_span() -> None:
    call = Call(MemoryLog())
    call.say(
        5,
        TextSpoken(
            response=ResponseId("resp_9"), text="?", operation=Operation(0), index=0, from_sample=Samples(0)
        ),
    )
    assert view(call).spans(0) == []


def test_both_sides_stay_who_they_are_however_many_spans_there_are() -> None:
    call = Call(MemoryLog())
    for k in range(3):
        item, response = ItemId(f"item_{k}"), f"resp_{k}"
        call.hear(1_000 * k + 200, tone(100 * MS))
        until = Samples(100 * MS * (k + 1))
        call.say(
            1_000 * k + 200,
            SpeechStarted(item=item, onset_sample=Samples(until - 50 * MS), from_sample=Samples(0)),
        )
        call.say(1_000 * k + 210, SpeechStopped(item=item, until_sample=until))
        call.answer(1_000 * k + 220, response)
        call.speak(1_000 * k + 230, tone(50 * MS), response)
    found = spans(view(call))
    assert [found[f"item_{k}"].side for k in range(3)] == ["you"] * 3
    assert [found[f"resp_{k}"].side for k in range(3)] == ["it"] * 3
    assert [found[f"item_{k}"].from_ms for k in range(3)] == [150, 1_150, 2_150]


def test_of_a_state_behind_an_event_that_nobody_here_knows_nothing_is_said() -> None:
    call = Call(MemoryLog())
    whispered = call.say(10, Whispered(words="no"))
    call.hear(100, tone(100))
    life = view(call)
    assert life.state_before(whispered).seq == 0
    with pytest.raises(UnknownCritical):
        life.state_before(whispered + 1)


def test_the_words_of_a_session_are_kept_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_WORDS", 25)
    call, told = Call(MemoryLog()), Summary()
    asked(call)
    for stored in events(call):
        told.take(stored)
    assert told.words == "\nWhat is it?\nIt is late."
    call.say(4_000, InputTranscribed(item=ITEM, text="Nobody keeps this.", operation=Operation(0)))
    told.take(events(call)[-1])
    assert told.words.startswith("\nWhat is it?\nIt is late.")
    assert told.characters == len(told.words) == 25
