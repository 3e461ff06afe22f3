"""The voice detector on the shipped recordings."""

import sys

import numpy as np
import pytest

from antiphon.actors.stages.contract import Consumed, EngineRefused, Failed, Listen, Scored
from antiphon.events.ids import Operation
from antiphon.media.pcm import to_float, to_pcm
from bench.questions import questions, speech_end, with_noise
from tests.stages.collecting import Collected, fence

pytestmark = pytest.mark.cascade
pytest.importorskip("onnxruntime")

from antiphon.actors.stages.vad.engine import VadEngine  # noqa: E402  # after importorskip

PIECE = 480
"""20 ms, what a browser sends."""


@pytest.fixture
def engine():
    engine = VadEngine({})
    yield engine
    engine.stop()


@pytest.fixture
def collected(engine):
    collected = Collected()
    engine.start(collected)
    return collected


def padded(samples: np.ndarray, before_ms: int = 640, after_ms: int = 640) -> bytes:
    return bytes(before_ms * 48) + to_pcm(samples) + bytes(after_ms * 48)


def score(engine, collected, pcm, *, session="s", first=0, piece=PIECE) -> tuple[list[int], list[int]]:
    """Permille of every window, and where each ends."""
    samples = len(pcm) // 2
    operations = []
    for number, start in enumerate(range(0, samples, piece)):
        end = min(start + piece, samples)
        operation = Operation(first + number)
        engine.listen(Listen(fence(session), operation, end, pcm[2 * start : 2 * end]))
        operations.append(operation)
    permille, ends = [], []
    for operation in operations:
        (body,) = collected.ended(operation)
        if isinstance(body, Scored):
            ends += [body.until_sample - body.window * k for k in reversed(range(len(body.permille)))]
            permille += body.permille
        else:
            assert isinstance(body, Consumed)
    return permille, ends


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.file)
@pytest.mark.parametrize("snr_db", [None, 10.0])
def test_speech_is_found_where_it_is(engine, collected, question, snr_db):
    samples = question.samples()
    pcm = padded(samples) if snr_db is None else to_pcm(with_noise(to_float(padded(samples)), snr_db=snr_db))
    engine.open(fence(), {})
    permille, ends = score(engine, collected, pcm)
    speech = [end for end, p in zip(ends, permille, strict=True) if p >= 500]
    begin, end = 640 * 24, 640 * 24 + speech_end(samples)
    assert begin < speech[0] < begin + 24_000 / 2
    assert abs(speech[-1] - end) < 24_000 * 0.4
    assert all(p < 500 for end, p in zip(ends, permille, strict=True) if end <= begin)


def test_two_sessions_at_once_are_scored_as_each_alone(engine, collected):
    first, second = (padded(question.samples()) for question in questions()[:2])
    pieces = [len(first), len(second)]
    for name in ("a", "b", "alone-a", "alone-b"):
        engine.open(fence(name), {})
    alone = [
        score(engine, collected, first, session="alone-a", first=10_000)[0],
        score(engine, collected, second, session="alone-b", first=20_000)[0],
    ]
    for start in range(0, max(pieces), 2 * PIECE):
        for name, pcm, base in (("a", first, 30_000), ("b", second, 40_000)):
            piece = pcm[start : start + 2 * PIECE]
            if piece:
                until = start // 2 + len(piece) // 2
                engine.listen(Listen(fence(name), Operation(base + start // (2 * PIECE)), until, piece))
    together = []
    for pcm, base in ((first, 30_000), (second, 40_000)):
        bodies = [collected.ended(base + k)[0] for k in range(-(-len(pcm) // (2 * PIECE)))]
        together.append([p for body in bodies if isinstance(body, Scored) for p in body.permille])
    assert together == alone


def test_an_utterance_starts_and_stops_alike_whatever_was_said_before(engine, collected):
    def edges(permille: list[int]) -> tuple[int, int]:
        speech = [k for k, p in enumerate(permille) if p >= 500]
        return speech[0], speech[-1]

    gap, call = 40 * 768, []
    for question in questions()[:8]:
        sound = question.samples()
        call += [np.zeros(gap, np.float32), np.pad(sound, (0, -len(sound) % 768))]
    engine.open(fence("call"), {})
    pcm = to_pcm(np.concatenate([*call, np.zeros(gap, np.float32)]))
    whole, _ = score(engine, collected, pcm, session="call", first=0, piece=7680)
    at = 0
    for k in range(8):
        begin, windows = at // 768 + 20, (gap + len(call[2 * k + 1])) // 768
        at += gap + len(call[2 * k + 1])
        alone = to_pcm(np.concatenate([call[2 * k][: 20 * 768], call[2 * k + 1], np.zeros(gap, np.float32)]))
        name = f"alone-{k}"
        engine.open(fence(name), {})
        scored, _ = score(engine, collected, alone, session=name, first=10_000 * (k + 1), piece=7680)
        together = edges(whole[begin : begin + windows])
        assert np.abs(np.subtract(together, edges(scored[:windows]))).max() <= 1, question_name(k)


def question_name(k: int) -> str:
    return questions()[k].file


def test_noise_and_silence_are_no_speech(engine, collected):
    hiss = np.random.default_rng(3).normal(0, 0.05, 48_000).astype(np.float32)
    engine.open(fence(), {})
    permille, _ = score(engine, collected, to_pcm(hiss) + bytes(96_000))
    assert max(permille) < 500


def test_half_a_sample_is_refused_and_the_stream_goes_on(engine, collected):
    engine.open(fence(), {})
    engine.listen(Listen(fence(), Operation(1), 1, b"abc"))
    (refused,) = collected.ended(1)
    assert isinstance(refused, Failed)
    assert refused.code == "bad_audio"
    pcm = padded(to_float(questions()[0].pcm()))
    assert max(score(engine, collected, pcm, first=10)[0]) > 900


def test_unknown_settings_are_refused():
    with pytest.raises(EngineRefused, match="thresold"):
        VadEngine({"thresold": 0.5})


def test_torch_is_not_needed(engine):
    assert "torch" not in sys.modules
    assert "silero_vad" not in sys.modules
