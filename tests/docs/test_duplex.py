"""What the documents say of the duplex dialect, against the decoder's and the projection's own tables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from openai.types.realtime import RealtimeClientEvent
from pydantic import BaseModel

from antiphon.projections.duplex import errors
from antiphon.projections.duplex import frames as server
from antiphon.projections.duplex.step import SHOWS
from antiphon.projections.realtime import frames as plain_server
from antiphon.web.duplex import frames as client
from antiphon.web.realtime import frames as plain_client
from tests.projections.sdk import MODELS
from tests.serving import running

ROOT = Path(__file__).resolve().parents[2]
DUPLEX = (ROOT / "docs" / "duplex.md").read_text("utf-8")
TIERS = (ROOT / "docs" / "compatibility.md").read_text("utf-8")

NESTED = {"session.update", "session.created", "session.updated", "error"}
"""What is more in these lies deeper than their own members."""


def rows(text: str, heading: str) -> Iterator[list[str]]:
    """The cells of the first table under a heading that is about events."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and re.fullmatch(r"`[a-z_.]+`", cells[0]):
            yield cells


def names(cell: str) -> list[str]:
    return re.findall(r"`([a-z_.]+)`", cell)


def kinds(base: type[Any]) -> Iterator[type[Any]]:
    """Every frame that a base has, but bases of frames."""
    for one in base.__subclasses__():
        tag = one.__struct_config__.tag
        if "." in str(tag) or tag == "error":
            yield one
        yield from kinds(one)


def members(frame: type[Any], *common: str) -> list[str]:
    return [one.name for one in msgspec.structs.fields(frame) if one.name not in common]


def tag(frame: type[Any]) -> str:
    return str(frame.__struct_config__.tag)


SERVER = {tag(frame): members(frame, "event_id", "server_event_seq") for frame in kinds(server.Frame)}
CLIENT = {client.name_of(frame): members(frame, "event_id") for frame in client.FRAMES}
union, *_ = get_args(RealtimeClientEvent)
SDK_CLIENT: dict[str, type[BaseModel]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(union)
}


def test_every_client_event_is_described_with_its_other_names_and_its_members() -> None:
    described = {
        row[0].strip("`"): (names(row[1]), names(row[2])) for row in rows(DUPLEX, "What a client sends")
    }
    aliases = {
        client.name_of(frame): [name for name, kind in client.ALIASES.items() if kind is frame]
        for frame in client.FRAMES
    }
    assert described == {name: (aliases[name], CLIENT[name]) for name in CLIENT}


def test_every_server_event_is_described_with_its_members() -> None:
    described = {row[0].strip("`"): names(row[1]) for row in rows(DUPLEX, "What a client is sent")}
    assert described == SERVER


def test_every_frame_of_the_projection_is_made_by_some_step_or_is_a_reply() -> None:
    replies = {
        "session.heartbeat_ack",
        "session.resumed",
        "session.resync_required",
        "conversation.item.retrieved",
    }
    sources = "".join(
        Path(sys.modules[show.__module__].__file__ or "").read_text("utf-8") for show in SHOWS.values()
    )
    made = {tag(frame) for frame in kinds(server.Frame) if f"f.{frame.__name__}" in sources}
    assert made | replies | {"error"} == SERVER.keys()


def tier(name: str, mine: list[str], sdk: type[BaseModel] | None) -> str:
    if sdk is None:
        return "3"
    return "2" if name in NESTED or set(mine) - sdk.model_fields.keys() else "1"


def test_the_tiers_of_client_events_are_those_of_the_public_sdk() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows(TIERS, "Client events")}
    assert documented == {name: tier(name, CLIENT[name], SDK_CLIENT.get(name)) for name in CLIENT}


def test_the_tiers_of_server_events_are_those_of_the_public_sdk() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows(TIERS, "Server events")}
    assert documented == {name: tier(name, SERVER[name], MODELS.get(name)) for name in SERVER}


@pytest.mark.parametrize("side", ["Client events", "Server events"])
def test_what_is_more_in_a_shared_event_is_named(side: str) -> None:
    for row in rows(TIERS, side):
        name = row[0].strip("`")
        mine = CLIENT[name] if side == "Client events" else SERVER[name]
        sdk = (SDK_CLIENT if side == "Client events" else MODELS).get(name)
        more = [] if sdk is None else [one for one in mine if one not in sdk.model_fields]
        told = names(row[2])
        if told and name not in NESTED:
            assert told == more, name
        assert bool(row[2]) is (row[1] == "2"), name


def test_plain_clients_are_sent_and_may_send_what_is_said() -> None:
    told = kinds(plain_server.Frame)  # the beta's frames, which are made of these, are told of elsewhere
    of_plain = {tag(frame) for frame in told if frame.__module__ == plain_server.__name__}
    assert of_plain == {
        name
        for name in SERVER
        if name in MODELS
        and name not in ("conversation.item.created", "rate_limits.updated", "output_audio_buffer.cleared")
    }
    accepted = {tag(frame) for frame in get_args(plain_client.ClientEvent)}
    assert accepted == SDK_CLIENT.keys() - {"output_audio_buffer.clear"}


def test_every_code_that_is_named_exists() -> None:
    shaped = re.findall(
        r"`([a-z]+_[a-z_]+(?:unsupported|empty|timeout|config|event|late|detection|options|active))`", DUPLEX
    )
    assert shaped
    for code in shaped:
        assert code in errors.TYPES, code


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", DUPLEX + TIERS))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()


def test_the_example_streams_a_recording_and_writes_the_answer(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "question.wav"), "wb") as question:
        question.setparams((1, 2, 16_000, 0, "NONE", ""))
        question.writeframes(b"\x00\x10\x00\xf0" * 4_000)
    with running(tmp_path / "data", stage="scripted") as serving:
        url = f"ws://127.0.0.1:{serving.port}/v1/realtime?duplex=1"
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "duplex.py", "question.wav", "answer.wav", url],
            cwd=tmp_path,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    assert done.stdout == "This is a scripted answer.[completed]\n"
    assert done.stderr == ""
    with wave.open(str(tmp_path / "answer.wav"), "rb") as answer:
        assert (answer.getframerate(), answer.getnframes()) == (24_000, 24_000)
