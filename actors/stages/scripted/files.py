"""Scripts as files.

    [[replies]]
    to = "speak"
    nth = 2                      # the second answer of a session; without it: all others

    [[replies.steps]]
    after_ms = 50                # after the step before it
    says = { type = "said", text = "Good morning.", tone_hz = 440, tone_ms = 300 }

    [[replies.steps]]
    says = { type = "finished" }
    last = true

What a stage that hears in units does with each is in units.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from antiphon.actors.stages.contract import Body, Called, Failed, Finished, Heard, Measured, Routed, Said
from antiphon.actors.stages.scripted.script import Says, Script, Work
from antiphon.actors.stages.scripted.sound import tone


class _Said(Struct, frozen=True, tag="said", forbid_unknown_fields=True):
    text: str = ""
    tone_hz: int = 440
    tone_ms: int = 0


class _Heard(Struct, frozen=True, tag="heard", forbid_unknown_fields=True):
    text: str


class _Called(Struct, frozen=True, tag="called", forbid_unknown_fields=True):
    call_id: str
    name: str
    arguments: str = "{}"


class _Finished(Struct, frozen=True, tag="finished", forbid_unknown_fields=True):
    why: Literal["done", "length"] = "done"


class _Failed(Struct, frozen=True, tag="failed", forbid_unknown_fields=True):
    code: str = "engine_error"
    message: str = "scripted failure"
    retryable: bool = False


class _Measured(Struct, frozen=True, tag="measured", forbid_unknown_fields=True):
    name: str
    value_ms: int = 0
    each_us: tuple[int, ...] = ()


class _Routed(Struct, frozen=True, tag="routed", forbid_unknown_fields=True):
    route: str


def read_script(path: Path) -> Script:
    """Read a script from TOML or JSON. Raises OSError, or msgspec.DecodeError naming place and reason."""
    decode: Any = msgspec.toml.decode if path.suffix == ".toml" else msgspec.json.decode
    script: Script = decode(path.read_bytes(), type=Script, dec_hook=_says)
    return script


def _says(kind: type, written: Any) -> Says:
    body: Body
    match msgspec.convert(written, _Said | _Heard | _Called | _Finished | _Failed | _Measured | _Routed):
        case _Said(text, hertz, ms):
            body = Said(text, tone(hertz, ms))
        case _Heard(text):
            body = Heard(text)
        case _Called(call_id, name, arguments):
            body = Called(call_id, name, arguments)
        case _Finished(why):
            body = Finished(why)
        case _Failed(code, message, retryable):
            body = Failed(code, message, retryable)
        case _Measured(name, value_ms, each_us):
            body = Measured(name, value_ms, each_us)
        case _Routed(route):
            body = Routed(route)

    def say(_command: Work, _nth: int) -> Body:
        return body

    return Says(say)
