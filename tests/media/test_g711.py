"""G.711 by its tables, against Python's own implementation (which it had until 3.12)."""

import numpy as np
import pytest

from antiphon.media.g711 import decode, encode

EVERY_BYTE = bytes(range(256))
EVERY_SAMPLE = np.arange(-32768, 32768).astype(np.int16)
LAWS = ("g711_ulaw", "g711_alaw")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("law", LAWS)
def test_every_byte_and_every_sample_is_as_the_standard_library_has_it(law):
    audioop = pytest.importorskip("audioop")
    name = law.removeprefix("g711_")
    to_linear, from_linear = getattr(audioop, f"{name}2lin"), getattr(audioop, f"lin2{name}")
    assert decode(EVERY_BYTE, law).astype("<i2").tobytes() == to_linear(EVERY_BYTE, 2)
    assert encode(EVERY_SAMPLE, law) == from_linear(EVERY_SAMPLE.astype("<i2").tobytes(), 2)


def test_known_values():
    """From the tables of the recommendation: the loudest, the softest, and silence."""
    assert decode(b"\x00\x80\xff\x7f", "g711_ulaw").tolist() == [-32124, 32124, 0, 0]
    assert decode(b"\xd5\x55\xaa\x2a", "g711_alaw").tolist() == [8, -8, 32256, -32256]


@pytest.mark.parametrize("law", LAWS)
def test_what_was_decoded_is_encoded_to_the_same_sound(law):
    samples = decode(EVERY_BYTE, law)
    assert (decode(encode(samples, law), law) == samples).all()
