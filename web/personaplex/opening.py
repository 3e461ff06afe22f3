"""What a client asks for when it comes, checked before anything is opened for it.

/api/chat says it in its URL, /v1/audio/duplex in its first message, `{"type":"open"}`. A persona has at most
MOST_PERSONA characters. A voice is one of VOICES, by its name or by that of its file: nothing that a client
says ever becomes part of a path. Numbers are numbers, and within their bounds. What is blank counts as not
said. Members that nobody knows, and those of other servers that have no meaning here, are passed over.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from antiphon.actors.session.refusals import Unsupported
from antiphon.events.vocabulary import Abilities, Config
from antiphon.media import opus
from antiphon.web.dialect import Beginning, Left, Receive, Return
from antiphon.web.duplex.opening import CONFIG_TIMEOUT_S
from antiphon.web.realtime.undecodable import Undecodable

from .decode import message

MOST_PERSONA = 4_000
VOICES = frozenset(
    (*(f"NAT{sex}{n}" for sex in "FM" for n in range(4)), *(f"VAR{sex}{n}" for sex in "FM" for n in range(5)))
)
"""Those that come with PersonaPlex."""
TEMPERATURES = {"text_temperature": (0.0, 2.0), "audio_temperature": (0.0, 2.0)}
COUNTS = {"text_topk": (0, 100_000), "audio_topk": (0, 100_000)}
SEEDS = ("seed", "text_seed", "audio_seed")
"""The first that is given counts: a session has one."""
NO_SEED = -1
YES = ("1", "true", "on", "yes")
FINISHED = "finished"
"""Why a client is let go that closes what it has not opened."""

_NUMBER = re.compile(r"[+-]?\d{1,20}(\.\d{0,20})?", re.ASCII)


async def begin_chat(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning:
    """By the URL. Raises Undecodable, Refused, and whatever asking for abilities raises."""
    config = asked_for(query, abilities(), model, persona="text_prompt", voice="voice_prompt")
    try:
        opus.codec()
    except opus.OpusMissing as missing:
        raise Undecodable(missing.code, str(missing)) from missing
    return Beginning(config, returns=_is_wanted(query.get("resumable")))


async def begin_duplex(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning | Return:
    """By the first message that is JSON; sound before it nobody hears. Raises as `begin_chat`, and Left."""
    while True:
        given = message(await _first(receive))
        match given.get("type"):
            case "open":
                config = asked_for(given, abilities(), model, persona="persona", voice="voice")
                return Beginning(config, returns=_is_wanted(given.get("resumable")))
            case "close":
                raise Undecodable(FINISHED, "there was nothing to close")


async def _first(receive: Receive) -> str:
    try:
        async with asyncio.timeout(CONFIG_TIMEOUT_S):
            while True:
                came = await receive()
                if came["type"] == "websocket.disconnect":
                    raise Left
                text = came.get("text")
                if isinstance(text, str):
                    return text
    except TimeoutError:
        raise Undecodable("config_timeout", f"no open came within {CONFIG_TIMEOUT_S:g} s") from None


def asked_for(given: Mapping[str, Any], able: Abilities, model: str, *, persona: str, voice: str) -> Config:
    """The configuration to open with. Raises Undecodable, Refused."""
    if able.hears != "continuously" or not able.speaks:
        told = "a continuous call needs a model that hears and speaks all the time; this server's does not"
        raise Unsupported(told)
    instructions = _text(given, persona)
    if len(instructions) > MOST_PERSONA:
        raise _wrong(persona, f"at most {MOST_PERSONA} characters")
    return Config(
        model=model or able.stage,
        output_modalities=("audio",),
        auto_response=True,
        instructions=instructions,
        voice=_voice(_text(given, voice), voice),
        sampling=_sampling(given),
    )


def _voice(given: str, parameter: str) -> str:
    name = given.removesuffix(".pt")
    if name and name not in VOICES:
        raise _wrong(parameter, f"one of {', '.join(sorted(VOICES))}")
    return name


def _sampling(given: Mapping[str, Any]) -> dict[str, int | float]:
    asked: dict[str, int | float] = {}
    for name, bounds in TEMPERATURES.items():
        if (number := _number(given, name, bounds)) is not None:
            asked[name] = number
    for name, bounds in COUNTS.items():
        if (number := _whole(given, name, bounds)) is not None:
            asked[name] = number
    seeds = [_whole(given, name, (NO_SEED, 2**63 - 1)) for name in SEEDS]
    asked |= _first_seed(seed for seed in seeds if seed is not None)
    return asked


def _first_seed(seeds: Iterable[int]) -> dict[str, int]:
    seed = next(iter(seeds), NO_SEED)
    return {} if seed == NO_SEED else {"seed": seed}


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(name, "text")
    return (value or "").strip()


def _number(given: Mapping[str, Any], name: str, bounds: tuple[float, float]) -> float | None:
    """A JSON number, or the text of one. Raises Undecodable."""
    value = given.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    least, most = bounds
    is_text = isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not (is_text or is_number) or not least <= float(value) <= most:
        raise _wrong(name, f"a number from {least:g} to {most:g}")
    return float(value)


def _whole(given: Mapping[str, Any], name: str, bounds: tuple[int, int]) -> int | None:
    number = _number(given, name, bounds)
    if number is None:
        return None
    if number != int(number):
        raise _wrong(name, "a whole number")
    value = given[name]
    return int(number) if isinstance(value, float) or "." in str(value) else int(value)


def _is_wanted(given: Any) -> bool:
    return given is True or (isinstance(given, str) and given.lower() in YES)


def _wrong(parameter: str, wanted: str) -> Undecodable:
    return Undecodable("invalid_value", f"{parameter}: {wanted} is wanted", parameter)
