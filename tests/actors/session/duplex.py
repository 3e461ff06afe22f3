"""Sessions of the duplex kind under test: whose model hears in units, and whose is asked at the end of a turn."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from antiphon.actors.session import commands as c
from antiphon.actors.session.state import Unit
from antiphon.events.ids import ItemId
from antiphon.events.units import samples_to_ms
from antiphon.events.vocabulary import Config, Event, Item, Overlap, Part, UnitSubmitted

from .given import Talk, only, pcm

UNIT_MS = 1_000
JPEG = c.Image("image/jpeg", b"\xff\xd8\xff")

ASKED = Config(strict=True, playback="ack_only", overlap=Overlap())
BY_ITSELF = replace(ASKED, auto_response=True)


class InUnits(Talk):
    """A model that hears one second at a time; `auto`: it answers by itself, else when it is asked."""

    def __init__(self, *, auto: bool = True, config: Config | None = None, **able: Any) -> None:
        able = {"unit_ms": UNIT_MS, "reads": False, "sees": True, "calls_tools": True} | able
        detection = able.pop("detection", None)
        config = config or (BY_ITSELF if auto else ASKED)
        super().__init__(
            hears="continuously", transcribes=False, detection=detection, config=config, able=able
        )

    # --- the user -----------------------------------------------------------------------------------------

    def talk_for(self, ms: int, *, speech: bool | None = True, **more: Any) -> list[Event]:
        """One chunk of input, as the client judges it."""
        happened = self.do(c.AppendAudio(pcm=pcm(ms), speech=speech, **more))
        self.now_ms += ms
        return happened

    def commit(self, **how: Any) -> list[Event]:
        return self.do(c.CommitInput(any_length=True, **how))

    # --- the stage ----------------------------------------------------------------------------------------

    @property
    def unit(self) -> Unit:
        """What the stage has."""
        assert self.state.units.flight is not None, "the stage has no unit"
        return self.state.units.flight

    @property
    def is_idle(self) -> bool:
        return self.state.units.flight is None

    def word(self, *, last: bool = True) -> dict[str, Any]:
        unit = self.unit
        return {
            "operation": unit.operation,
            "index": unit.next_index,
            "epoch": unit.fence.epoch,
            "last": last,
        }

    def model_listens(self, reason: str = "model_listen") -> list[Event]:
        return self.do(c.RecordConsumed(reason=reason, **self.word()))

    def model_says(self, text: str = "well ", ms: int = UNIT_MS, *, last: bool = True) -> list[Event]:
        return self.do(c.RecordSpeech(text=text, pcm=pcm(ms), **self.word(last=last)))

    def model_ends_its_turn(self) -> list[Event]:
        return self.do(c.RecordTurnEnd(**self.word(last=False)))

    def unit_ends(self) -> list[Event]:
        return self.do(c.RecordFinish(why="done", **self.word()))

    def unit_fails(self, code: str = "busy") -> list[Event]:
        return self.do(c.RecordFailure(code=code, message="not now", **self.word()))

    # --- then ---------------------------------------------------------------------------------------------

    @property
    def given(self) -> list[tuple[int, int, int]]:
        """Every unit that was submitted: from and until in ms, and how many ms of silence follow."""
        return [
            (samples_to_ms(one.from_sample), samples_to_ms(one.until_sample), samples_to_ms(one.silence))
            for one in only(UnitSubmitted, self.events)
            if one.work == "unit"
        ]


class Asked(Talk):
    """A model that understands utterances and is asked for answers; overlaps are decided."""

    def __init__(self, *, auto: bool = False, config: Config | None = None, **able: Any) -> None:
        detection = able.pop("detection", None)
        config = config or (BY_ITSELF if auto else ASKED)
        super().__init__(detection=detection, config=config, able=able)

    def talk_for(self, ms: int, *, speech: bool | None = True, **more: Any) -> list[Event]:
        happened = self.do(c.AppendAudio(pcm=pcm(ms), speech=speech, **more))
        self.now_ms += ms
        return happened

    def commit(self, **how: Any) -> list[Event]:
        return self.do(c.CommitInput(any_length=True, **how))

    def speaking(self, text: str = "One two three. ", ms: int = 2_000) -> Asked:
        """Something was said, understood, and is being answered."""
        self.talk_for(1_000)
        self.commit(respond=True)
        self.understand("hello")
        self.say(text, ms)
        self.send(ms)
        return self


def message(text: str) -> c.AddItem:
    part = Part(kind="input_text", text=text)
    return c.AddItem(item=Item(id=ItemId(""), role="user", content=(part,)))
