"""What docs/half_duplex.md says, against the frames, the defaults and the program of the examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
from pathlib import Path

import msgspec
import pytest

from antiphon.projections.half_duplex import frames as server
from antiphon.web.half_duplex import frames as client
from tests.serving import running
from tests.web.phone import QUESTION
from tests.web.test_half_duplex_wire import SCRIPT

from .test_duplex import rows

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "half_duplex.md").read_text("utf-8")


def names(cell: str) -> list[str]:
    return re.findall(r"`([a-z0-9_]+)`", cell)


def members(frame: type[msgspec.Struct]) -> list[str]:
    return list(frame.__struct_fields__)


def frames(base: type[msgspec.Struct]) -> dict[str, list[str]]:
    return {str(kind.__struct_config__.tag): members(kind) for kind in base.__subclasses__()}


def test_every_frame_of_a_client_is_described_with_its_members() -> None:
    sent = [row for row in rows(TEXT, "What a client sends") if "." not in row[0]]
    described = {row[0].strip("`"): sorted(names(row[1])) for row in sent}
    assert described == {name: sorted(given) for name, given in frames(client.Frame).items()}


def test_every_frame_of_the_server_is_described_with_its_members() -> None:
    described = {row[0].strip("`"): names(row[1]) for row in rows(TEXT, "What a client is sent")}
    assert described == frames(server.Frame)


def test_the_usual_values_are_the_programs() -> None:
    usual = msgspec.to_builtins(client.CallConfig())
    told = re.findall(r"^\| `(\w+)\.(\w+)` \| ([0-9.]+) \|", TEXT, re.M)
    assert len(told) == 8
    for group, name, value in told:
        if name != "length_penalty":
            assert usual[group][name] == float(value), name


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)", TEXT))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()


def test_the_example_holds_a_call(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as served:
        url = f"ws://127.0.0.1:{served.port}"
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "half_duplex.py", QUESTION, "answer.wav", url],
            cwd=tmp_path,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert re.fullmatch(r"\[\d+ ms were heard\] Paris, I think\.\n", done.stdout)
    with wave.open(str(tmp_path / "answer.wav"), "rb") as answer:
        assert (answer.getframerate(), answer.getnframes()) == (24_000, 24 * 300)
