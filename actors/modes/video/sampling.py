"""Sampling parameters as clients of streaming video give them: for each stage of a model, by its place.

The first entry is for the stage that writes the words, which is the one that every model has; those of
others are held to the same rules. A name or a value that no server of this kind takes is Invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

MOST_STAGES = 16


class Invalid(ValueError):
    """No request can be made of these parameters; the message says which, and why."""


def _number(least: float, most: float) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most

    return fits


def _whole(least: int, most: int = 2**63 - 1) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return fits


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _tokens(value: Any) -> bool:
    return isinstance(value, list) and all(_whole(0)(one) for one in value)


def _biases(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(-100, 100)(one) for one in value.values())


PARAMETERS: Mapping[str, Callable[[Any], bool]] = {
    "temperature": _number(0, 100),
    "top_p": _number(0, 1),
    "top_k": _whole(-1),
    "min_p": _number(0, 1),
    "max_tokens": _whole(1),
    "min_tokens": _whole(0),
    "seed": _whole(-(2**63)),
    "stop": _texts,
    "stop_token_ids": _tokens,
    "bad_words": _texts,
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "repetition_penalty": _number(0, 10),
    "logit_bias": _biases,
    "ignore_eos": _flag,
    "skip_special_tokens": _flag,
    "spaces_between_special_tokens": _flag,
    "include_stop_str_in_output": _flag,
    "detokenize": _flag,
}
"""By the names that servers of this kind share, and whether they take a value."""

OURS = ("detokenize",)
"""What the parameters of an engine have, and no request to a server has."""


def checked(given: Sequence[dict[str, Any]] | None) -> dict[str, Any]:
    """Those of the stage that writes; nothing given: the stages' own. Raises Invalid."""
    if not given:
        return {}
    if len(given) > MOST_STAGES:
        raise Invalid(f"sampling_params_list has {len(given)} entries; no model has so many stages")
    for place, entry in enumerate(given):
        for name, value in entry.items():
            fits = PARAMETERS.get(name)
            if fits is None:
                raise Invalid(f"sampling_params_list[{place}] has an unexpected {name[:80]!r}")
            if value is not None and not fits(value):
                raise Invalid(f"sampling_params_list[{place}].{name} cannot be used")
    return {name: value for name, value in given[0].items() if value is not None and name not in OURS}
