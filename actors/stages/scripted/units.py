"""What a scripted model does with one unit of input, in short.

    unit_ms = 1000
    compute_ms = 120

    [[units]]                                  # what it does with the first unit of a session
    does = "listen"

    [[units]]                                  # with the second: it speaks for as long as the unit lasts
    does = "speak"
    text = "Unit {n} was as loud as {loudest}."

    [[units]]
    does = "speak"
    text = "That is all."
    tone_ms = 400
    turn_ends = true                           # and with this its turn ends

In a text {n} is the number of the unit in its session, {loudest} its largest sample, {images} how many images
came with it and {instructions} those it runs by: what a test can tell sessions, inputs and configurations by.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from antiphon.actors.stages.contract import (
    Body,
    Called,
    Consumed,
    Finished,
    Listen,
    Measured,
    Said,
    TurnEnded,
)
from antiphon.actors.stages.scripted.sound import loudest, tone


class Unit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`hang`: it never answers. `die`: the engine is dead from here on."""

    does: Literal["listen", "speak", "call", "hang", "die"] = "listen"
    reason: str = "model_listen"
    """Why it listens."""
    text: str = ""
    tone_hz: int = 440
    tone_ms: int | None = None
    """None: as long as the unit."""
    turn_ends: bool = False
    call_id: str = "call_{n}"
    name: str = ""
    arguments: str = "{}"
    after_ms: int | None = None
    """None: the script's compute_ms."""
    first_token_ms: int | None = None
    gaps_us: tuple[int, ...] = ()
    """What it says of its own speed."""
    late: bool = False
    times: int = 1
    """As for a step: said of void work, said more than once."""

    def bodies(self, command: Listen, nth: int, unit_ms: int, instructions: str = "") -> list[Body]:
        """What it says, in order; the last body ends the operation."""
        if self.does in ("hang", "die"):
            return []
        if command.force_listen or self.does == "listen":
            return [*self._measured(), *self._turn_end(), Consumed(reason=self.reason)]
        said: Body
        if self.does == "call":
            said = Called(self.call_id.replace("{n}", str(nth)), self.name, self.arguments)
        else:
            ms = unit_ms if self.tone_ms is None else self.tone_ms
            said = Said(_filled(self.text, command, nth, instructions), tone(self.tone_hz, ms))
        if self.turn_ends or self.does == "call":
            return [*self._measured(), said, *self._turn_end(), Finished()]
        return [*self._measured(), said]

    def _turn_end(self) -> list[Body]:
        return [TurnEnded()] if self.turn_ends else []

    def _measured(self) -> list[Body]:
        measured: list[Body] = []
        if self.first_token_ms is not None:
            measured.append(Measured("first_token_ms", self.first_token_ms))
        if self.gaps_us:
            measured.append(Measured("token_gaps_ms", round(sum(self.gaps_us) / 1000), self.gaps_us))
        return measured


def _filled(text: str, command: Listen, nth: int, instructions: str) -> str:
    if "{" not in text:
        return text
    known = {
        "n": nth,
        "loudest": loudest(command.pcm),
        "images": len(command.images),
        "instructions": instructions,
    }
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text
