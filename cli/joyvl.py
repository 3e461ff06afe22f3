"""The options of a JoyVL interaction server, by the names that the reference has for them.

They are a short way to write `[joyvl]` and the endpoints of `[stage.chat]`. Keys are no options: they come
from variables or files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--only",
        type=click.Choice(["joyvl", "personaplex"]),
        help="Serve the routes of that, and nothing else.",
    ),
    click.option("--main-backend-url", help="joyvl: the endpoint whose model watches."),
    click.option("--main-model", help="joyvl: the model to ask for there."),
    click.option(
        "--persona", type=click.Choice(["default", "silent", "talkative"]), help="joyvl: the usual."
    ),
    click.option("--summarizer-backend-url", help="joyvl: another endpoint that sums up."),
    click.option("--summarizer-model", help="joyvl: the model to ask for there."),
    click.option("--chunk-frames", type=click.IntRange(1, 256), help="joyvl: frames shown at most (100)."),
    click.option("--response-dedup-threshold", type=click.FloatRange(0, 1), help="joyvl: repetitions (1)."),
    click.option("--max-tokens", type=click.IntRange(1), help="joyvl: of a reply (128)."),
    click.option("--temperature", type=click.FloatRange(0, 2), help="joyvl: of replies (0.8)."),
    click.option("--no-memory", is_flag=True, default=None, help="joyvl: sum nothing up."),
    click.option("--no-delegation", is_flag=True, default=None, help="joyvl: delegate nothing."),
    click.option("--no-force-silence", is_flag=True, default=None, help="joyvl: ask without a query, too."),
    click.option("--delegation-backend-url", help="joyvl: the endpoint that answers what is delegated."),
    click.option("--delegation-model", help="joyvl: the model to ask for there."),
    click.option(
        "--delegation-kind",
        type=click.Choice(["chat", "image", "edit", "router", "stub"]),
        help="joyvl: who answers what is delegated.",
    ),
    click.option("--delegation-api-key", hidden=True),
    click.option("--delegation-image-url", help="joyvl: the endpoint that makes pictures."),
    click.option("--delegation-edit-url", help="joyvl: the endpoint that changes pictures."),
    click.option("--delegation-edit-model", help="joyvl: the model to ask for there."),
)
NAMES = (
    "only", "main_backend_url", "main_model", "persona", "summarizer_backend_url", "summarizer_model",
    "chunk_frames", "response_dedup_threshold", "max_tokens", "temperature", "no_memory", "no_delegation",
    "no_force_silence", "delegation_backend_url", "delegation_model", "delegation_kind", "delegation_api_key",
    "delegation_image_url", "delegation_edit_url", "delegation_edit_model",
)  # fmt: skip
_AS_THEY_ARE = (
    "main_model",
    "persona",
    "chunk_frames",
    "response_dedup_threshold",
    "max_tokens",
    "temperature",
)
_ENDPOINTS = {
    "summarizer": ("summarizer_backend_url", "chat"),
    "delegation": ("delegation_backend_url", "chat"),
    "delegation_image": ("delegation_image_url", "image"),
    "delegation_edit": ("delegation_edit_url", "edit"),
}
"""By their names in `[stage.chat]`: the option with the address, and the kind."""


def options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def taken_out(flags: dict[str, Any]) -> dict[str, Any]:
    """Those of the flags that are of this, out of all of them."""
    return {name: value for name in NAMES if (value := flags.pop(name)) is not None}


def settings_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """As settings: `[joyvl]`, the stage, its endpoints. Raises ClickException."""
    if "delegation_api_key" in given:
        raise click.ClickException("a key is no option: put it into ANTIPHON_DELEGATION_API_KEY, or a file")
    joyvl = {name: given[name] for name in _AS_THEY_ARE if name in given}
    joyvl |= {"memory": False} if given.get("no_memory") else {}
    joyvl |= {"force_silence": False} if given.get("no_force_silence") else {}
    if not given.get("no_delegation") and "delegation_kind" in given:
        joyvl["delegation_kind"] = given["delegation_kind"]
    chat: dict[str, Any] = {}
    if "main_backend_url" in given:
        model = given.get("main_model", "JoyAI-VL-Interaction-Preview")
        chat = {"llm_url": given["main_backend_url"], "llm_model": model, "llm_sees": True}
    endpoints = {
        name: {"url": given[url], "model": _model(name, given), "kind": kind}
        for name, (url, kind) in _ENDPOINTS.items()
        if url in given and not (name.startswith("delegation") and given.get("no_delegation"))
    }
    chat |= {"endpoints": endpoints} if endpoints else {}
    return {
        **({"only": given["only"]} if "only" in given else {}),
        **({"joyvl": joyvl} if joyvl else {}),
        **({"stage": "chat"} if "llm_url" in chat else {}),
        **({"stages": {"chat": chat}} if chat else {}),
    }


def _model(endpoint: str, given: Mapping[str, Any]) -> str:
    """Whoever makes pictures need not be named; others are called as the main model."""
    otherwise = "" if endpoint == "delegation_image" else given.get("main_model", "")
    named: str = given.get(f"{endpoint}_model") or otherwise
    return named
