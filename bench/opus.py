"""What Opus costs: CPU time of decoding and encoding 80 ms of speech, as a call over the Moshi wire does.

python -m bench.opus            ten minutes of sound
python -m bench.opus --short    half a minute: does it work
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from antiphon.media.opus import OpusReader, OpusWriter
from antiphon.media.pcm import to_pcm

from .questions import RATE, questions

FRAME_MS = 80
FRAME_BYTES = 2 * 24 * FRAME_MS

T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true", help="half a minute of sound")
    seconds = 30 if parser.parse_args().short else 600
    frames = speech(seconds)
    writer, reader = OpusWriter(), OpusReader()
    pages, encode_s = timed(frames, writer.append)
    _, decode_s = timed(pages, reader.feed)
    kbit = 8 * sum(map(len, pages)) / seconds / 1000
    print(f"{len(frames)} frames of {FRAME_MS} ms, {kbit:.1f} kbit/s")
    show("encode", encode_s)
    show("decode", decode_s)
    show("both", [one + other for one, other in zip(encode_s, decode_s, strict=True)])


def speech(seconds: int) -> list[bytes]:
    """The recorded questions, one after the other."""
    spoken = np.concatenate([question.samples() for question in questions()])
    pcm = to_pcm(np.resize(spoken, RATE * seconds))
    return [pcm[at : at + FRAME_BYTES] for at in range(0, len(pcm), FRAME_BYTES)]


def timed(pieces: list[bytes], work: Callable[[bytes], T]) -> tuple[list[T], list[float]]:
    """What came of each, and the CPU seconds of each."""
    results, seconds = [], []
    for piece in pieces:
        began = time.thread_time()
        results.append(work(piece))
        seconds.append(time.thread_time() - began)
    return results, seconds


def show(name: str, seconds: list[float]) -> None:
    ms = np.array(seconds) * 1000
    print(f"{name:>7}: mean {ms.mean():.2f} ms, p50 {np.median(ms):.2f}, p99 {np.percentile(ms, 99):.2f} CPU")


if __name__ == "__main__":
    main()
