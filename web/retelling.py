"""Events read in the log, as the frames that a client does not have yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from antiphon.actors.runtime import Published
from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import ResponseCreated
from antiphon.projections.base import frame_number

from .outbox import Letter
from .showing import Showing


class Retelling:
    """One connection's way through the log. `showing` goes on event by event, in order."""

    def __init__(
        self,
        store: Log,
        session: SessionId,
        showing: Showing,
        after: int,
        anyway: Callable[[Stored], bool] = lambda stored: False,
    ) -> None:
        """Frames up to number `after` are passed over, but for those of events to be told `anyway`."""
        self._store, self._session, self._showing = store, session, showing
        self._after, self._anyway = after, anyway
        self._known: list[tuple[Any, Stored]] = []
        """Audio of the present answer that the client has: the rest goes on from it."""

    def letters(self, stored: Stored) -> Iterator[Letter]:
        """The frames of the next event that are to be sent. Raises LogError where their audio is gone."""
        if isinstance(stored.event, ResponseCreated):
            self._known.clear()
        frames = self._showing.step(stored)
        return self._letters(stored, frames) if frames else iter(())

    def _letters(self, stored: Stored, frames: Any) -> Iterator[Letter]:
        whole: Published | None = None
        for k, frame in enumerate(frames):
            number = frame_number(stored.seq, k)
            audio = self._showing.is_audio(frame)
            if number <= self._after and not self._anyway(stored):
                if audio:
                    self._known.append((frame, stored))
                continue
            if audio:
                for earlier, of in self._known:
                    self._showing.heard(earlier, self._published(of))
                self._known.clear()
            whole = whole or self._published(stored)
            yield self._showing.letter(number, frame, whole)

    def _published(self, stored: Stored) -> Published:
        blob = stored.blob
        return Published(stored, None if blob is None else self._store.read_blob(self._session, blob))
