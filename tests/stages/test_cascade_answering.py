"""Answers on their way from a scripted writer to a scripted voice."""

import threading
from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec.structs import replace

from antiphon.actors.stages.cascade.answering import Answering
from antiphon.actors.stages.cascade.delivery import LONGEST_ANSWER
from antiphon.actors.stages.cascade.policy import NOTHING_TO_SAY
from antiphon.actors.stages.cascade.writing import Request, Stop, WritingFailed, Written
from antiphon.actors.stages.contract import Failed, Finished, Measured, Routed, Said, Speak, Turn
from antiphon.events.ids import Operation
from tests.stages.collecting import WAIT_S, Collected, fence


class ScriptedWriter:
    """Writes `answers[question]`; an exception in it is raised, an event is waited for."""

    room = 500
    takes_verbatim = True

    def __init__(self, answers: dict[str, list], lanes: int = 2, written: Written | None = None) -> None:
        self.answers, self.lanes = answers, lanes
        self.written = written or Written(input_tokens=3, output_tokens=2)
        self.asked: list[str] = []
        self.prepared = threading.Event()
        self.forgotten: list[str] = []

    def prepare(self, session: str) -> None:
        self.prepared.set()

    def forget(self, session: str) -> None:
        self.forgotten.append(session)

    def close(self) -> None:
        pass

    def write(self, request: Request, take: Callable[[str], bool], stop: Stop) -> Written:
        question = request.messages[-1].text
        self.asked.append(question)
        for step in self.answers[question]:
            if isinstance(step, threading.Event):
                assert step.wait(WAIT_S)
            elif isinstance(step, Exception):
                raise step
            elif take(step):
                return Written(why="stopped")
        return self.written


def pronounce(clause: str, speed: float = 1.0) -> bytes:
    return b"\1\0" * round(len(clause) / speed)


@pytest.fixture
def begin():
    begun = []

    def start(writer, voice=pronounce, own_intents=True):
        answering = Answering(writer, voice, own_intents=own_intents, clock=lambda: datetime(2026, 1, 1))
        collected = Collected()
        answering.start(collected)
        begun.append(answering)
        return answering, collected

    yield start
    for answering in begun:
        answering.stop()


def speak(operation: int, text: str, *, session="s", epoch=0, modalities=("audio",)) -> Speak:
    turns = (Turn(role="user", text=text),)
    return Speak(fence(session, epoch), Operation(operation), turns, modalities=modalities)


def test_an_answer_is_routed_spoken_measured_and_finished_in_this_order(begin):
    writer = ScriptedWriter({"Why?": ["Well,", " because", " so.", " And", " that", " is", " it."]})
    answering, collected = begin(writer)
    answering.speak(speak(1, "Why?"))
    bodies = collected.ended(1)
    assert bodies[0] == Routed("model")
    assert bodies[1:3] == [
        Said("Well, because so. ", pronounce("Well, because so.")),
        Said("And that is it.", pronounce("And that is it.")),
    ]
    assert [body.name for body in bodies[3:5] if isinstance(body, Measured)] == [
        "first_token_ms",
        "first_audio_ms",
    ]
    assert bodies[5:] == [Finished("done", 3, 2)]
    assert [last for *_, last in collected.outputs] == [False] * 5 + [True]


def test_an_answer_is_spoken_as_fast_as_it_is_asked_to_be(begin):
    answering, collected = begin(ScriptedWriter({"Why?": ["Because", " so."]}))
    answering.speak(replace(speak(1, "Why?"), speed=0.5))
    answering.speak(speak(2, "Why?"))
    for operation, speed in ((1, 0.5), (2, 1.0)):
        [said] = [body for body in collected.ended(operation) if isinstance(body, Said)]
        assert said.pcm == pronounce("Because so.", speed)


def test_an_intent_does_not_reach_the_model(begin):
    writer = ScriptedWriter({})
    answering, collected = begin(writer)
    answering.speak(speak(1, "Hello."))
    bodies = collected.ended(1)
    assert bodies[0] == Routed("intent:greeting")
    assert "".join(b.text for b in bodies if isinstance(b, Said)) == "Hello! What can I do for you?"
    assert writer.asked == []


def test_a_chat_server_is_asked_everything_that_was_heard(begin):
    writer = ScriptedWriter({"Hello.": ["Hi."]})
    answering, collected = begin(writer, own_intents=False)
    answering.speak(speak(1, "Hello."))
    answering.speak(speak(2, " "))
    assert collected.ended(1)[0] == Routed("model")
    assert collected.ended(2)[0] == Routed("intent:unheard")


def test_a_written_answer_keeps_its_markup_and_needs_no_voice(begin):
    def no_voice(clause, speed):
        raise AssertionError

    answering, collected = begin(ScriptedWriter({"Why?": ["**So**,", " 😀", " that", " is."]}), no_voice)
    answering.speak(speak(1, "Why?", modalities=("text",)))
    said = [b for b in collected.ended(1) if isinstance(b, Said)]
    assert "".join(b.text for b in said) == "**So**, 😀 that is."
    assert all(b.pcm == b"" for b in said)


def test_a_question_that_is_put_verbatim_is_answered_in_writing_as_the_words_come(begin):
    pieces = ["</resp", "onse> Two *stars", "*\nand a half"]
    writer = ScriptedWriter({"many?": [*pieces, WritingFailed("llm_unreachable", "the line broke")]})
    answering, collected = begin(writer, voice=None)
    turns = (Turn(role="user", text="hello"), Turn(role="user", text="many?"))
    answering.speak(Speak(fence(), Operation(1), turns, verbatim=True))
    assert isinstance(collected.ended(1)[-1], Failed)
    assert [body.text for body in collected.bodies(1, Said)] == pieces
    assert writer.asked == ["many?"]


@pytest.mark.parametrize("tokens", [["😀"], [], ["..."], ["\n"]])
def test_an_answer_without_anything_to_pronounce_is_replaced(begin, tokens):
    answering, collected = begin(ScriptedWriter({"Why?": tokens}))
    answering.speak(speak(1, "Why?"))
    said = [b for b in collected.ended(1) if isinstance(b, Said)]
    assert said[-1] == Said(NOTHING_TO_SAY, pronounce(NOTHING_TO_SAY))


def test_what_a_writer_cut_off_in_mid_sentence_is_left_out(begin):
    writer = ScriptedWriter({"Why?": ["It", " is.", " When", " the"]}, written=Written(why="cut"))
    answering, collected = begin(writer)
    answering.speak(speak(1, "Why?"))
    bodies = collected.ended(1)
    assert [b.text for b in bodies if isinstance(b, Said)] == ["It is. "]
    assert bodies[-1].why == "done"


def test_what_the_client_cut_off_is_said_to_be_cut(begin):
    answering, collected = begin(ScriptedWriter({"Why?": ["It", " is"]}, written=Written(why="length")))
    answering.speak(speak(1, "Why?"))
    bodies = collected.ended(1)
    assert [b.text for b in bodies if isinstance(b, Said)] == ["It is"]
    assert bodies[-1].why == "length"


def test_after_a_cancel_nothing_more_is_said_and_the_next_answer_is(begin):
    more = threading.Event()
    writer = ScriptedWriter(
        {"Why?": ["First.", " ", "x", more, *[" word"] * 50], "What?": ["That."]}, lanes=1
    )
    answering, collected = begin(writer)
    answering.speak(speak(1, "Why?"))
    collected.said(1, Said)
    answering.cancel(fence(epoch=1))
    before = len(collected.outputs)
    more.set()
    answering.speak(speak(2, "What?", epoch=1))
    collected.ended(2)
    assert all(operation == 2 for _, operation, *_ in collected.outputs[before:])


def test_an_answer_that_is_cancelled_while_it_waits_is_never_written(begin):
    more = threading.Event()
    writer = ScriptedWriter({"Why?": [more, "So."], "How?": ["Thus."], "What?": ["That."]}, lanes=1)
    answering, collected = begin(writer)
    answering.speak(speak(1, "Why?", session="other"))
    answering.speak(speak(2, "How?"))
    answering.cancel(fence(epoch=1))
    answering.speak(speak(3, "What?", epoch=1))
    more.set()
    collected.ended(3)
    assert writer.asked == ["Why?", "What?"]
    assert collected.bodies(2) == []


def test_a_first_clause_is_spoken_before_the_later_ones_of_others(begin):
    spoken, first_begun, go_on = [], threading.Event(), threading.Event()

    def slow(clause, speed):
        first_begun.set()
        assert go_on.wait(WAIT_S)
        spoken.append(clause)
        return pronounce(clause)

    writer = ScriptedWriter({"A?": ["A1.", " A2.", " A3.", " end"], "B?": ["B1.", " B2.", " end"]}, lanes=1)
    answering, collected = begin(writer, slow)
    answering.speak(speak(1, "A?", session="a"))
    assert first_begun.wait(WAIT_S)
    answering.speak(speak(2, "B?", session="b"))
    answering.speak(speak(3, "Hello.", session="c"))
    collected.said(3, Routed)
    go_on.set()
    for operation in (1, 2, 3):
        collected.ended(operation)
    assert spoken[:2] == ["A1.", "B1."]
    assert [clause for clause in spoken if clause[0] == "A"] == ["A1.", "A2.", "A3."]


def test_a_failure_of_the_writer_ends_the_answer_after_what_was_said(begin):
    failure = WritingFailed("llm_unreachable", "broke off", retryable=True)
    answering, collected = begin(ScriptedWriter({"Why?": ["Well.", " So", failure]}))
    answering.speak(speak(1, "Why?"))
    bodies = collected.ended(1)
    assert [b.text for b in bodies if isinstance(b, Said)] == ["Well. "]
    assert bodies[-1] == Failed("llm_unreachable", "broke off", True)


@pytest.mark.parametrize("bug", [ZeroDivisionError(), KeyError("x")])
def test_a_bug_ends_one_answer_and_not_the_lane(begin, bug):
    answering, collected = begin(ScriptedWriter({"Why?": [bug], "What?": ["That."]}, lanes=1))
    answering.speak(speak(1, "Why?"))
    assert collected.ended(1)[-1].code == "engine_error"
    answering.speak(speak(2, "What?"))
    assert isinstance(collected.ended(2)[-1], Finished)


def test_a_failure_of_the_voice_ends_the_answer(begin):
    def broken(clause):
        raise RuntimeError

    answering, collected = begin(ScriptedWriter({"Why?": ["Well.", " So", " it", " is."]}), broken)
    answering.speak(speak(1, "Why?"))
    assert [type(b) for b in collected.ended(1)] == [Routed, Failed]


def test_an_opened_session_is_prepared_and_a_closed_one_falls_silent(begin):
    more = threading.Event()
    writer = ScriptedWriter({"Why?": ["Well.", " ", more, "So."], "What?": ["That."]}, lanes=1)
    answering, collected = begin(writer)
    answering.prepare("s")
    assert writer.prepared.wait(WAIT_S)
    answering.speak(speak(1, "Why?"))
    collected.said(1, Routed)
    answering.close("s")
    more.set()
    answering.speak(speak(2, "What?", session="t"))
    collected.ended(2)
    assert not any(last for _, operation, _, last in collected.outputs if operation == 1)


def test_a_writer_that_goes_on_and_on_is_listened_to_no_longer_than_an_hour_of_speech(begin):
    endless = ["word " * 1_000] * 1_000
    answering, collected = begin(ScriptedWriter({"Why?": endless}), voice=None)
    answering.speak(speak(1, "Why?", modalities=("text",)))
    bodies = collected.ended(1)
    assert sum(len(body.text) for body in bodies if isinstance(body, Said)) == LONGEST_ANSWER
    assert bodies[-1].why == "length"


def test_a_closed_session_has_left_when_nobody_writes_for_it_any_more(begin):
    written = threading.Event()
    writer = ScriptedWriter({"Why?": ["Because", written, " so."]}, lanes=1)
    answering, collected = begin(writer)
    answering.prepare("s")
    answering.speak(speak(1, "Why?"))
    collected.said(1, Routed)
    answering.speak(speak(2, "And why that?"))  # still waits for the lane
    left = answering.close("s")
    assert left is not None
    assert answering.close("s") is left
    assert not left.done()
    assert writer.forgotten == []

    written.set()
    left.result(WAIT_S)
    assert writer.forgotten == ["s"]
    assert writer.asked == ["Why?"]


def test_a_session_nobody_is_at_work_for_leaves_at_once(begin):
    writer = ScriptedWriter({"Why?": ["Because."]}, lanes=1)
    answering, collected = begin(writer)
    answering.speak(speak(1, "Why?"))
    collected.ended(1)
    answering.speak(speak(2, "Hello.", session="other"))  # the lane is free of the first by then
    collected.ended(2)
    assert answering.close("s") is None
    assert answering.close("nobody") is None
    assert writer.forgotten == ["s", "nobody"]
