"""What a second of listening or speaking costs, bare, behind our seam, and through the whole runtime.

    python -m bench.thinker                  vLLM, tiny: whether it works, and what a CPU makes of it
    python -m bench.thinker --size qwen3-8b  on a GPU: the real shape
    python -m bench.thinker --thinker torch  the thinker in plain torch; clockwork: none, what the rest costs

Weights are random and token ids are, too: nothing that is said means anything, and times are the engine's
and ours. No ears, no talker, no vocoder. TTFT: from the append of a unit to its first token; TPOT and ITL:
from one token to the next; unit: to the last of them. Every fourth unit is one in which the model listens.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from antiphon.actors.processes import stage_process
from bench.figures import show, write_json
from bench.machine import machine
from bench.thinker import bare, models, runtime, thinking
from bench.thinker.engines import Choice, sizes, start, vllm_options
from bench.thinker.figures import Run, figures
from bench.thinker.units import HEARD, SPOKEN, UNCOUNTED

LEVELS = ("bare", "thinker", "runtime")


@click.command()
@click.option("--thinker", type=click.Choice(["vllm", "torch", "clockwork"]), default="vllm")
@click.option("--size", type=click.Choice(list(models.SHAPES)), default="tiny")
@click.option("--sessions", default="1,4", help="Several with commas.")
@click.option("--contexts", default="256", help="Tokens held when a run begins; several with commas.")
@click.option("--units", default=20, help="Of each run; the first ones are not counted.")
@click.option("--levels", default=",".join(LEVELS))
@click.option("--spread", is_flag=True, help="Sessions' units spread over the second, not all at once.")
@click.option("--workers", default=1, help="Serving processes.")
@click.option("--measuring", is_flag=True, help="Admit a vLLM that is for measurements only.")
@click.option("--eager", is_flag=True, help="Without compiled graphs: starts sooner.")
@click.option("--short", is_flag=True, help="Few units: whether it works at all.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(
    thinker: str,
    size: str,
    sessions: str,
    contexts: str,
    units: int,
    levels: str,
    spread: bool,
    workers: int,
    measuring: bool,
    eager: bool,
    short: bool,
    json_path: Path | None,
) -> None:
    """Measure; exit code 1 when a target is missed (never with --short)."""
    on = machine()
    click.echo(on)
    stage_process.settle()  # as what is measured behind the seam is in its stage
    units = UNCOUNTED + 4 if short else units + UNCOUNTED
    cases = [(count, held) for held in _numbers(contexts) for count in _numbers(sessions)]
    room = max(_numbers(contexts)) + (units + 1) * (HEARD + SPOKEN)
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        choice = Choice(
            thinker=thinker,  # type: ignore[arg-type]
            model=str(models.write(size, Path(folder) / size)),  # type: ignore[arg-type]
            size=size,
            sessions=max(_numbers(sessions)),
            context_tokens=-(-room // 64) * 64,
            measuring=measuring,
            eager=eager or short,
        )
        runs, said = [], []
        for run in _runs(choice, cases, units, levels.split(","), spread, workers):
            new = list(figures(run))
            show(new)
            runs.append(run)
            said += new
    write_json(json_path, machine=on, figures=said, runs=runs)
    if not short and any(figure.met is False for figure in said):
        sys.exit(1)


def _numbers(listed: str) -> list[int]:
    return [int(number) for number in listed.split(",")]


def _runs(
    choice: Choice, cases: list[tuple[int, int]], units: int, levels: list[str], spread: bool, workers: int
) -> Iterator[Run]:
    """One engine after the other: two of the full size do not fit."""
    name = f"{choice.thinker}, {choice.size}" + (", spread" if spread else "")
    if "bare" in levels and choice.thinker == "vllm":
        yield from bare.measure(name, vllm_options(choice), sizes(choice), cases, units, spread=spread)
    if "thinker" in levels:
        thinker = start(choice, click.echo)
        yield from thinking.measure(thinker, name, cases, units, spread=spread)
        thinker.stop()
    if "runtime" in levels:
        yield from runtime.measure(choice, name, cases, units, spread=spread, workers=workers)


if __name__ == "__main__":
    main()
