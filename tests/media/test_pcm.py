import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.media.pcm import OddLength, to_float, to_pcm

whole_samples = st.binary(max_size=400).map(lambda piece: piece[: len(piece) // 2 * 2])


@given(whole_samples)
def test_pcm_survives_the_way_to_float_and_back(pcm):
    assert to_pcm(to_float(pcm)) == pcm


@given(st.lists(st.floats(-8, 8, width=32), max_size=50))
def test_what_is_too_loud_is_clipped_and_never_wraps(loud):
    samples = np.array(loud, np.float32)
    back = to_float(to_pcm(samples))
    assert np.all(np.abs(back - np.clip(samples, -1, 1)) <= 1 / 32768)


def test_half_a_sample_is_refused():
    with pytest.raises(OddLength) as refused:
        to_float(b"abc")
    assert refused.value.code == "odd_pcm_length"
