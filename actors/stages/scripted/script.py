"""What a scripted stage says to what, and when.

    [[replies]]
    to = "speak"
    nth = 2                      # the second answer of a session; without it: all others

    [[replies.steps]]
    after_ms = 50                # after the step before it
    says = { type = "said", text = "Good morning.", tone_hz = 440, tone_ms = 300 }

    [[replies.steps]]
    says = { type = "finished" }
    last = true

In a test: `Reply(to="speak", steps=(say(Said(text="Good"), after_ms=50), say(Finished(), last=True)))`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from antiphon.actors.stages.contract import Body, EndTurn, Failed, Finished, Heard, Listen, Said, Speak
from antiphon.events.units import SAMPLE_RATE, ms_to_samples

Work = Listen | EndTurn | Speak


class Says:
    """Makes the body of an output from the command it answers."""

    def __init__(self, body: Callable[[Work], Body]) -> None:
        self.body = body


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One output. `late`: said even when its work was cancelled meanwhile. `times`: said that often."""

    says: Says
    after_ms: int = 0
    last: bool = False
    late: bool = False
    times: int = 1


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do for the `nth` operation of its kind in a session (from 1), or for all others (None).

    `raises`: the call itself raises, as an engine with a bug does.
    """

    to: Literal["listen", "recognise", "speak", "end_turn"]
    nth: int | None = None
    steps: tuple[Step, ...] = ()
    raises: bool = False


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a scripted stage does and is."""

    replies: tuple[Reply, ...] = ()
    role: Literal["voice", "model"] = "model"
    hears: Literal["continuously", "utterances"] = "utterances"
    transcribes: bool = True
    max_sessions: int = 1000
    must_not_repeat: bool = False

    def reply(self, to: str, nth: int) -> Reply | None:
        """The reply to the nth such operation: the one made for it, else the general one."""
        matching = [reply for reply in self.replies if reply.to == to and reply.nth in (nth, None)]
        return min(matching, key=lambda reply: reply.nth is None, default=None)


def say(
    says: Body | Callable[[Work], Body],
    *,
    after_ms: int = 0,
    last: bool = False,
    late: bool = False,
    times: int = 1,
) -> Step:
    """A step that says a fixed body, or one made from the command."""
    body = (lambda _command: says) if isinstance(says, Body) else says
    return Step(says=Says(body), after_ms=after_ms, last=last, late=late, times=times)


def fixed_answer(text: str, *, tone_hz: int, tone_ms: int, delay_ms: int, transcript: str) -> Script:
    """The script of a stage that always says the same: `text` as a tone, and hears `transcript`."""
    answer = (
        say(Said(text=text, pcm=tone(tone_hz, tone_ms)), after_ms=delay_ms),
        say(Finished(), last=True),
    )
    recognised = (say(Heard(transcript), last=True),)
    return Script(replies=(Reply(to="speak", steps=answer), Reply(to="recognise", steps=recognised)))


def tone(hertz: int, ms: int) -> bytes:
    """A sine at a quarter of full scale."""
    turn = 2 * math.pi * hertz / SAMPLE_RATE
    return array("h", (int(8192 * math.sin(turn * n)) for n in range(ms_to_samples(ms)))).tobytes()


# --- scripts as files -------------------------------------------------------------------------------------


class _Said(Struct, frozen=True, tag="said", forbid_unknown_fields=True):
    text: str = ""
    tone_hz: int = 440
    tone_ms: int = 0


class _Heard(Struct, frozen=True, tag="heard", forbid_unknown_fields=True):
    text: str


class _Finished(Struct, frozen=True, tag="finished", forbid_unknown_fields=True):
    why: Literal["done", "length"] = "done"


class _Failed(Struct, frozen=True, tag="failed", forbid_unknown_fields=True):
    code: str = "engine_error"
    message: str = "scripted failure"
    retryable: bool = False


def read_script(path: Path) -> Script:
    """Read a script from TOML or JSON. Raises OSError, or msgspec.DecodeError naming place and reason."""
    decode: Any = msgspec.toml.decode if path.suffix == ".toml" else msgspec.json.decode
    script: Script = decode(path.read_bytes(), type=Script, dec_hook=_says)
    return script


def _says(kind: type, written: Any) -> Says:
    body: Body
    match msgspec.convert(written, _Said | _Heard | _Finished | _Failed):
        case _Said(text, hertz, ms):
            body = Said(text, tone(hertz, ms))
        case _Heard(text):
            body = Heard(text)
        case _Finished(why):
            body = Finished(why)
        case _Failed(code, message, retryable):
            body = Failed(code, message, retryable)
    return Says(lambda _command: body)
