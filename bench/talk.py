"""How a conversation feels: 20 spoken questions, three times each, through a real server and real clients.

    python -m bench.talk                     starts its own server with the embedded default
    python -m bench.talk --url ws://HOST/v1/realtime      measures one that runs (key from ANTIPHON_API_KEY)

Each question has a call of its own, so that answers can be compared. Then answers are broken into, and then
several conversations of some turns each are held at once. Times are taken at the client, when its program
reads the event. Every question and answer is printed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click

from antiphon.clients.call import CallError
from bench.conversations import Asked, BrokenInto, Recording, ask_alone, break_in, converse
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.questions import questions
from bench.server import serving
from bench.words import word_error_rate

BREAK_INS = 12
TURNS = 4
"""Questions per conversation, where many are held at once."""


@click.command()
@click.option("--url", help="A running server; without it one is started.")
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="Times to ask each question."
)
@click.option(
    "--concurrency", type=click.IntRange(0), default=8, show_default=True, help="Conversations at once."
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(url: str | None, rounds: int, concurrency: int, json_path: Path | None) -> None:
    """Measure how soon, how well and how smoothly a server answers speech."""
    on = machine()
    click.echo(on)
    if url is None:
        with serving("cascade") as server:
            told = asyncio.run(run(server.url, None, rounds, concurrency))
    else:
        told = asyncio.run(run(url, os.environ.get("ANTIPHON_API_KEY"), rounds, concurrency))
    figures = [*answers(told[0]), *break_ins(told[1]), *at_once(told[2], concurrency)]
    click.echo()
    show(figures)
    write_json(json_path, machine=on, figures=figures, asked=told[0], broken_into=told[1], at_once=told[2])


async def run(
    url: str, key: str | None, rounds: int, concurrency: int
) -> tuple[list[Asked], list[BrokenInto], list[Asked]]:
    recordings = [Recording(question) for question in questions()]
    await ask_alone(url, key, recordings[0])  # the first turn of a server's life warms caches
    alone: list[Asked] = []
    for number in range(rounds):
        for recording in recordings:
            alone.append(await ask_alone(url, key, recording))
            click.echo(_line(f"{number + 1}/{rounds}", alone[-1]))
    broken = await _break_ins(url, key, recordings, alone)
    synthetic = [one for one in recordings if one.question.origin == "synthesised"]
    held = await asyncio.gather(*(converse(url, key, synthetic, TURNS, seed) for seed in range(concurrency)))
    return alone, broken, [one for told in held for one in told]


async def _break_ins(
    url: str, key: str | None, recordings: Sequence[Recording], alone: Sequence[Asked]
) -> list[BrokenInto]:
    """Into the answers that take longest to make: in short ones there is nothing left to stop."""
    takes = {one.file: one.streamed or 0.0 for one in alone}
    longest = sorted(recordings, key=lambda one: -takes[one.question.file])[: BREAK_INS // 3]
    voices = [one for one in recordings if one.question.origin == "synthesised"]
    broken: list[BrokenInto] = []
    for number in range(BREAK_INS):
        recording, other = longest[number % len(longest)], voices[number % len(voices)]
        try:
            async with asyncio.timeout(60):
                broken.append(await break_in(url, key, recording, other))
        except (CallError, TimeoutError) as error:
            click.echo(f"break-in {number + 1}: {type(error).__name__} {error}")
            broken.append(BrokenInto(None, None, False))
    return broken


def _line(round_: str, one: Asked) -> str:
    delay = "  none" if one.commit_to_audio is None else f"{one.commit_to_audio:5.2f}s"
    trouble = (
        f"  [{one.failure}]" if one.failure else f"  [{len(one.underruns)} gaps]" if one.underruns else ""
    )
    return f"{round_} {delay}  {one.heard or '(nothing)'}  ->  {one.answer or '(nothing)'}{trouble}"


# --- figures ----------------------------------------------------------------------------------------------


def answers(alone: Sequence[Asked]) -> list[Figure]:
    delays = [one.commit_to_audio for one in alone]
    spoken = [one.speech_to_audio for one in alone]
    onsets = [one.onset_to_started for one in alone]
    errors = word_error_rate((one.text, one.heard) for one in alone)
    longest = max((gap for one in alone for gap in one.underruns), default=0.0)
    figures: list[tuple[str, float | None, str, float | None]] = [
        ("commit to first audio, median", quantile(delays, 0.5), "s", 0.35),
        ("commit to first audio, p90", quantile(delays, 0.9), "s", 0.6),
        ("end of speech to first audio, median", quantile(spoken, 0.5), "s", 0.9),
        ("end of speech to first audio, p90", quantile(spoken, 0.9), "s", None),
        ("onset of speech to speech_started, median", _ms(quantile(onsets, 0.5)), "ms", 300),
        ("onset of speech to speech_started, p90", _ms(quantile(onsets, 0.9)), "ms", None),
        ("word error rate", None if errors is None else errors * 100, "%", 10),
        ("answers with gaps at real-time playback", _gapped(alone), "", 0),
        ("longest gap", longest * 1000, "ms", None),
        ("questions without a complete answer", _unanswered(alone), "", 0),
    ]
    return [Figure(*figure, samples=len(alone)) for figure in figures]


def break_ins(broken: Sequence[BrokenInto]) -> list[Figure]:
    cut = [one for one in broken if one.cut]
    onsets = [one.onset_to_started for one in broken]
    return [
        Figure(
            "break-in: onset of speech to speech_started, median",
            _ms(quantile(onsets, 0.5)),
            "ms",
            300,
            len(broken),
        ),
        Figure(
            "break-in: onset of speech to speech_started, max",
            _ms(quantile(onsets, 1)),
            "ms",
            None,
            len(broken),
        ),
        Figure(
            "break-in: speech_started to the last audio, max, of those still being made",
            _ms(quantile((one.started_to_last_audio for one in cut), 1)),
            "ms",
            100,
            len(cut),
        ),
    ]


def at_once(held: Sequence[Asked], concurrency: int) -> list[Figure]:
    if not concurrency:
        return []
    delays = [one.commit_to_audio for one in held]
    name, n = f"{concurrency} conversations at once", len(held)
    return [
        Figure(f"{name}: commit to first audio, median", quantile(delays, 0.5), "s", None, n),
        Figure(f"{name}: commit to first audio, p90", quantile(delays, 0.9), "s", 1.0, n),
        Figure(f"{name}: answers with gaps", _gapped(held), "", 0, n),
        Figure(
            f"{name}: without a complete answer",
            _unanswered(held),
            "",
            0,
            n,
        ),
    ]


def _gapped(told: Sequence[Asked]) -> float:
    return float(sum(bool(one.underruns) for one in told))


def _unanswered(told: Sequence[Asked]) -> float:
    return float(sum(one.failure is not None for one in told))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


if __name__ == "__main__":
    main()
