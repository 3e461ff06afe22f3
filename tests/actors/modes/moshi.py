"""Calls over the Moshi wire under test: 80 ms units, and a model that answers each of them."""

from __future__ import annotations

from typing import Any

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Config, Event, UnitSubmitted
from tests.actors.session.given import Talk, only, pcm

UNIT_MS = 80
CONTINUOUS = Config(auto_response=True)


class MoshiCall(Talk):
    """A call whose model is ready, unless told otherwise."""

    def __init__(self, *, unit_ms: int = UNIT_MS, **members: Any) -> None:
        able = {"unit_ms": unit_ms, "reads": False}
        super().__init__(
            detection=None,
            hears="continuously",
            transcribes=False,
            detects_voice=False,
            config=CONTINUOUS,
            able=able,
            mode="personaplex",
            **members,
        )

    def sends(self, ms: int) -> list[Event]:
        """Sound of the client."""
        return self.do(c.AppendAudio(pcm=pcm(ms)))

    def answers(self, text: str = "") -> list[Event]:
        """The model's word of the unit that it has."""
        flight = self.state.units.flight
        assert flight is not None, "the model has no unit"
        word = {"operation": flight.operation, "index": flight.next_index, "epoch": self.state.fence.epoch}
        return self.do(c.RecordSpeech(text=text, pcm=pcm(UNIT_MS), last=True, **word))

    def passes(self, ms: int, takes_ms: int = 10) -> list[int]:
        """Time passes, and the model answers whatever it is given `takes_ms` later. When units were given."""
        until, given = self.now_ms + ms, []
        while self.now_ms < until:
            if self.state.units.flight is not None:
                self.now_ms += takes_ms
                self.answers()
                continue
            before = len(self.stored)
            self.wait(1)
            given += [self.now_ms] * len(units(self.events[before:]))
        return given


def units(events: list[Event]) -> list[UnitSubmitted]:
    return [one for one in only(UnitSubmitted, events) if one.work == "unit"]


def silent(unit: UnitSubmitted) -> bool:
    return unit.from_sample == unit.until_sample
