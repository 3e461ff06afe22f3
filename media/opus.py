"""Ogg Opus as a stream of bytes: what Moshi's clients send and play. 24 kHz mono in both directions.

The work is libopus's, in the `sphn` package (an extra: antiphon[personaplex]), imported when it is first
needed. It takes 0.2 ms of a core to decode 80 ms and 1.5 ms to encode them, and no call of it may block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .pcm import to_float, to_pcm

RATE = 24_000
MOST_BYTES = 64 * 1024
"""Of one piece of a stream: more than anybody sends, and less than the 8 s that the decoder has room for."""
PAGE = b"OggS"
PACKET = RATE // 25
"""Samples of one packet as it is written: 40 ms."""


class OpusMissing(Exception):
    """The codec is not installed."""

    code = "opus_unavailable"


class Undecodable(ValueError):
    """This piece of the stream is lost. The stream goes on with the next piece that has a page in it."""

    code = "undecodable_audio"


def codec() -> Any:
    """The `sphn` package. Raises OpusMissing."""
    try:
        import sphn
    except ImportError as error:
        raise OpusMissing("Opus needs antiphon[personaplex]: pip install 'sphn==0.2.1'") from error
    return sphn


class OpusReader:
    """Decodes one connection's stream, whatever the pieces are that it comes in.

    A decoder that has met something else is of no more use: it is replaced, and the new one is given nothing
    before the beginning of a page. It does without the headers, which come but once. Checksums of pages are
    not looked at.
    """

    def __init__(self) -> None:
        self._sphn = codec()
        self._stream = self._sphn.OpusStreamReader(RATE)
        self._lost = False

    def feed(self, piece: bytes) -> bytes:
        """What can be heard by now: mono pcm16 at 24 kHz, maybe none. Raises Undecodable."""
        if len(piece) > MOST_BYTES:
            self._begin_anew()
            raise Undecodable(f"{len(piece)} bytes in one piece: {MOST_BYTES} are the most")
        if self._lost:
            start = piece.find(PAGE)
            if start < 0:
                raise Undecodable("no page of Ogg begins in it")
            piece, self._lost = piece[start:], False
        try:
            samples = self._stream.append_bytes(piece)
        except ValueError as error:
            self._begin_anew()
            raise Undecodable(str(error)[:200]) from error
        return to_pcm(samples)

    def _begin_anew(self) -> None:
        self._stream, self._lost = self._sphn.OpusStreamReader(RATE), True


class OpusWriter:
    """Encodes one stream; a new one begins with its headers."""

    def __init__(self) -> None:
        self._stream = codec().OpusStreamWriter(RATE)

    def append(self, pcm: bytes) -> bytes:
        """The pages that are whole by now, of pcm16 at 24 kHz. Less than PACKET waits for the rest."""
        pages: bytes = self._stream.append_pcm(np.ascontiguousarray(to_float(pcm)))
        return pages
