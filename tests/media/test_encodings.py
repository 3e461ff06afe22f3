import numpy as np
import pytest

from antiphon.media.encodings import ENCODINGS, WIDTH, NotSamples, from_samples, to_samples
from antiphon.media.wav import read_wav

TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(8_000) / 8_000)).astype(np.float32)
LOSS = {"pcm16": 2e-5, "pcm_f32le": 0.0, "g711_ulaw": 0.02, "g711_alaw": 0.02}


@pytest.mark.parametrize("encoding", LOSS)
def test_a_tone_survives(encoding):
    raw = from_samples(TONE, 8_000, encoding)
    assert len(raw) == len(TONE) * WIDTH[encoding]
    back = to_samples(raw, encoding)
    assert back.dtype == np.float32
    assert np.max(np.abs(back - TONE)) <= LOSS[encoding]


def test_a_wav_is_a_file_and_knows_its_rate():
    sound = read_wav(from_samples(TONE, 8_000, "wav"))
    assert (sound.rate, len(sound.samples)) == (8_000, len(TONE))
    with pytest.raises(NotSamples):
        to_samples(b"RIFF", "wav")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_floats_that_are_no_numbers_are_no_samples(value):
    with pytest.raises(NotSamples):
        to_samples(np.array([0.0, value], "<f4").tobytes(), "pcm_f32le")


def test_what_is_too_loud_is_clipped_where_there_is_a_limit():
    loud = np.array([2.0, -2.0], np.float32)
    assert np.frombuffer(from_samples(loud, 8_000, "pcm16"), "<i2").tolist() == [32767, -32768]
    assert to_samples(from_samples(loud, 8_000, "pcm_f32le"), "pcm_f32le").tolist() == [2.0, -2.0]


def test_every_encoding_has_a_width():
    assert set(WIDTH) == set(ENCODINGS)
