"""The queue before the recogniser, with a scripted one."""

import threading

import pytest

from antiphon.actors.stages.cascade.recognitions import Recognitions
from antiphon.actors.stages.contract import Failed, Heard, Listen, Measured
from antiphon.events.ids import Operation
from tests.stages.collecting import WAIT_S, Collected, fence


class ScriptedRecogniser:
    """Hears the number of samples; every recognition waits until the test lets it go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, pcm: bytes) -> str:
        self.begun.set()
        assert self.go_on.wait(WAIT_S)
        if pcm.startswith(b"bug"):
            raise ZeroDivisionError
        return f"{len(pcm) // 2} samples"


@pytest.fixture
def recogniser():
    return ScriptedRecogniser()


@pytest.fixture
def collected():
    return Collected()


@pytest.fixture
def recognitions(recogniser, collected):
    recognitions = Recognitions(recogniser)
    recognitions.start(collected)
    recognitions.listen(utterance(0, 0, 10, session="busy"))
    assert recogniser.begun.wait(WAIT_S)
    yield recognitions
    recogniser.go_on.set()
    recognitions.stop()


def utterance(operation: int, begin: int, end: int, *, session="s", pcm=None) -> Listen:
    return Listen(fence(session), Operation(operation), end, pcm or bytes(2 * (end - begin)), whole=True)


def test_a_recognition_is_measured_and_heard(recognitions, recogniser, collected):
    recogniser.go_on.set()
    measured, heard = collected.ended(0)
    assert isinstance(measured, Measured)
    assert measured.name == "recognise_ms"
    assert heard == Heard("10 samples")


def test_the_same_utterance_grown_longer_replaces_the_waiting_one(recognitions, recogniser, collected):
    recognitions.listen(utterance(1, 100, 200))
    recognitions.listen(utterance(2, 100, 300))
    (superseded,) = collected.ended(1)
    assert isinstance(superseded, Failed)
    assert superseded.code == "superseded"
    recogniser.go_on.set()
    assert collected.ended(2)[-1] == Heard("200 samples")


def test_another_utterance_and_another_session_replace_nothing(recognitions, recogniser, collected):
    recognitions.listen(utterance(1, 100, 200))
    recognitions.listen(utterance(2, 250, 350))
    recognitions.listen(utterance(3, 0, 400, session="t"))
    recogniser.go_on.set()
    assert [collected.ended(k)[-1] for k in (1, 2, 3)] == [
        Heard("100 samples"),
        Heard("100 samples"),
        Heard("400 samples"),
    ]


def test_a_closed_session_is_not_recognised(recognitions, recogniser, collected):
    recognitions.listen(utterance(1, 0, 50))
    recognitions.close("s")
    recognitions.listen(utterance(2, 0, 60, session="t"))
    recogniser.go_on.set()
    collected.ended(2)
    assert collected.bodies(1) == []


def test_a_failure_ends_one_recognition_and_not_the_thread(recognitions, recogniser, collected):
    recognitions.listen(utterance(1, 0, 3, pcm=b"bug..."))
    recognitions.listen(utterance(2, 10, 20))
    recogniser.go_on.set()
    assert collected.ended(1)[-1] == Failed("engine_error", "the recogniser failed")
    assert collected.ended(2)[-1] == Heard("10 samples")
