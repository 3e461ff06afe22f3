"""The event catalogue is the vocabulary's."""

from __future__ import annotations

from pathlib import Path

from antiphon.events.catalogue import ROOMS, catalogue
from antiphon.events.vocabulary import EVENT_TYPES

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "events.md"


def test_the_catalogue_is_what_the_vocabulary_makes_of_it() -> None:
    """Else: python -m antiphon.events.catalogue > docs/events.md"""
    assert DOCUMENT.read_text("utf-8") == catalogue()


def test_every_event_is_in_it_with_what_it_means() -> None:
    text = catalogue()
    rooms = {room for room, _ in ROOMS}
    for kind in EVENT_TYPES:
        assert kind.__module__.rpartition(".")[2] in rooms
        assert f"### {kind.__name__}\n" in text
        assert (kind.__doc__ or "").splitlines()[0].strip() in text
