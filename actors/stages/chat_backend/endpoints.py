"""Where chat servers are and how they are asked: addresses, keys, and how long to wait for them.

A key comes from a file that the settings name, or from the environment, and goes into one header. It is never
put into messages or logs.

    ANTIPHON_LLM_API_KEY            the main endpoint's
    ANTIPHON_<NAME>_API_KEY         that of the further endpoint NAME; without one it is asked without a key
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import httpx
from msgspec import Meta, Struct

from antiphon.actors.stages.contract import EngineRefused

KEY_VARIABLE = "ANTIPHON_LLM_API_KEY"
COMPLETIONS = "/chat/completions"
GENERATIONS = "/images/generations"

Kind = Literal["chat", "image", "edit"]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class Patience(Struct, frozen=True):
    """Seconds to wait for a connection, for the first word of an answer, and from one word to the next."""

    connect_s: float = 5.0
    first_word_s: float = 60.0
    idle_s: float = 30.0


class Further(Struct, frozen=True, forbid_unknown_fields=True):
    """A further endpoint, as settings name it. `kind` "image": it makes pictures, "edit": it changes them,
    and does not chat."""

    url: str
    model: str = ""
    key_file: str = ""
    kind: Kind = "chat"


class Endpoint(Struct, frozen=True):
    """One that can be asked."""

    url: str
    model: str
    key: str = ""
    kind: Kind = "chat"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


def main(url: str, model: str, key_file: str = "", environment: Mapping[str, str] = os.environ) -> Endpoint:
    """The one that answers. Raises EngineRefused."""
    if not model:
        raise EngineRefused("bad_settings", "a chat server needs the name of its model: --llm-model")
    return Endpoint(completions_url(url), model, read_key(KEY_VARIABLE, key_file, environment))


def further(name: str, named: Further, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Raises EngineRefused."""
    variable = f"ANTIPHON_{name.upper()}_API_KEY"
    key = read_key(variable, named.key_file, environment)
    what = f"the endpoint {name}"
    url = checked_url(named.url, GENERATIONS if named.kind == "image" else COMPLETIONS, what, variable)
    return Endpoint(url, named.model, key, named.kind)


def completions_url(url: str) -> str:
    """Where to ask, from a server's base URL (`…/v1`). Raises EngineRefused."""
    return checked_url(url, COMPLETIONS, "--llm-url", KEY_VARIABLE)


def checked_url(url: str, path: str, what: str, variable: str) -> str:
    """A server's base URL with `path` behind it. Raises EngineRefused."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise EngineRefused("bad_settings", f"{what} is no URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise EngineRefused("bad_settings", f"{what} wants http(s)://host[:port]/v1")
    if parsed.userinfo:
        raise EngineRefused("bad_settings", f"{what} takes no password; put a key into {variable}")
    base = url.rstrip("/")
    return base if base.endswith(path) else base + path


def read_key(variable: str, key_file: str, environment: Mapping[str, str]) -> str:
    """The key; "": there is none. A file's last line end is no part of it. Raises EngineRefused."""
    where = variable
    if key_file:
        where = "the key file"
        try:
            key = Path(key_file).expanduser().read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise EngineRefused("bad_settings", f"{where} {key_file} cannot be read") from error
        if not key:
            raise EngineRefused("bad_settings", f"there is no key in {key_file}")
    else:
        key = environment.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise EngineRefused("bad_settings", f"{where} holds what no header can carry")
    return key


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
