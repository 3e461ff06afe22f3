"""The watchers of a server: by who asks, and by what they call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antiphon.actors.admission import CannotOpen
from antiphon.actors.host import SessionHost
from antiphon.actors.session.commands import Attach
from antiphon.events.store import Log
from antiphon.events.vocabulary import Config, WatchOptions
from antiphon.projections.joyvl import frames as f
from antiphon.web.disk import Disk

from .watcher import DIALECT, Watcher

LONGEST_NAME = 255

Key = tuple[str | None, str]


class Watchers:
    """Of one serving process."""

    def __init__(
        self,
        host: SessionHost,
        store: Log,
        disk: Disk,
        make_room: Callable[[], object],
        options: WatchOptions,
        model: str,
    ) -> None:
        self._host, self._store = host, store
        self._disk, self._make_room = disk, make_room
        self._config = Config(model=model, output_modalities=("text",), watch=options)
        self.model = model
        self._watchers: dict[Key, Watcher] = {}
        self._last: f.Frame | None = None
        """The latest answer of a model, to any of them."""

    def find(self, principal: str | None, name: str) -> Watcher | None:
        watcher = self._watchers.get((principal, name))
        return None if watcher is None or watcher.over else watcher

    def open(self, principal: str | None, name: str) -> Watcher:
        """The watcher of that name, which begins if there is none. Raises CannotOpen."""
        found = self.find(principal, name)
        if found is not None:
            return found
        able = self._host.abilities()
        if not able.sees or able.hears != "utterances":
            raise CannotOpen("stage_failed", "the stage behind this server takes no images")
        if self._disk.is_low:
            self._make_room()
            raise CannotOpen("resource_exhausted", "the disk of the server is nearly full; try again later")
        self._forget_what_is_over()
        watcher = Watcher(self._store)
        attach = Attach(dialect=DIALECT, client=name)
        watcher.hosted = self._host.open(watcher, self._config, attach, mode="joyvl", principal=principal)
        self._watchers[principal, name] = watcher
        return watcher

    def _forget_what_is_over(self) -> None:
        self._watchers = {key: one for key, one in self._watchers.items() if not one.over}

    def note(self, answer: f.Frame) -> None:
        """What a model's answer says of the model."""
        if isinstance(answer, f.Failed) and answer.error.type != "server_error":
            return
        if isinstance(answer, f.Failed) or not answer.interaction.inference_skipped:
            self._last = answer

    def health(self) -> dict[str, Any]:
        """How many there are, and whether the model answered when it was last asked."""
        last = self._last
        state = "unknown" if last is None else "failing" if isinstance(last, f.Failed) else "ok"
        said: dict[str, Any] = {
            "sessions": sum(not one.over for one in self._watchers.values()),
            "backend": state,
        }
        if isinstance(last, f.Failed):
            said["last_error"] = last.error.code
        return said
