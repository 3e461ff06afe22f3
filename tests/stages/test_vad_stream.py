"""The windows of a stream, without the detector."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.stages.vad.stream import QUIET_WINDOWS, WINDOW, Stream
from antiphon.media.pcm import to_pcm


def noise(samples: int, seed: int = 0) -> bytes:
    return to_pcm(np.random.default_rng(seed).normal(0, 0.1, samples).astype(np.float32))


def hear_in_pieces(stream: Stream, pcm: bytes, cuts: list[int], start: int = 0) -> list[np.ndarray]:
    places = [0, *sorted(cuts), len(pcm) // 2]
    windows = []
    for a, b in pairwise(places):
        windows += stream.hear(start + b, pcm[2 * a : 2 * b])
    return windows


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, 9000), max_size=15))
def test_windows_do_not_depend_on_how_the_audio_is_cut(cuts):
    pcm = noise(9000)
    whole, cut = Stream().hear(9000, pcm), hear_in_pieces(Stream(), pcm, cuts)
    both = min(len(whole), len(cut))
    assert both >= 9000 // WINDOW - 1
    assert all(np.allclose(a, b, atol=1e-4) for a, b in zip(whole[:both], cut[:both], strict=True))


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, 48000), max_size=40))
def test_a_score_never_runs_ahead_of_the_audio_and_lags_less_than_two_windows(cuts):
    stream, pcm = Stream(), noise(48000)
    places = [0, *sorted(cuts), 48000]
    for a, b in pairwise(places):
        for _ in stream.hear(b, pcm[2 * a : 2 * b]):
            stream.scored(0.0, stream.memory)
        assert b - 2 * WINDOW < stream.scored_until <= b


def test_each_window_begins_with_the_end_of_the_one_before():
    windows = Stream().hear(9000, noise(9000))
    assert not windows[0][:64].any()
    assert all(np.array_equal(b[:64], a[-64:]) for a, b in pairwise(windows))


def test_a_gap_begins_a_new_stream_at_its_own_sample():
    stream = Stream()
    for _ in stream.hear(4800, noise(4800)):
        stream.scored(0.9, np.ones((2, 1, 128), np.float32))
    after_gap = stream.hear(104_800, noise(4800, seed=1))
    alone = Stream().hear(4800, noise(4800, seed=1))
    assert all(np.array_equal(a, b) for a, b in zip(after_gap, alone, strict=True))
    assert not stream.memory.any()
    stream.scored(0.0, stream.memory)
    assert stream.scored_until == 100_000 + WINDOW


def test_the_memory_is_cleared_when_an_utterance_is_over_and_not_before():
    stream, kept = Stream(), np.ones((2, 1, 128), np.float32)
    for probability in [0.9] + [0.02] * (QUIET_WINDOWS - 1):
        stream.scored(probability, kept)
        assert stream.memory is kept
    stream.scored(0.02, kept)
    assert not stream.memory.any()


def test_silence_alone_clears_nothing():
    stream, kept = Stream(), np.ones((2, 1, 128), np.float32)
    for _ in range(100):
        stream.scored(0.02, kept)
    assert stream.memory is kept
