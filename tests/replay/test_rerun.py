"""Calls that real servers recorded, held again: unchanged, with another threshold, by another stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.script import Script
from antiphon.events.envelope import Draft, Stored
from antiphon.events.errors import Erased
from antiphon.events.ids import Seq
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect, Scope
from antiphon.replay import sources
from antiphon.replay.rerun.backstage import Backstage
from antiphon.replay.rerun.comparing import Comparison, compare
from antiphon.replay.rerun.rerun import Changes, rerun
from antiphon.replay.rerun.wishes import CannotRerun
from antiphon.replay.sources import Life
from antiphon.replay.turns import Course, Turn, course_of
from tests.actors.session.given import SILENCE, Talk
from tests.golden.corpus import GOLDEN

FROM_SERVERS = (
    "scripted",
    "spoken",
    "echo",
    "duplex",
    "native",
    "chat",
    "killed",
    "telephone",
    "half_duplex",
)
"""Recorded of real clients, with nothing in them that only happens to a server (golden/calls.py)."""
IN_THE_CORE = ("utterances", "in_units")
"""Scenes: barge-ins, a tool, units."""


def life(name: str) -> Life:
    return sources.of_recording(GOLDEN / "0.2.0" / f"{name}.antiphon.zip")


def held_again(of: Life, backstage: Backstage | None = None, **config: Any) -> Comparison:
    changed = {name.replace("__", "."): value for name, value in config.items()}
    with backstage or Backstage() as engines:
        again = rerun(of, Changes(config=changed, backstage=engines), code="test")
    assert not again.aborted
    return compare(course_of(of), course_of(again.life))


@pytest.mark.parametrize("name", [*FROM_SERVERS, *IN_THE_CORE])
def test_a_call_held_again_unchanged_is_the_same_call(name: str) -> None:
    comparison = held_again(life(name))
    assert comparison.rows
    assert [row.changed for row in comparison.rows] == [()] * len(comparison.rows)
    assert comparison.decided_alike


@pytest.mark.parametrize("name", ["spoken", "scripted", "utterances", "half_duplex"])
def test_held_twice_it_is_the_same_to_the_last_byte(name: str) -> None:
    def once() -> list[Stored]:
        with Backstage() as backstage:
            again = rerun(life(name), Changes(backstage=backstage), code="test")
        return list(again.life.events())

    assert once() == once()


def test_another_threshold_is_tried_without_any_audio(tmp_path: Path) -> None:
    """A minute of speech must be heard before it counts: nobody is answered."""
    spoken = life("spoken")
    spoken.log.erase(spoken.session, Scope.AUDIO, incarnation=spoken.incarnation)
    unchanged = held_again(spoken)
    assert unchanged.decided_alike
    comparison = held_again(spoken, turn_detection__min_speech_ms=60_000)
    assert [(row.first is not None, row.second is None) for row in comparison.rows] == [(True, True)] * 2
    assert (comparison.first.starts, comparison.second.starts) == (1, 0)
    assert not comparison.decided_alike


def test_silence_that_must_last_longer_makes_the_answer_come_later() -> None:
    """The turn ends later, and with it begins what is counted; the words stay."""
    comparison = held_again(life("spoken"), turn_detection__silence_duration_ms=200)
    assert comparison.second.turns[0].at_ms < comparison.first.turns[0].at_ms
    assert [turn.words for turn in comparison.second.turns] == [turn.words for turn in comparison.first.turns]


def test_an_answer_that_comes_later_is_heard_as_it_was() -> None:
    """What was told of its way to the user was told at once, when here it had not begun."""
    talk = Talk(session="quick")
    talk.utterance("what is the time")
    talk.say("It is noon.", 600)
    talk.finish()
    talk.wait(30)
    talk.send(600)
    talk.wait(1_500)
    talk.hear(64, SILENCE)
    talk.do(c.CloseSession(reason="client"))
    comparison = held_again(kept(talk), turn_detection__silence_duration_ms=600)
    first, second = comparison.first.turns[-1], comparison.second.turns[-1]
    assert second.at_ms > first.at_ms
    assert (first.heard_ms, second.heard_ms) == (600, 600)


def kept(talk: Talk) -> Life:
    log = MemoryLog()
    lease, _ = log.open(talk.state.id, expect=Expect.NEW, owner="the test")
    happened = zip(talk.stored, talk.payloads, strict=True)
    drafts = [Draft(stored.event, stored.at, payload, stored.cause) for stored, payload in happened]
    log.append(lease, Seq(0), drafts).result()
    return next(sources.of_session(log, talk.state.id))


def test_what_the_recording_has_no_answer_to_is_said_to_be_unknown() -> None:
    """Without interruptions the rest of an answer would have been heard, and nobody recorded it."""
    comparison = held_again(life("utterances"), turn_detection__interrupt_response=False)
    cut = next(turn for turn in comparison.first.turns if turn.outcome == "cancelled")
    same = next(row.second for row in comparison.rows if row.first is cut)
    assert same is not None
    assert (same.outcome, same.reason) == ("failed", "not_recorded")
    assert same.words == cut.words


def test_another_stage_is_given_the_calls_audio_and_answers_in_its_own_words() -> None:
    backstage = Backstage()
    backstage.employ("model", ScriptedEngine({"text": "Rome.", "transcript": "the capital", "tone_ms": 400}))
    comparison = held_again(life("spoken"), backstage)
    assert [turn.words for turn in comparison.second.turns] == ["the capital", "Rome."]
    assert comparison.decided_alike
    assert comparison.count("words") == 2
    assert comparison.second.turns[1].audio_ms == 400


def test_a_stage_plays_in_one_call_after_another() -> None:
    with Backstage() as backstage:
        backstage.employ("model", ScriptedEngine({"text": "Rome."}))
        for name in ("spoken", "scripted", "spoken"):
            again = rerun(life(name), Changes(backstage=backstage), code="test")
            answers = [turn for turn in course_of(again.life).turns if turn.who == "assistant"]
            assert answers
            assert {answer.words for answer in answers} == {"Rome."}


def test_each_call_is_answered_by_its_own_recorded_stage() -> None:
    with Backstage() as backstage:
        for name in ("spoken", "scripted"):
            again = rerun(life(name), Changes(backstage=backstage), code="test")
            assert compare(course_of(life(name)), course_of(again.life)).decided_alike
            assert course_of(again.life).turns[-1].words == course_of(life(name)).turns[-1].words


def test_audio_that_another_stage_needs_and_that_was_erased_is_an_error() -> None:
    spoken = life("spoken")
    spoken.log.erase(spoken.session, Scope.AUDIO, incarnation=spoken.incarnation)
    backstage = Backstage()
    backstage.employ("model", ScriptedEngine({}))
    with pytest.raises(Erased):
        held_again(spoken, backstage)


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        ("stream", {}, "video cannot be held again"),
        ("spoken", {"colour": "red"}, "a session has no colour"),
        ("spoken", {"temperature": "warm"}, "temperature"),
        ("spoken", {"turn_detection__threshold": 1}, "turn_detection"),
    ],
)
def test_what_cannot_be_is_refused(name: str, config: dict[str, Any], says: str) -> None:
    with pytest.raises(CannotRerun, match=says):
        held_again(life(name), **config)


def test_a_stage_that_hears_in_another_way_is_refused() -> None:
    backstage = Backstage()
    backstage.employ("model", ScriptedEngine(script=Script(hears="continuously", unit_ms=200)))
    with pytest.raises(CannotRerun, match="units of 200 ms"):
        held_again(life("spoken"), backstage)


# --- side by side -----------------------------------------------------------------------------------------


def spoken(start: int, until: int, words: str = "") -> Turn:
    return Turn(who="user", seq=0, at_ms=until // 24, words=words, from_sample=start, until_sample=until)


def answer(words: str, waited_ms: int = 300) -> Turn:
    return Turn(who="assistant", seq=0, at_ms=0, words=words, waited_ms=waited_ms, outcome="completed")


def of(*turns: Turn) -> Course:
    return Course(
        session=life("spoken").session, lasted_ms=0, turns=turns, starts=0, interrupted=0, listened=0
    )


def test_turns_belong_together_by_the_audio_that_they_are() -> None:
    first = of(spoken(0, 24_000), answer("one"), spoken(48_000, 72_000), answer("two"))
    second = of(spoken(0, 30_000), answer("one"), spoken(30_000, 40_000), answer("extra"), spoken(48_000, 71_000), answer("two"))  # fmt: skip
    rows = compare(first, second).rows
    assert [(row.first is None, row.changed) for row in rows] == [
        (False, ()), (False, ()), (True, ("decision",)), (True, ("decision",)), (False, ()), (False, ()),
    ]  # fmt: skip


def test_words_and_waits_are_told_apart() -> None:
    comparison = compare(of(answer("a b c d")), of(answer("a b x d", waited_ms=400)))
    assert comparison.rows[0].changed == ("words", "timing")
    assert comparison.words_changed == 0.25
    assert (comparison.first_wait_ms, comparison.second_wait_ms) == (300, 400)
