from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.media.resample import Resampler, resample


def tone(rate: int, seconds: float, hertz: float = 440.0) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(np.float32)


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 9600), max_size=12), rate=st.sampled_from([8000, 16000, 44100, 48000]))
def test_a_stream_cut_anywhere_sounds_like_the_whole(cuts, rate):
    sound = tone(24000, 0.4)
    resampler = Resampler(24000, rate)
    places = [0, *sorted(cuts), len(sound)]
    pieces = [resampler.feed(sound[a:b]) for a, b in pairwise(places)]
    streamed = np.concatenate([*pieces, resampler.finish()])
    whole = resample(sound, 24000, rate)
    assert len(streamed) == len(whole)
    assert np.max(np.abs(streamed - whole)) < 1e-3


@pytest.mark.parametrize("quality", ["high", "low"])
def test_a_click_keeps_its_place(quality):
    click = np.zeros(24000, np.float32)
    click[12000] = 1
    resampler = Resampler(24000, 16000, quality=quality)
    out = np.concatenate([resampler.feed(click), resampler.finish()])
    assert (int(np.argmax(np.abs(out))), len(out)) == (8000, 16000)


def test_low_quality_holds_back_less_than_seven_milliseconds():
    resampler = Resampler(24000, 16000, quality="low")
    given_back = sum(len(resampler.feed(np.zeros(480, np.float32))) for _ in range(50))
    assert 50 * 320 - given_back <= 100


def test_the_same_rate_changes_nothing():
    sound = tone(24000, 0.1)
    assert resample(sound, 24000, 24000) is sound


def test_a_finished_stream_cannot_go_on():
    resampler = Resampler(24000, 16000)
    resampler.finish()
    with pytest.raises(RuntimeError):
        resampler.feed(np.zeros(10, np.float32))
