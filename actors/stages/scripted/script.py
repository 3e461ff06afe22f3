"""What a scripted stage says to what, and when. Scripts are also files (files.py), units have a shorthand
(units.py).

In a test: `Reply(to="speak", steps=(say(Said(text="Good"), after_ms=50), say(Finished(), last=True)))`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from antiphon.actors.stages.contract import Body, EndTurn, Finished, Heard, Listen, Said, Speak
from antiphon.actors.stages.descriptor import RESPONSE_OPTIONS
from antiphon.actors.stages.scripted.sound import tone
from antiphon.actors.stages.scripted.units import Unit

Work = Listen | EndTurn | Speak
Asked = Literal["open", "listen", "unit", "recognise", "speak", "end_turn", "configure", "close"]


class Says:
    """Makes the body of an output from the command it answers, the nth of its kind in its session."""

    def __init__(self, body: Callable[[Work, int], Body]) -> None:
        self.body = body


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One output. `late`: said even when its work was cancelled meanwhile. `times`: said that often."""

    says: Says
    after_ms: int = 0
    """After the step before it."""
    last: bool = False
    late: bool = False
    times: int = 1


class Refusal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: str
    message: str = "the script says so"
    retryable: bool = False


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do for the `nth` call of its kind in a session (from 1), or for all others (None).

    `raises`: the call itself raises, as an engine with a bug does. `dies`: it finds the engine dead. An
    opening, a configuration or a closing may be refused, and takes `takes_ms`.
    """

    to: Asked
    nth: int | None = None
    steps: tuple[Step, ...] = ()
    raises: bool = False
    dies: bool = False
    refuses: Refusal | None = None
    takes_ms: int = 0


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a scripted stage does and is. `units` are what it does with each unit of a session, in
    order; with later ones it listens. `compute_ms`: how long one takes."""

    replies: tuple[Reply, ...] = ()
    units: tuple[Unit, ...] = ()
    compute_ms: int = 0
    role: Literal["voice", "model"] = "model"
    hears: Literal["continuously", "utterances"] = "utterances"
    transcribes: bool = True
    speaks: bool = True
    max_sessions: int = 1000
    must_not_repeat: bool = False
    unit_ms: int = 0
    sees: bool = False
    reads: bool = True
    calls_tools: bool = False
    confirms_config: bool = False
    keeps_state: bool = False
    response_options: tuple[str, ...] = RESPONSE_OPTIONS
    voices: tuple[str, ...] = ()
    """A configuration with another voice is refused; empty: any will do."""

    def reply(self, to: Asked, nth: int, command: Work | None = None, instructions: str = "") -> Reply | None:
        """The reply to the nth such call: the one made for it, else the general one."""
        matching = [reply for reply in self.replies if reply.to == to and reply.nth in (nth, None)]
        found = min(matching, key=lambda reply: reply.nth is None, default=None)
        if found is None and to == "unit" and isinstance(command, Listen):
            unit = self.units[nth - 1] if nth <= len(self.units) else Unit()
            return _as_said(unit, unit.bodies(command, nth, self.unit_ms, instructions), self)
        return found


def say(
    says: Body | Callable[[Work], Body],
    *,
    after_ms: int = 0,
    last: bool = False,
    late: bool = False,
    times: int = 1,
) -> Step:
    """A step that says a fixed body, or one made from the command."""
    made = Says(lambda command, _: says if isinstance(says, Body) else says(command))
    return Step(says=made, after_ms=after_ms, last=last, late=late, times=times)


def _as_said(unit: Unit, bodies: list[Body], script: Script) -> Reply:
    wait_ms = script.compute_ms if unit.after_ms is None else unit.after_ms
    steps: list[Step] = []
    for k, body in enumerate(bodies):
        last = k == len(bodies) - 1
        steps.append(say(body, after_ms=wait_ms, last=last, late=unit.late, times=unit.times))
        wait_ms = 0
    return Reply(to="unit", steps=tuple(steps), dies=unit.does == "die")


def fixed_answer(text: str, *, tone_hz: int, tone_ms: int, delay_ms: int, transcript: str) -> Script:
    """The script of a stage that always says the same: `text` as a tone, and hears `transcript`."""
    answer = (
        say(Said(text=text, pcm=tone(tone_hz, tone_ms)), after_ms=delay_ms),
        say(Finished(), last=True),
    )
    recognised = (say(Heard(transcript), last=True),)
    return Script(replies=(Reply(to="speak", steps=answer), Reply(to="recognise", steps=recognised)))
