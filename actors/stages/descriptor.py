"""What is wrong with a stage's descriptor, found before any session is opened.

The stage checks its own engine when that is ready, and the serving process what the stage says of it: neither
needs to believe the other. The code of the failure is `runtime_contract_invalid`; its message names all that
is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.actors.stages.contract import CONTRACT_VERSION, Descriptor, Engine, EngineRefused

CODE = "runtime_contract_invalid"
RESPONSE_OPTIONS = ("instructions", "max_output_tokens", "voice", "temperature", "speed")
"""What Speak can ask for one answer only."""
LONGEST_UNIT_MS = 60_000

_ALWAYS = ("start", "open", "listen", "end_turn", "speak", "cancel", "close", "stop")


def faults(descriptor: Descriptor, *, role: str = "") -> tuple[str, ...]:
    """Everything that is wrong with it, for people. `role`: the one that is wanted."""
    if descriptor.contract != CONTRACT_VERSION:
        return (f"contract version {descriptor.contract}, this is {CONTRACT_VERSION}",)
    return (*_identity(descriptor, role), *_hearing(descriptor), *_options(descriptor))


def check(engine: Engine) -> None:
    """Raise EngineRefused unless the engine is what its descriptor says, and that can be served."""
    found = [*faults(engine.descriptor), *_methods(engine)]
    if found:
        raise EngineRefused(CODE, f"stage {engine.descriptor.name or '(no name)'}: {'; '.join(found)}")


def _identity(descriptor: Descriptor, role: str) -> Iterator[str]:
    if not descriptor.name:
        yield "no name"
    if not descriptor.engine:
        yield "no engine id"
    if role and descriptor.role != role:
        yield f"role {descriptor.role}, wanted {role}"
    if descriptor.max_sessions < 1:
        yield f"max_sessions {descriptor.max_sessions}"
    if descriptor.context_tokens < 0:
        yield f"context_tokens {descriptor.context_tokens}"


def _hearing(descriptor: Descriptor) -> Iterator[str]:
    unit_ms = descriptor.unit_ms
    if not 0 <= unit_ms <= LONGEST_UNIT_MS:
        yield f"unit_ms {unit_ms}, it is 0 to {LONGEST_UNIT_MS}"
    if unit_ms and descriptor.hears != "continuously":
        yield f"unit_ms {unit_ms} without hearing continuously"
    if descriptor.past_units < 0 or (descriptor.past_units and not unit_ms):
        yield f"past_units {descriptor.past_units} of a stage that hears in units of {unit_ms} ms"
    if unit_ms and descriptor.role == "voice":
        yield f"unit_ms {unit_ms} of a voice detector"


def _options(descriptor: Descriptor) -> Iterator[str]:
    named = descriptor.response_options
    unknown = sorted(set(named) - set(RESPONSE_OPTIONS))
    if unknown:
        yield f"unknown response options {', '.join(unknown)}"
    if len(set(named)) != len(named):
        yield "response options named twice"


def _methods(engine: Engine) -> Iterator[str]:
    wanted = (*_ALWAYS, "configure") if engine.descriptor.confirms_config else _ALWAYS
    missing = [name for name in wanted if not callable(getattr(engine, name, None))]
    if missing and "configure" in missing:
        yield "confirms_config without configure"
        missing.remove("configure")
    if missing:
        yield f"no method {', '.join(missing)}"
