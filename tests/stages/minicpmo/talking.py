"""A stage around a tiny model, and sessions that talk to it without a server."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from antiphon.actors.stages.contract import Body, Listen, Said
from antiphon.actors.stages.minicpmo.engine import MiniCpmOEngine
from antiphon.actors.stages.minicpmo.options import read_settings
from antiphon.actors.stages.minicpmo.parts import load_parts
from antiphon.actors.stages.minicpmo.thinker import Append, Health, Key, Thinker
from antiphon.actors.stages.minicpmo.thinker import Said as Told
from antiphon.events.ids import Fence, Operation, SessionId
from antiphon.media.pcm import to_pcm

PATIENCE_S = 60.0
SECOND = to_pcm(np.random.default_rng(2).normal(0, 0.1, 24_000).astype(np.float32))
GREEDY = {"engine": {"seed": 4, "temperature": 0.0}}


class Watched:
    """A thinker, with what it was asked written down by session; some of them it never answers."""

    def __init__(self, thinker: Thinker) -> None:
        self.facts, self._thinker = thinker.facts, thinker
        self.appends: dict[str, list[Append]] = {}
        self.hangs_for: set[str] = set()

    def open(self, key: Key) -> Future[None]:
        return self._thinker.open(key)

    def append(self, key: Key, append: Append, said: Told) -> None:
        session = key.partition("#")[0]
        self.appends.setdefault(session, []).append(append)
        self._thinker.append(key, append, (lambda _: None) if session in self.hangs_for else said)

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        return self._thinker.truncate(key, context_len)

    def close(self, key: Key) -> Future[None]:
        return self._thinker.close(key)

    def health(self) -> Health:
        return self._thinker.health()

    def stop(self) -> None:
        self._thinker.stop()


class Stage:
    """One engine, with what it says by session and operation."""

    def __init__(self, model: Path, **settings: Any) -> None:
        asked = {"model": str(model), **settings}
        parts = load_parts(read_settings(asked), lambda told: None)
        self.thinker, self.talker = Watched(parts.thinker), Watched(parts.talker)
        parts = replace(parts, thinker=self.thinker, talker=self.talker)
        self.engine = MiniCpmOEngine(asked, progress=lambda told: None, parts=parts)
        self.said: dict[tuple[str, int], list[Body]] = {}
        self.heard = threading.Condition()
        self.over: set[tuple[str, int]] = set()
        self.engine.start(self._emit)

    def _emit(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
        with self.heard:
            self.said.setdefault((fence.session, operation), []).append(body)
            if last:
                self.over.add((fence.session, operation))
            self.heard.notify_all()


class Talk:
    """One session, open."""

    def __init__(self, stage: Stage, config: dict[str, Any], session: str = "s") -> None:
        self.stage, self.engine, self._session = stage, stage.engine, SessionId(session)
        self.epoch = self._operations = 0
        pending = self.engine.open(self.fence, config)
        assert pending is not None
        pending.result(PATIENCE_S)

    @property
    def fence(self) -> Fence:
        return Fence(self._session, 1, self.epoch, self.epoch)

    def begin(self, *, force_listen: bool = False, images: tuple[bytes, ...] = ()) -> int:
        self._operations += 1
        operation = Operation(self._operations)
        self.engine.listen(
            Listen(
                self.fence, operation, 24_000 * operation, SECOND, images=images, force_listen=force_listen
            )
        )
        return operation

    def said(self, operation: int) -> list[Body]:
        return self.stage.said.get((self._session, operation), [])

    def until(self, operation: int, kind: type[Body]) -> None:
        with self.stage.heard:
            found = self.stage.heard.wait_for(
                lambda: any(isinstance(body, kind) for body in self.said(operation)), PATIENCE_S
            )
            assert found, (kind, self.said(operation))

    def has_ended(self, operation: int) -> bool:
        return (self._session, operation) in self.stage.over

    def ended(self, operation: int) -> list[Body]:
        with self.stage.heard:
            assert self.stage.heard.wait_for(lambda: self.has_ended(operation), PATIENCE_S)
            return self.said(operation)

    def unit(self, **how: Any) -> list[Body]:
        return self.ended(self.begin(**how))

    def cancel(self) -> None:
        before = self.fence
        self.epoch += 1
        self.engine.cancel(before, self.fence)

    def configure(self, config: dict[str, Any]) -> None:
        pending = self.engine.configure(self.fence, config)
        assert pending is not None
        pending.result(PATIENCE_S)

    @property
    def appends(self) -> list[Append]:
        """What the thinker was asked for it."""
        return self.stage.thinker.appends.get(self._session, [])

    @property
    def context(self) -> int:
        """Positions that all sessions hold."""
        return self.stage.thinker.health().kv_tokens


def text(bodies: list[Body]) -> str:
    return "".join(body.text for body in bodies if isinstance(body, Said))


def sound(bodies: list[Body]) -> int:
    """Samples."""
    return sum(len(body.pcm) // 2 for body in bodies if isinstance(body, Said))
