"""What the server offers, each to be switched off and on while it runs; all of it is on when it starts.

    GET /api/apps                  what there is
    PUT /api/admin/apps/APP        {"enabled": false}: who comes from now on is refused; what goes on does so

Switching takes an operator's key, where there are keys, and a server of one process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from litestar import get, put
from litestar.datastructures import State
from msgspec import Struct

from .auth import Denied
from .callers import Missing, Request, SeveralProcesses, operator

Json = dict[str, Any]

APPS: Mapping[str, str] = {"half_duplex_audio": "half_duplex", "audio_duplex": "duplex"}
"""By the names that the MiniCPM-o demo has for them, with the mode of their sessions."""
NAMES: Mapping[str, str] = {"half_duplex": "Half-Duplex Audio", "duplex": "Audio Duplex"}


class Apps:
    """Which modes of sessions a process opens."""

    def __init__(self) -> None:
        self._off: set[str] = set()

    def check(self, mode: str) -> None:
        """Raises Denied where it is off."""
        if mode in self._off:
            raise Denied(403, "app_disabled", f"{NAMES[mode]} is currently disabled")

    def switch(self, mode: str, *, on: bool) -> None:
        (self._off.discard if on else self._off.add)(mode)

    def shown(self, app: str) -> Json:
        mode = APPS[app]
        return {"app_id": app, "name": NAMES[mode], "enabled": mode not in self._off}


class Switch(Struct):
    enabled: bool


@get("/api/apps", sync_to_thread=False)
def all_apps(state: State) -> Json:
    return {"apps": [state.server.apps.shown(app) for app in APPS]}


@put("/api/admin/apps/{app_id:str}", sync_to_thread=False)
def switch_app(request: Request, state: State, app_id: str, data: Switch) -> Json:
    server = state.server
    operator(request, server.doors)
    if app_id not in APPS:
        raise Missing("there is no app of that name")
    if not server.host.reception.alone:
        raise SeveralProcesses("a server of several serving processes has all its apps on")
    server.apps.switch(APPS[app_id], on=data.enabled)
    shown: Json = server.apps.shown(app_id)
    return shown
