"""Server-owned settings: a TOML file, then the environment, then flags. Strict: an unknown name is an error.

No client field raises any of them. Keys come from the environment or a file, never from the command line.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from antiphon.actors.stages.registry import VOICE, engines, is_known, models
from antiphon.events.retention import Policy

from . import quantities
from .duplex_session import DuplexSession
from .joyvl.settings import JoyVL


class SettingsError(Exception):
    """The settings cannot be used; the message names the place and what was wanted."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a server runs by. `stages` holds the `[stage.NAME]` tables, checked by the engines."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535)] = 8765
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """How many processes serve clients, each its own."""
    data: str = "antiphon-data"
    stage: str = "cascade"
    only: Literal["", "joyvl", "personaplex"] = ""
    """Serve the routes of that and nothing else; empty: everything."""
    model: str = ""
    """The name clients see; unknown names that they ask for are served by this one."""
    keys: tuple[str, ...] = ()
    """API keys. Empty: no key is asked for, and only loopback addresses can be bound."""
    operator_keys: tuple[str, ...] = ()
    """Keys of those who may see sessions that are not theirs. They open none with them."""
    origins: tuple[str, ...] = ()
    """Web origins allowed beside the server's own, e.g. `https://app.example`."""
    hosts: tuple[str, ...] = ()
    """Host names the server answers to beside its address and `localhost`."""
    tls_certificate: str = ""
    """A PEM file with the server's certificate, and those between it and its root. Empty: no TLS."""
    tls_key: str = ""
    """A PEM file with the certificate's private key, without a passphrase."""
    static: str = ""
    """A folder with a client of others, built: it is served at /moshi/ (web/peers_page.py)."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    keep_audio: str = quantities.NONE
    """How long a session's audio is kept once it is over; `none`: as long as its events."""
    keep_events: str = quantities.NONE
    """How long a session's log is kept once it is over; `none`: for ever."""
    max_data: str = quantities.NONE
    """How large all logs together may be; beyond it the oldest go. `none`: as large as they get."""
    no_audio_log: bool = False
    """Keep no audio of a session that is over."""
    min_free: str = "1GB"
    """With less room on the disk no new session begins; `none`: begin whatever happens."""
    duplex_session: DuplexSession = DuplexSession()
    """`[duplex_session]`"""
    joyvl: JoyVL = JoyVL()
    """`[joyvl]`"""
    stages: dict[str, dict[str, Any]] = {}

    def stage_settings(self, name: str) -> dict[str, Any]:
        return self.stages.get(name, {})

    def retention(self) -> Policy:
        """How long what is kept. Raises SettingsError."""
        keep_audio, keep_events = self._quantity("keep_audio"), self._quantity("keep_events")
        if self.no_audio_log and keep_audio is not None:
            raise SettingsError("settings: keep_audio has no meaning with no_audio_log: choose one")
        if keep_events is not None and (keep_audio or 0) > keep_events:
            raise SettingsError(
                "settings: keep_audio is longer than keep_events, and audio goes with its events"
            )
        return Policy(
            keep_audio_ns=0 if self.no_audio_log else _as_ns(keep_audio),
            keep_events_ns=_as_ns(keep_events),
            max_data_bytes=self._quantity("max_data"),
            min_free_bytes=self._quantity("min_free"),
        )

    def _quantity(self, name: str) -> int | None:
        read = quantities.seconds if name.startswith("keep_") else quantities.bytes_
        try:
            return read(getattr(self, name))
        except quantities.Unreadable as error:
            raise SettingsError(f"settings: {name}: {error}") from error


def _as_ns(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * 1_000_000_000


LOOPBACK = ("127.0.0.1", "::1", "localhost")

_ENVIRONMENT = {
    "ANTIPHON_HOST": "host",
    "ANTIPHON_PORT": "port",
    "ANTIPHON_WORKERS": "workers",
    "ANTIPHON_DATA": "data",
    "ANTIPHON_STAGE": "stage",
    "ANTIPHON_ONLY": "only",
    "ANTIPHON_MODEL": "model",
    "ANTIPHON_KEYS": "keys",
    "ANTIPHON_OPERATOR_KEYS": "operator_keys",
    "ANTIPHON_ORIGINS": "origins",
    "ANTIPHON_HOSTS": "hosts",
    "ANTIPHON_TLS_CERTIFICATE": "tls_certificate",
    "ANTIPHON_TLS_KEY": "tls_key",
    "ANTIPHON_STATIC": "static",
    "ANTIPHON_LOG_LEVEL": "log_level",
    "ANTIPHON_KEEP_AUDIO": "keep_audio",
    "ANTIPHON_KEEP_EVENTS": "keep_events",
    "ANTIPHON_MAX_DATA": "max_data",
    "ANTIPHON_NO_AUDIO_LOG": "no_audio_log",
    "ANTIPHON_MIN_FREE": "min_free",
}
_LISTS = ("keys", "operator_keys", "origins", "hosts")


def load(
    config: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """Read and check the settings. Raises SettingsError."""
    merged = _from_file(config) if config is not None else {}
    for variable, name in _ENVIRONMENT.items():
        value = environment.get(variable)
        if value:
            merged[name] = value.split(",") if name in _LISTS else value
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for table in ("joyvl", "stages"):
        _lay_over(merged.setdefault(table, {}), given.pop(table, {}))
    merged.update(given)
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"settings: {error}") from error
    if not all(key.strip() for key in (*settings.keys, *settings.operator_keys)):
        raise SettingsError("settings: an API key is blank")
    settings.retention()
    unknown = sorted(name for name in settings.stages if not is_known(name))
    if unknown:
        raise SettingsError(f"settings: there is no [stage.{unknown[0]}]; there are {', '.join(engines())}")
    if settings.stage == VOICE or not is_known(settings.stage):
        raise SettingsError(f"settings: there is no stage {settings.stage}; there are {', '.join(models())}")
    if settings.host not in LOOPBACK and not settings.keys:
        raise SettingsError(
            f"host {settings.host} is reachable from outside: set at least one API key (ANTIPHON_KEYS) first"
        )
    return settings


def _lay_over(table: Any, given: Mapping[str, Any]) -> None:
    """Flags of a table over what the file says of it, table by table. What is no table is told of later."""
    if not isinstance(table, dict):
        return
    for name, value in given.items():
        if isinstance(value, dict) and isinstance(table.get(name), dict):
            _lay_over(table[name], value)
        else:
            table[name] = value


def _from_file(path: Path) -> dict[str, Any]:
    """The file's tables: top-level names as in Settings, `[stage.NAME]` for the engines."""
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    if "stages" in read:
        raise SettingsError(f"{path}: unknown name `stages`; an engine's settings are [stage.NAME]")
    tables = read.get("stage")
    if isinstance(tables, dict):
        del read["stage"]
        chosen = tables.pop("use", None)
        read["stages"] = tables
        if chosen is not None:
            read["stage"] = chosen
    for keys in ("keys", "operator_keys"):
        if f"{keys}_file" in read:
            _add_keys(read, path, keys)
    return read


def _add_keys(read: dict[str, Any], path: Path, keys: str) -> None:
    """The keys of `keys_file`, one a line, behind those of `keys`. Who names a file wants keys asked for."""
    named = read.pop(f"{keys}_file")
    try:
        lines = Path(named).read_text("utf-8").split()
    except (OSError, TypeError) as error:
        raise SettingsError(f"{path}: {keys}_file: {error}") from error
    except ValueError as error:  # its message would quote the file
        raise SettingsError(f"{path}: {keys}_file: {named!r} is not a text file") from error
    if not lines:
        raise SettingsError(f"{path}: {keys}_file: there is no key in {named}")
    given = read.get(keys, [])
    read[keys] = [*given, *lines] if isinstance(given, list) else given
