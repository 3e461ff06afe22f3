"""What it costs to listen to many at once: the voice detector's processor time for streams that speak.

    python -m bench.vad

Streams of recorded speech and pauses are fed to the engine of the `vad` stage at the pace of speech, each in
pieces at its own moments. Counted is the time of the engine's thread: cutting windows, gathering, inference,
and handing out the scores. Beside it stands what the same windows cost one by one, in one thread and without
any of that. What the link between the processes adds is counted apart: the same pieces and scores through
its codec, both ways.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click
from msgspec import Struct

from antiphon.actors.link.codec import command_decoder, encode_one, message_decoder
from antiphon.actors.stages.contract import Body, Listen, Output, Scored
from antiphon.actors.stages.vad.engine import VadEngine
from antiphon.actors.stages.vad.silero import Silero
from antiphon.actors.stages.vad.stream import WINDOW, Stream
from antiphon.events.ids import Fence, Operation, SessionId
from antiphon.events.units import BYTES_PER_SAMPLE, SAMPLE_RATE
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.questions import questions

PAUSE_S = 1.5
MOST_CORES, LEAST_GAIN = 0.8, 1.8
ALONE_S = 30.0
"""Of speech, for the windows that are run one by one."""


class Run(Struct, frozen=True):
    """`cores`: of the engine's thread. `waits_ms`: from a piece to its scores."""

    streams: int
    piece_ms: int
    seconds: float
    cores: float
    us_per_window: float
    windows: int
    waits_ms: list[float]


def conversation() -> bytes:
    """All recordings with pauses between them, at the session's rate."""
    pause = bytes(int(PAUSE_S * SAMPLE_RATE) * BYTES_PER_SAMPLE)
    return pause.join(question.pcm() for question in questions())


class Listening:
    """The engine with its streams: who is sent what, and when the answer came."""

    def __init__(self, streams: int, piece_ms: int) -> None:
        self._pcm, self._piece = conversation(), SAMPLE_RATE * piece_ms // 1000
        self._fences = [Fence(SessionId(f"s{k}"), 0, 0, 0) for k in range(streams)]
        self._sent_at: dict[tuple[SessionId, Operation], float] = {}
        self.waits_ms: list[float] = []
        self.windows = 0
        self.engine = VadEngine({"max_sessions": streams})
        self.engine.start(self._emit)
        for fence in self._fences:
            self.engine.open(fence, {})

    def send(self, stream: int, number: int) -> None:
        """The stream's piece of that number; each stream begins elsewhere in the conversation."""
        fence, operation = self._fences[stream], Operation(number)
        size = self._piece * BYTES_PER_SAMPLE
        start = (number * size + stream * 7_919 * size) % (len(self._pcm) - size)
        start -= start % BYTES_PER_SAMPLE
        self._sent_at[fence.session, operation] = time.perf_counter()
        self.engine.listen(
            Listen(fence, operation, (number + 1) * self._piece, self._pcm[start : start + size])
        )

    def _emit(self, fence: Fence, operation: Operation, body: Body, *, last: bool) -> None:
        self.waits_ms.append(1e3 * (time.perf_counter() - self._sent_at.pop((fence.session, operation))))
        if isinstance(body, Scored):
            self.windows += len(body.permille)

    def thread_s(self) -> float:
        """Processor time of the engine's thread so far."""
        ident = self.engine._thread.ident
        assert ident is not None
        return time.clock_gettime(time.pthread_getcpuclockid(ident))


def moments(streams: int, piece_ms: int, seconds: float) -> Iterator[tuple[float, int, int]]:
    """When which stream sends which of its pieces: at its own phase, for ever the same."""
    rng, every_s = Random(7), piece_ms / 1000
    phases = sorted((rng.random() * every_s, stream) for stream in range(streams))
    for number in range(int(seconds / every_s)):
        for phase, stream in phases:
            yield number * every_s + phase, stream, number


def run(streams: int, piece_ms: int, seconds: float) -> Run:
    listening = Listening(streams, piece_ms)
    gc.collect()
    try:
        before_s, began = listening.thread_s(), time.perf_counter()
        for at_s, stream, number in moments(streams, piece_ms, seconds):
            if (wait_s := at_s - (time.perf_counter() - began)) > 0:
                time.sleep(wait_s)
            listening.send(stream, number)
        elapsed_s, used_s = time.perf_counter() - began, listening.thread_s() - before_s
    finally:
        listening.engine.stop()
    windows = listening.windows
    cores, us = used_s / elapsed_s, 1e6 * used_s / windows
    return Run(streams, piece_ms, elapsed_s, cores, us, windows, listening.waits_ms)


def alone(piece_ms: int) -> float:
    """Microseconds of a window that is run by itself, as it comes."""
    pcm, size = conversation(), SAMPLE_RATE * piece_ms // 1000 * BYTES_PER_SAMPLE
    model, stream, windows = Silero(), Stream(), 0
    pieces = int(ALONE_S * 1000) // piece_ms
    before_s = time.thread_time()
    for number in range(pieces):
        start = number * size % (len(pcm) - size)
        for window in stream.hear((number + 1) * size // BYTES_PER_SAMPLE, pcm[start : start + size]):
            ((probability, memory),) = model.probabilities([window], [stream.memory])
            stream.scored(probability, memory)
            windows += 1
    return 1e6 * (time.thread_time() - before_s) / windows


def link_cores(streams: int, piece_ms: int) -> float:
    """What both ends of the link work for the pieces of a second, and for their scores."""
    fence, samples = Fence(SessionId("s"), 0, 0, 0), SAMPLE_RATE * piece_ms // 1000
    piece = Listen(fence, Operation(1), samples, bytes(samples * BYTES_PER_SAMPLE))
    body = Scored(samples, WINDOW, (1,) * max(1, samples // WINDOW))
    scores = Output(fence, Operation(1), 1, 0, True, body)
    stage, serving, count = command_decoder(), message_decoder(), 2_000
    before_s = time.thread_time()
    for _ in range(count):
        stage.feed(encode_one(piece))
        serving.feed(encode_one(scores))
    return (time.thread_time() - before_s) / count * streams * 1000 / piece_ms


@click.command()
@click.option("--streams", type=click.IntRange(1), default=200, show_default=True)
@click.option("--piece-ms", type=click.IntRange(20, 1000), default=500, show_default=True)
@click.option("--seconds", type=click.FloatRange(1), default=30.0, show_default=True)
@click.option("--short", is_flag=True, help="Only whether it works: few streams for a moment.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(streams: int, piece_ms: int, seconds: float, short: bool, json_path: Path | None) -> None:
    """Measure how much of a core listening takes; see the module's text for what is counted."""
    if short:
        streams, seconds = min(streams, 20), 2.0
    on = machine()
    click.echo(on)
    single_us = alone(piece_ms)
    found = run(streams, piece_ms, seconds)
    name = f"{streams} streams in pieces of {piece_ms} ms"
    limits = (None, None) if short else (MOST_CORES, LEAST_GAIN)
    figures = [
        Figure(f"{name}: windows, gathering, inference", found.cores, "cores", limits[0]),
        Figure("a window in company", found.us_per_window, "us", None, found.windows),
        Figure("a window alone", single_us, "us", None),
        Figure("cheaper", single_us / found.us_per_window, "x", limits[1], at_least=True),
        Figure("the link, both ends", link_cores(streams, piece_ms), "cores"),
        Figure("from a piece to its scores, median", quantile(found.waits_ms, 0.5), "ms"),
        Figure("the same, 99 %", quantile(found.waits_ms, 0.99), "ms"),
    ]
    click.echo()
    show(figures)
    write_json(json_path, machine=on, figures=figures, run=found)


if __name__ == "__main__":
    main()
