"""Opus streams as clients send them: whole, in pieces, damaged, and none at all."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from antiphon.media.opus import MOST_BYTES, OpusMissing, OpusReader, OpusWriter, Undecodable
from antiphon.media.pcm import to_float, to_pcm

FRAME = 1920


def browser_pages() -> list[bytes]:
    """What the encoder of the official browser client sent for one second: 28 messages."""
    recorded = (Path(__file__).parent / "moshi_browser_pages.bin").read_bytes()
    return list(_pieces(recorded))


def _pieces(recorded: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(recorded):
        (size,) = struct.unpack_from("<I", recorded, at)
        yield recorded[at + 4 : at + 4 + size]
        at += 4 + size


def tone(seconds: float) -> bytes:
    times = np.arange(int(24_000 * seconds)) / 24_000
    return to_pcm((0.3 * np.sin(2 * np.pi * 440 * times)).astype(np.float32))


def written(seconds: float = 2.0) -> list[bytes]:
    """A stream in pieces of one frame of 80 ms each."""
    writer, pcm = OpusWriter(), tone(seconds)
    return [writer.append(pcm[at : at + 2 * FRAME]) for at in range(0, len(pcm), 2 * FRAME)]


def loudness(pcm: bytes) -> float:
    samples = to_float(pcm)
    return float(np.sqrt(samples.dot(samples) / max(len(samples), 1)))


def test_the_browsers_headers_are_silent_and_each_page_is_40_ms() -> None:
    reader = OpusReader()
    heard = [len(reader.feed(page)) // 2 for page in browser_pages()]
    assert heard[:3] == [0, 0, 960]
    assert set(heard[2:-1]) == {960}
    assert sum(heard) == 24_000


def test_what_is_written_is_read_again() -> None:
    reader = OpusReader()
    pcm = b"".join(reader.feed(piece) for piece in written())
    assert abs(len(pcm) // 2 - 48_000) <= FRAME
    spectrum = np.abs(np.fft.rfft(to_float(pcm[9_600:57_600])))
    assert spectrum.argmax() == 440
    assert loudness(pcm) == pytest.approx(0.3 / 2**0.5, rel=0.1)


def test_a_new_stream_begins_with_its_headers() -> None:
    first, second = written(0.16)
    assert first.startswith(b"OggS")
    assert b"OpusHead" in first
    assert b"OpusTags" in first
    assert b"OpusHead" not in second


def test_pieces_may_be_cut_anywhere() -> None:
    stream = b"".join(browser_pages())
    whole, halves = OpusReader(), OpusReader()
    expected = b"".join(whole.feed(page) for page in browser_pages())
    assert b"".join(halves.feed(stream[at : at + 37]) for at in range(0, len(stream), 37)) == expected


def test_after_garbage_the_next_page_is_heard() -> None:
    reader, pieces = OpusReader(), written()
    for piece in pieces[:5]:
        reader.feed(piece)
    with pytest.raises(Undecodable):
        reader.feed(b"garbage, and then some more of it" * 4)
    heard = [reader.feed(piece) for piece in pieces[5:8]]
    assert any(loudness(pcm) > 0.1 for pcm in heard[:2]), "within two messages"


def test_packets_without_ogg_are_never_understood() -> None:
    reader = OpusReader()
    for _ in range(5):
        with pytest.raises(Undecodable):
            reader.feed(b"\xf8\xff\xfe" + bytes(80))


def test_a_piece_that_is_too_long_is_lost_and_the_rest_is_heard() -> None:
    reader, pieces = OpusReader(), written()
    with pytest.raises(Undecodable, match=str(MOST_BYTES)):
        reader.feed(pieces[0] + bytes(MOST_BYTES))
    assert len(reader.feed(pieces[1])) == 2 * FRAME


def test_a_stream_that_begins_again_is_heard_on() -> None:
    reader = OpusReader()
    heard = [len(reader.feed(piece)) for piece in [*written(0.8), *written(0.8)]]
    assert sum(heard) > 2 * 24_000 * 2 * 0.7


def test_any_bytes_at_all_are_decoded_or_refused() -> None:
    rng = np.random.default_rng(1)
    reader = OpusReader()
    for n in range(300):
        piece = rng.bytes(int(rng.integers(0, 400)))
        if n % 3 == 0:
            piece = browser_pages()[n % 28] + piece
        try:
            assert len(reader.feed(piece)) % 2 == 0
        except Undecodable:
            continue


def test_without_the_codec_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sphn", None)
    with pytest.raises(OpusMissing, match="sphn"):
        OpusReader()
