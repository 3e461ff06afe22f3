"""The queue before the recogniser, with a scripted one."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.stages.cascade.pieces import EARLIEST, LONGEST, pieces
from antiphon.actors.stages.cascade.recognitions import Recognitions
from antiphon.actors.stages.contract import Failed, Heard, Listen, Measured
from antiphon.events.ids import Operation
from antiphon.events.units import SAMPLE_RATE
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


def test_who_says_little_is_not_kept_waiting_by_who_says_much(recognitions, recogniser, collected):
    recognitions.listen(utterance(1, 0, 5 * LONGEST))
    recognitions.listen(utterance(2, 0, 400, session="t"))
    recogniser.go_on.set()
    heard = collected.ended(1)[-1].text.split(" samples")
    assert sum(map(int, filter(None, heard))) == 5 * LONGEST
    order = [operation for _, operation, body, _ in collected.outputs if isinstance(body, Heard)]
    assert order == [0, 2, 1]


def test_an_utterance_under_way_is_given_up_when_it_is_superseded_or_its_session_closes(
    recognitions, recogniser, collected
):
    recognitions.listen(utterance(1, 0, 20, session="busy"))  # contains what is being recognised
    assert collected.ended(0)[-1].code == "superseded"
    recognitions.close("busy")
    recognitions.listen(utterance(2, 0, 30))
    recogniser.go_on.set()
    assert collected.ended(2)[-1] == Heard("30 samples")
    assert len(collected.bodies(0)) == 1
    assert collected.bodies(1) == []


@given(st.integers(0, 3 * LONGEST), st.integers(0, 3 * LONGEST))
@settings(max_examples=20, deadline=None)
def test_pieces_are_the_whole_and_none_is_too_long(length, quiet_at):
    samples = np.full(length, 5_000, "<i2")
    samples[quiet_at : quiet_at + 4_800] = 0
    cut = pieces(samples.tobytes())
    assert b"".join(cut) == samples.tobytes()
    assert all(len(piece) <= 2 * LONGEST for piece in cut)
    assert all(len(piece) >= 2 * EARLIEST for piece in cut[:-1])


def test_a_long_utterance_is_cut_where_nobody_speaks():
    samples = np.full(LONGEST + 1, 5_000, "<i2")
    samples[10 * SAMPLE_RATE : 10 * SAMPLE_RATE + 4_800] = 3
    first, _ = pieces(samples.tobytes())
    assert 10 * SAMPLE_RATE < len(first) // 2 < 10 * SAMPLE_RATE + 4_800
