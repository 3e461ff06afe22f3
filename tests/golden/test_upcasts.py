"""One golden case for each step from an event's version to the next, and a recording that needs it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from antiphon.events.codec import Decoder
from antiphon.events.container import Unpacking
from antiphon.events.ids import ResponseId
from antiphon.events.segments.frame import FRAME_SIZE
from antiphon.events.units import Moment, Samples
from antiphon.events.upcast import UPCASTS, upcast
from antiphon.events.vocabulary import AudioSent, Event, FramesSent
from antiphon.replay import sources

from .corpus import recordings

Row = tuple[str, int]

CASES: dict[Row, tuple[dict[str, Any], Event]] = {
    ("FramesSent", 1): (
        {"attachment": 1, "response": "resp_a", "until_sample": 4_800, "first_mono_ns": 7},
        FramesSent(attachment=1, audio=(AudioSent(ResponseId("resp_a"), Samples(4_800), 7),)),
    ),
}
"""A body as that version wrote it, and the event it is read as today."""


def test_every_step_has_its_case() -> None:
    assert CASES.keys() == UPCASTS.keys()


@pytest.mark.parametrize("row", CASES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_an_old_event_is_read_as_what_it_means_today(row: Row) -> None:
    body, event = CASES[row]
    stored = msgspec.msgpack.encode([row[0], row[1], None, None, body])
    read = Decoder().decode(stored, seq=3, at=Moment(1, 2), critical=True)
    assert read.event == event


@pytest.mark.parametrize("row", CASES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_step_leads_to_the_next_version_only(row: Row) -> None:
    body, _ = CASES[row]
    once = upcast(row[0], row[1], dict(body), to=row[1] + 1)
    assert once != body


@pytest.mark.parametrize("row", CASES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_recording_holds_events_of_that_version(row: Row) -> None:
    assert any(row in _rows(path) for path in recordings())


def _rows(path: Any) -> set[Row]:
    """Types and versions as they are stored, not as they are read."""
    life = sources.of_recording(path)
    with life.log.export(life.session, incarnation=life.incarnation) as container:
        frames = [entry.frame for entry in Unpacking(container) if entry.stored is not None]
    return {tuple(msgspec.msgpack.decode(frame[FRAME_SIZE:])[:2]) for frame in frames}
