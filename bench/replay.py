"""How much faster than it was spoken a call is verified: projected again, compared; and with its audio.

    python -m bench.replay

The call is ten minutes of full duplex, written as the server writes it: every 80 ms a piece of the user's
audio, its voice score and a piece of the answer, every 240 ms a report of what was sent. One core, one
process; the reading of the log is part of it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import Fence, ItemId, Operation, ResponseId, Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    Abilities,
    AudioSent,
    AudioSpoken,
    ClientAttached,
    Config,
    Event,
    FramesSent,
    InputAppended,
    ResponseCreated,
    SessionOpened,
    VoiceScored,
    WriterOpened,
)
from antiphon.projections.base import Digest, frame_number
from antiphon.projections.dialects import DIALECTS
from antiphon.replay.verify import verify
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine

SESSION, RESPONSE = SessionId("call"), ResponseId("resp")
PIECE_MS, PIECE = 80, 1_920
EVERY = 3
"""Pieces between two reports of what was sent."""


@click.command()
@click.option("--minutes", type=click.IntRange(1, 60), default=10, show_default=True)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(minutes: int, runs: int, json_path: Path | None) -> None:
    """Verify a recorded call; the median counts."""
    on = machine()
    click.echo(on)
    speeds, rates, whole = [], [], []
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        log = SegmentLog(Path(folder), deliver=lambda call: call())
        Call(log).speak(minutes * 60_000)
        for _ in range(runs):
            began = time.process_time()
            verdict = verify(log, SESSION)
            took = time.process_time() - began
            if not verdict.same:
                raise click.ClickException(f"the call is not what it was: {verdict.difference}")
            speeds.append(verdict.seconds / took)
            rates.append(verdict.events / took)
            click.echo(f"{verdict.events} events, {verdict.frames} frames in {took:.2f} s: {speeds[-1]:.0f}x")
            began = time.process_time()
            verdict = verify(log, SESSION, audio=True)
            whole.append(verdict.audio_s / (time.process_time() - began))
    figures = [
        Figure("verifying, times real time", quantile(speeds, 0.5), "x", 1_000, runs, at_least=True),
        Figure("verifying with its audio", quantile(whole, 0.5), "x", 100, runs, at_least=True),
        Figure("events verified", quantile(rates, 0.5), "/s", None, runs),
    ]
    click.echo()
    show(figures)
    write_json(json_path, machine=on, minutes=minutes, figures=figures)


class Call:
    """Writes a call into a log, reports of what its client was sent among it."""

    def __init__(self, log: SegmentLog) -> None:
        self._log, self._seq, self._ms = log, 0, 0
        self._lease, _ = log.open(SESSION, expect=Expect.NEW, owner="bench")
        self._projection, self._digest = DIALECTS["realtime"], Digest()
        self._view = self._projection.begin(1)
        self._through = -1

    def speak(self, ms: int) -> None:
        for event, payload in self._beginning():
            self._write(event, payload)
        for piece in range(1, ms // PIECE_MS + 1):
            self._ms += PIECE_MS
            for event, payload in self._piece(piece):
                self._write(event, payload)
            if piece % EVERY == 0:
                self._write(self._report(piece), None)
        self._log.release(self._lease)

    def _beginning(self) -> Iterator[tuple[Event, bytes | None]]:
        abilities = Abilities(stage="bench", hears="continuously", detects_voice=True)
        yield WriterOpened(writer_epoch=1, code="bench", boot="bench"), None
        yield (
            SessionOpened(
                session=SESSION, incarnation=0, mode="duplex", abilities=abilities, config=Config()
            ),
            None,
        )
        yield ClientAttached(attachment=1, dialect="realtime"), None
        fence = Fence(SESSION, 0, 0, 1, RESPONSE)
        yield ResponseCreated(response=RESPONSE, item=ItemId("item"), fence=fence, asked=False), None

    def _piece(self, n: int) -> Iterator[tuple[Event, bytes | None]]:
        until, pcm = Samples(n * PIECE), n.to_bytes(4, "little") * (PIECE // 2)
        heard = self._seq
        yield InputAppended(samples=Samples(PIECE), until_sample=until), pcm
        yield VoiceScored(until_sample=until, window=Samples(PIECE), permille=(900,)), None
        spoken = AudioSpoken(
            response=RESPONSE, samples=Samples(PIECE), until_sample=until, operation=Operation(heard), index=0
        )
        yield spoken, pcm

    def _report(self, n: int) -> FramesSent:
        return FramesSent(
            attachment=1,
            through=self._through,
            projection=self._projection.version,
            digest=self._digest.of_bytes(),
            meaning=self._digest.of_meaning(),
            audio=(AudioSent(RESPONSE, Samples(n * PIECE), 0),),
        )

    def _write(self, event: Event, payload: bytes | None) -> None:
        """Store it, and send its frames to nobody."""
        at = Moment(self._ms * 1_000_000, self._ms * 1_000_000)
        ack = self._log.append(self._lease, Seq(self._seq), [Draft(event, at, payload)]).result()
        stored = Stored(Seq(self._seq), at, event, ack.blobs[0], None, not event.ancillary)
        self._view, frames = self._projection.step(self._view, stored)
        for k, frame in enumerate(frames):
            self._digest.add(self._projection.encode(frame), self._projection.meaning(frame, stored))
            self._through = frame_number(stored.seq, k)
        self._seq += 1


if __name__ == "__main__":
    main()
