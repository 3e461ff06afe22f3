"""Whole runs on one thread: crashes, late and lost appends, cut frames, and nothing lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from thespian.actors import ActorSystem

from .world import CrashKind, Plan, World

KEPT = Path(__file__).parent / "seeds.txt"
"""Seeds that once failed, one a line; what stands behind a # is for people."""

SEEDS = range(200)
BATCH = 10


@pytest.fixture(scope="module")
def system() -> Iterator[ActorSystem]:
    actors = ActorSystem("simpleSystemBase", logDefs=False, transientUnique=True)
    yield actors
    actors.shutdown()


def kept_seeds() -> list[int]:
    lines = (line.partition("#")[0].strip() for line in KEPT.read_text("utf-8").splitlines())
    return [int(line) for line in lines if line]


def run(system: ActorSystem, plan: Plan, root: Path | None = None) -> World:
    try:
        return World(system, plan, root).run()
    except BaseException as error:
        error.add_note(f"seed {plan.seed}: {plan}")
        raise


@pytest.mark.parametrize("seed", kept_seeds())
def test_a_seed_that_once_failed_fails_no_more(system: ActorSystem, seed: int) -> None:
    run(system, Plan.of(seed))


@pytest.mark.parametrize("first", SEEDS[::BATCH])
def test_nothing_is_lost_or_doubled(system: ActorSystem, first: int) -> None:
    for seed in range(first, first + BATCH):
        run(system, Plan.of(seed))


@pytest.mark.parametrize("seed", range(1_000, 1_008))
def test_nothing_is_lost_or_doubled_on_disk(system: ActorSystem, seed: int, tmp_path: Path) -> None:
    run(system, Plan.of(seed), tmp_path)


CRASHES: list[CrashKind] = ["process", "stages too"]


@pytest.mark.parametrize("kind", CRASHES)
@pytest.mark.parametrize("hears", ["utterances", "continuously", "stream", "held"])
def test_a_crash_before_any_step_loses_nothing(system: ActorSystem, kind: CrashKind, hears: str) -> None:
    plan = Plan(seed=7, steps=120, weather="late", closes=False)
    if hears in ("stream", "held"):
        plan = replace(plan, hears="continuously", units=hears, detection=False)  # type: ignore[arg-type]
    else:
        plan = replace(plan, hears=hears)  # type: ignore[arg-type]
    for at in range(plan.steps):
        run(system, replace(plan, crashes={at: kind}))


def test_the_same_seed_is_the_same_run(system: ActorSystem) -> None:
    def log_of(world: World) -> list[object]:
        return [(stored.seq, stored.at, stored.event) for stored in world.checker.log()]

    plan = Plan.of(11)
    assert log_of(run(system, plan)) == log_of(run(system, plan))


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(10_000, 14_000, 100))
def test_campaign(system: ActorSystem, first: int) -> None:
    for seed in range(first, first + 100):
        run(system, Plan.of(seed))
