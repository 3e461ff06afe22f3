"""What the documents say of the native dialect, against the decoder's and the projection's own tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from antiphon.projections.duplex import errors
from antiphon.projections.duplex import frames as duplex
from antiphon.projections.native import frames as server
from antiphon.projections.native.wording import WORDS
from antiphon.web.duplex import frames as client
from antiphon.web.native import frames as own

from .test_duplex import CLIENT, kinds, members, names, rows, tag

ROOT = Path(__file__).resolve().parents[2]
NATIVE = (ROOT / "docs" / "native.md").read_text("utf-8")

REWORDED = (duplex.SessionUpdated, duplex.Cleared, duplex.ItemCreated)
"""Frames of the duplex dialect that are passed on, but not always."""
SAME = [*REWORDED, *(frame for frame in kinds(duplex.Frame) if frame not in WORDS)]
SERVER = {
    tag(frame): members(frame, "event_id", "server_event_seq") for frame in [*kinds(server.Frame), *SAME]
}


def test_every_client_event_is_described_with_its_other_names() -> None:
    described = {row[0].strip("`"): names(row[1]) for row in rows(NATIVE, "What a client sends")}
    aliases = {**client.ALIASES, **own.ALIASES}
    assert described == {
        name: [other for other, kind in aliases.items() if client.name_of(kind) == name]
        for name in [*CLIENT, client.name_of(own.SessionCreate)]
    }


def test_every_server_event_is_described_with_its_members() -> None:
    described = {row[0].strip("`"): names(row[1]) for row in rows(NATIVE, "What a client is sent")}
    assert described == SERVER


def test_no_two_frames_have_the_same_name_but_the_two_halves_of_an_audio_delta() -> None:
    tags = [tag(frame) for frame in [*kinds(server.Frame), *SAME]]
    assert {name for name in tags if tags.count(name) > 1} == {tag(server.AudioDelta)}


def test_every_code_that_is_named_exists() -> None:
    shaped = re.findall(r"`([a-z_]+_(?:exists|resume|timeout|session))`", NATIVE)
    assert len(shaped) >= 4
    assert {name for name in shaped if name not in client_names()} <= errors.TYPES.keys()


def client_names() -> set[str]:
    return {client.name_of(frame) for frame in own.KINDS}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)", NATIVE))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()


@pytest.mark.parametrize("anchor", sorted(set(re.findall(r"\]\(duplex\.md#([a-z-]+)\)", NATIVE))))
def test_every_heading_that_is_linked_to_is_there(anchor: str) -> None:
    text = (ROOT / "docs" / "duplex.md").read_text("utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    assert anchor in {re.sub(r"[^a-z -]", "", one.lower()).replace(" ", "-") for one in headings}
