"""What docs/stages.md says of stages: its engine runs, keeps the contract, and its tables leave nothing out."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from array import array
from pathlib import Path

import msgspec
import pytest

from antiphon.actors.stage_port import stage_config
from antiphon.actors.stages import contract
from antiphon.actors.stages.descriptor import RESPONSE_OPTIONS
from antiphon.events.vocabulary import Config
from tests.serving import running
from tests.web.wire import Wire, wire

STAGES = (Path(__file__).resolve().parents[2] / "docs" / "stages.md").read_text("utf-8")
UNIT = 200 * 24


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", STAGES, re.S)


def first_column(heading: str) -> list[str]:
    """Everything that the table under a heading names in its first cells."""
    section = STAGES.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"`([A-Za-z_]+)`", " ".join(re.findall(r"^\|([^|]+)\|", section, re.M)))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a package that is installed: what an installer leaves of it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "parrot.py").write_text(blocks("python")[0])
    information = folder / "parrot-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    [table] = blocks("toml")
    group, point = re.fullmatch(r'\[project\.entry-points\."(.*)"\]\n(.*)\n', table).groups()  # type: ignore[union-attr]
    (information / "entry_points.txt").write_text(f"[{group}]\n{point.replace(chr(34), '')}\n")
    return folder


def test_the_engine_is_small() -> None:
    [engine, *_] = blocks("python")
    body = ast.parse(engine).body[-1]
    assert isinstance(body, ast.ClassDef)
    statements = [line for line in ast.unparse(body).splitlines() if line.strip()]
    assert len(statements) <= 45


def test_the_engine_keeps_the_contract_by_the_test_that_stands_below_it(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_parrot.py").write_text(blocks("python")[1])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


def loud(level: int) -> bytes:
    return array("h", [level] * UNIT).tobytes()


async def say(client: Wire, level: int) -> None:
    await client.append(loud(level), sample_rate_hz=24_000)


async def test_the_engine_is_served_by_its_name_and_its_settings(installed: Path, tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text("[stage.parrot]\nloud = 500\n")
    env = {"PYTHONPATH": str(installed)}
    with running(tmp_path / "data", "--config", str(config), stage="parrot", env=env) as server:
        async with wire(server, "?duplex=1") as client:
            auto = {"extra_body": {"auto_response": True}}
            await client.send({"type": "session.update", "session": auto})
            await say(client, 400)
            await client.next("response.listen")
            await say(client, 600)
            await say(client, 700)
            await say(client, 10)
            frames = await client.until("response.done")
    [transcript] = [f["transcript"] for f in frames if f["type"] == "response.output_audio_transcript.done"]
    assert transcript == "Squawk. Squawk. "


def test_a_name_that_nobody_offers_is_refused_by_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "antiphon.cli", "serve", "--stage", "parrot", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "there is no stage parrot; there are echo, scripted, chat, cascade" in done.stderr


def test_the_tables_are_the_contracts() -> None:
    fields = [field.name for field in msgspec.structs.fields(contract.Descriptor)]
    assert sorted(first_column("What it is: the descriptor")) == sorted(fields)
    methods = [
        name
        for name, _ in inspect.getmembers(contract.Engine, inspect.isfunction)
        if not name.startswith("_") and name != "start"
    ]
    assert sorted(first_column("What it is asked")) == sorted(methods)
    bodies = [body.__name__ for body in contract.Body.__subclasses__()]
    assert sorted(first_column("What it says")) == sorted(bodies)


def test_what_is_said_of_options_configurations_and_versions_is_so() -> None:
    assert all(f"`{option}`" in STAGES for option in RESPONSE_OPTIONS)
    assert all(f"`{key}`" in STAGES for key in stage_config(Config()))
    assert f"({contract.MOST_INTERVALS} of them at most" in STAGES
    assert f'Failed("{contract.ENGINE_DEAD}"' in STAGES
