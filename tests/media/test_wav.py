import contextlib
import io
import struct
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from antiphon.media.wav import NotWav, TruncatedWav, UnsupportedWav, WavError, read_wav, write_wav

samples_in_range = st.floats(-1, 1, width=32, exclude_max=True)
mono = arrays.arrays(np.float32, st.integers(0, 60), elements=samples_in_range)
rates = st.integers(1, 192_000)


@given(mono, rates)
def test_float_samples_come_back_exactly(samples, rate):
    sound = read_wav(write_wav(samples, rate, encoding="float32"))
    assert sound.rate == rate
    assert np.array_equal(sound.samples, samples)


@given(mono, rates)
def test_sixteen_bit_samples_come_back_within_half_a_step(samples, rate):
    sound = read_wav(write_wav(samples, rate))
    assert np.all(np.abs(sound.samples - samples) <= 1 / 32768)


@given(mono)
def test_stereo_is_mixed_to_mono(left):
    stereo = np.stack([left, np.zeros_like(left)], axis=1)
    sound = read_wav(write_wav(stereo, 24000, encoding="float32"))
    assert np.allclose(sound.samples, left / 2)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused_with_a_reason(noise):
    for contents in (
        noise,
        b"RIFF\0\0\0\0WAVE" + noise,
        write_wav(np.zeros(4, np.float32), 8000)[:36] + noise,
    ):
        with contextlib.suppress(WavError):
            read_wav(contents)


def test_the_standard_library_reads_what_we_write():
    with wave.open(io.BytesIO(write_wav(np.array([0, 0.5, -1], np.float32), 24000))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24000)
        assert struct.unpack("<3h", file.readframes(3)) == (0, 16384, -32768)


def test_chunks_that_are_not_samples_are_skipped():
    plain = write_wav(np.array([0.25], np.float32), 8000)
    with_list = plain[:12] + b"LIST" + struct.pack("<I", 3) + b"abc\0" + plain[12:]
    assert read_wav(with_list).samples.tolist() == [0.25]


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_file_written_into_a_pipe_ends_where_its_bytes_end(size):
    plain = write_wav(np.array([0.25, 0.5], np.float32), 8000)
    assert len(read_wav(plain[:40] + struct.pack("<I", size) + plain[44:]).samples) == 2


def test_an_extensible_header_is_understood():
    plain = write_wav(np.array([0.25], np.float32), 8000)
    head = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4)
    guid = struct.pack("<H", 1) + bytes.fromhex("000000001000800000aa00389b71")
    extensible = b"fmt " + struct.pack("<I", 40) + head + guid
    assert read_wav(plain[:12] + extensible + plain[36:]).samples.tolist() == [0.25]


def test_a_cut_file_is_refused_and_not_guessed():
    with pytest.raises(TruncatedWav):
        read_wav(write_wav(np.zeros(100, np.float32), 8000)[:-1])


@pytest.mark.parametrize(("kind", "channels", "bits"), [(6, 1, 8), (1, 1, 24), (1, 6, 16)])
def test_other_formats_are_named_in_the_refusal(kind, channels, bits):
    head = struct.pack("<HHIIHH", kind, channels, 8000, 8000, 1, bits)
    contents = b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 16) + head + b"data\0\0\0\0"
    with pytest.raises(UnsupportedWav):
        read_wav(contents)


def test_samples_without_a_format_are_refused():
    with pytest.raises(NotWav):
        read_wav(b"RIFF\0\0\0\0WAVEdata" + struct.pack("<I", 2) + b"\0\0")
