"""Events read in the log, as the frames that a client does not have yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from antiphon.actors.runtime import Published
from antiphon.events.envelope import Stored
from antiphon.events.errors import Erased
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import ResponseEnded
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
        *,
        silent: bool = False,
    ) -> None:
        """Frames up to number `after` are passed over, but for those of events to be told `anyway`. `silent`:
        audio that was erased is told without its sound."""
        self._silent = silent
        self._store, self._session, self._showing = store, session, showing
        self._after, self._anyway = after, anyway
        self._known: deque[tuple[Any, Stored]] = deque()
        """Audio that the client has and the rest goes on from: where it is a stream, that of the present
        answer; otherwise that of the present event."""
        self._answer_is_over = False

    def letters(self, stored: Stored) -> Iterator[Letter]:
        """The frames of the next event that are to be sent. Raises LogError where their audio is gone."""
        if self._answer_is_over:
            self._known.clear()
        self._answer_is_over = isinstance(stored.event, ResponseEnded)
        frames = self._showing.step(stored)
        return self._letters(stored, frames) if frames else iter(())

    def _letters(self, stored: Stored, frames: Any) -> Iterator[Letter]:
        whole: Published | None = None
        for k, frame in enumerate(frames):
            number = frame_number(stored.seq, k)
            audio = self._showing.is_audio(frame)
            if number <= self._after and not self._anyway(stored):
                if audio:
                    self._pass_over(frame, stored)
                continue
            if audio:
                while self.hear_known():
                    pass
            whole = whole or self._published(stored)
            yield self._showing.letter(number, frame, whole)

    def _pass_over(self, frame: Any, stored: Stored) -> None:
        if self._known and not self._showing.is_stream and self._known[-1][1] is not stored:
            self._known.clear()
        self._known.append((frame, stored))

    def hear_known(self) -> bool:
        """Have the sound go on from one more frame that the client has; False: it does from all of them.
        Raises LogError where their audio is gone."""
        if not self._known:
            return False
        frame, stored = self._known.popleft()
        self._showing.heard(frame, self._published(stored))
        return True

    def _published(self, stored: Stored) -> Published:
        blob = stored.blob
        if blob is None:
            return Published(stored)
        try:
            return Published(stored, self._store.read_blob(self._session, blob))
        except Erased:
            if not self._silent:
                raise
            return Published(stored)
