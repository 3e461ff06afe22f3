"""The clients that docs/compatibility.md calls driven are those that are, and the beta's names are the beta's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from antiphon.projections.beta import frames, names
from antiphon.projections.beta.projection import FORMER
from antiphon.projections.realtime.formats import FORMATS
from tests.sdks import environments

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text("utf-8")


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    found = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in found[2:]]


def pinned() -> dict[str, str]:
    python = [*environments.AGENTS, *environments.PIPECAT, *environments.LIVEKIT]
    python += [environments.VLLM_OMNI, environments.MOSHI]
    releases = dict(re.sub(r"\[.*?\]", "", one).split("==") for one in python)
    node = {name: release for name, release in environments.NODE.items() if name not in ("ws", "zod")}
    return releases | node


def test_the_releases_that_are_named_are_those_that_are_driven() -> None:
    told = {}
    for client, release, *_ in rows(section("Clients that are driven")):
        name = re.findall(r"`(.*?)`", client)[0]
        if "make dev" not in release:
            told[name] = release
    assert told == pinned()


def test_every_driver_is_driven() -> None:
    suite = "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "sdks").glob("test_*.py"))
    for driver in (ROOT / "tests" / "sdks" / "drivers").iterdir():
        if driver.is_file() and driver.stem not in ("report", "livekit_session"):
            assert driver.name in suite


def test_the_formats_of_the_plain_dialect() -> None:
    told = [
        (row[0].strip("`"), row[1].strip("`"), row[2]) for row in rows(section("Audio in the plain dialect"))
    ]
    then = {today: name for name, today in names.FORMATS.items()}
    assert told == [(name, then[name], f"{one.rate // 1000} kHz") for name, one in FORMATS.items()]


def test_every_name_of_the_beta_is_told() -> None:
    text = section("The beta's names")

    def tag(kind: type[Any]) -> str:
        return str(kind.__struct_config__.tag)

    for today, then in FORMER.items():
        for name in (tag(today), tag(then)):
            head, _, last = name.rpartition(".")
            assert f"`{name}`" in text or (f"`{head}.delta`" in text and last == "done"), name
    assert all(f"`{name}`" in text for name in names.PATHS)
    assert frames.ItemCreated.__struct_config__.tag == "conversation.item.created"
