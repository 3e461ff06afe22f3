"""A sound on its way out is the same however it is cut, to the sample."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.media import g711
from antiphon.media.encodings import Encoding, to_samples
from antiphon.media.outgoing import Outgoing
from antiphon.media.pcm import to_pcm

SOUND = to_pcm((0.3 * np.sin(np.arange(24_000) / 9)).astype(np.float32))


def cut(cuts: list[int]) -> list[bytes]:
    places = np.minimum(np.cumsum([0, *cuts, len(SOUND)]), len(SOUND) // 2)
    return [SOUND[2 * a : 2 * b] for a, b in pairwise(places) if b > a]


@pytest.mark.parametrize(
    ("rate", "encoding"), [(8_000, "g711_ulaw"), (8_000, "g711_alaw"), (16_000, "pcm16")]
)
def test_however_it_is_cut_it_is_the_same(rate: int, encoding: Encoding) -> None:
    def said(pieces: list[bytes]) -> bytes:
        stream = Outgoing(24_000, rate, encoding)
        return b"".join(stream.convert(piece) for piece in pieces) + stream.finish()

    whole = said([SOUND])
    assert len(to_samples(whole, encoding)) == len(SOUND) // 2 * rate // 24_000

    @settings(max_examples=25, deadline=None)
    @given(cuts=st.lists(st.integers(1, 9_000), max_size=8))
    def law(cuts: list[int]) -> None:
        assert said(cut(cuts)) == whole

    law()


def test_what_needs_no_change_is_not_touched() -> None:
    stream = Outgoing(24_000, 24_000, "pcm16")
    assert stream.convert(SOUND) is SOUND
    assert stream.finish() == b""


def test_at_the_same_rate_each_sample_is_encoded_as_it_comes() -> None:
    stream = Outgoing(8_000, 8_000, "g711_ulaw")
    assert stream.convert(SOUND) == g711.encode(np.frombuffer(SOUND, "<i2"), "g711_ulaw")
    assert stream.finish() == b""
