"""Watchers under test: frames, and what their models say."""

from __future__ import annotations

from typing import Any

import msgspec

from antiphon.actors.modes.joyvl.commands import Tick
from antiphon.actors.modes.joyvl.watch import Watch
from antiphon.actors.session import commands as c
from antiphon.actors.session.effects import Answer
from antiphon.events.ids import Operation
from antiphon.events.vocabulary import Config, Event, WatchOptions
from antiphon.projections.joyvl.projection import JoyvlProjection
from tests.actors.session.given import Talk

from .streams import JPEG


class Watcher(Talk):
    """A watcher whose models say what a test says."""

    def __init__(self, options: WatchOptions = WatchOptions(), **members: Any) -> None:
        members.setdefault("able", {"sees": True})
        members.setdefault("must_not_repeat", True)
        super().__init__(
            detection=None,
            detects_voice=False,
            transcribes=False,
            modalities=("text",),
            mode="joyvl",
            config=Config(model="joy", watch=options),
            **members,
        )

    def show(self, query: str | None = None, frames: int = 1, size: int = 0) -> list[Event]:
        """A tick, whose answer the model has not begun."""
        self.now_ms += 1_000
        image = c.Image("image/jpeg", JPEG + bytes(size))
        return self.do(Tick(frames=(image,) * frames, query=query))

    def sees(self, raw: str, query: str | None = None, frames: int = 1) -> dict[str, Any]:
        """A tick that the model answers so; what the client is answered."""
        self.show(query, frames)
        self.says(raw, self.present.operation)
        return self.answer_

    def says(self, text: str, operation: Operation) -> list[Event]:
        """A model's whole answer."""
        word = {"operation": operation, "epoch": 0}
        wrote = self.do(c.RecordSpeech(text=text, pcm=b"", index=0, last=False, **word))
        return [*wrote, *self.do(c.RecordFinish(why="done", index=1, last=True, **word))]

    def fails(self, operation: Operation, code: str = "llm_unreachable") -> list[Event]:
        word = {"operation": operation, "epoch": 0, "index": 0, "last": True}
        return self.do(c.RecordFailure(code=code, message="no connection", **word))

    def sums_up(self, text: str) -> list[Event]:
        assert self.own.summing is not None
        return self.says(text, self.own.summing.operation)

    @property
    def own(self) -> Watch:
        assert isinstance(self.state.own, Watch)
        return self.state.own

    @property
    def present(self) -> Any:
        assert self.own.present is not None
        return self.own.present

    @property
    def asked(self) -> list[Answer]:
        """What models were asked in the latest step."""
        return [effect for effect in self.effects if isinstance(effect, Answer)]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """What the client was answered, tick by tick."""
        projection = JoyvlProjection()
        view, shown = projection.begin(1), []
        for stored in self.stored:
            view, frames = projection.step(view, stored)
            shown += frames
        return [msgspec.json.decode(projection.encode(frame)) for frame in shown]

    @property
    def answer_(self) -> dict[str, Any]:
        told: dict[str, Any] = self.frames[-1]
        return told.get("interaction", told)

    def prompt(self, query: str | None = None) -> list[tuple[str, list[str]]]:
        """What the model is asked with the next tick: who says what, images as `#`."""
        self.show(query)
        lines = self.asked[-1].conversation
        return [(line.role, [piece.text or "#" for piece in line.pieces] or [line.text]) for line in lines]
