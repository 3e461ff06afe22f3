"""What a server admits: which sessions, on which terms, and how many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from antiphon.events.vocabulary import Abilities, Terms

from .link.serving_end import StageLink
from .session.commands import StageRole
from .stages import descriptor as descriptors


class CannotOpen(Exception):
    """No session can be opened, or gone on with. Worth a retry: `not_ready`, `resource_exhausted`. Not:
    `stage_failed`, `runtime_contract_invalid`, `session_resume_expired`, `session_resume_conflict`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Admission(Struct, frozen=True, kw_only=True):
    """What the server admits: on which terms, and how many at once (None: as many as the stages take)."""

    terms: Terms = Terms()
    max_sessions: int | None = None


class Places(Protocol):
    """How many sessions there are in all serving processes."""

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""

    @property
    def taken(self) -> int: ...

    def take(self, limit: int | None) -> bool:
        """Count one more here, unless there are `limit` already (None: whatever there are)."""

    def leave(self) -> None:
        """One less here."""


class PlacesAlone:
    """Of a process that is the only one."""

    alone = True

    def __init__(self) -> None:
        self.taken = 0

    def take(self, limit: int | None) -> bool:
        if limit is not None and self.taken >= limit:
            return False
        self.taken += 1
        return True

    def leave(self) -> None:
        self.taken -= 1


class Entrance:
    """Decides whether a session may begin, or be gone on with, here and now."""

    def __init__(
        self, links: Mapping[StageRole, StageLink], admission: Admission, places: Places | None
    ) -> None:
        self._links, self._most = links, admission.max_sessions
        self.places: Places = PlacesAlone() if places is None else places

    @property
    def ready(self) -> bool:
        return all(link.state == "ready" for link in self._links.values())

    def abilities(self) -> Abilities:
        """What a session opened now can do. Raises CannotOpen while a configured stage is not ready."""
        model = self._links["model"].descriptor
        for link in self._links.values():
            if link.state == "failed" and link.code == descriptors.CODE:
                raise CannotOpen(link.code, link.detail)
            if link.state == "failed":
                raise CannotOpen("stage_failed", "a stage could not be loaded; GET /health says why")
        if model is None or not self.ready:
            raise CannotOpen("not_ready", "the stages are still loading; try again soon")
        return Abilities(
            stage=model.name,
            hears=model.hears,
            detects_voice="voice" in self._links,
            transcribes=model.transcribes,
            speaks=model.speaks,
            must_not_repeat=model.must_not_repeat,
            unit_ms=model.unit_ms,
            sees=model.sees,
            reads=model.reads,
            takes_audio=model.takes_audio,
            calls_tools=model.calls_tools,
            confirms_config=model.confirms_config,
            past_units=model.past_units,
            response_options=model.response_options,
            max_sessions=self._limit(),
        )

    def take_place(self, *, admitted: bool = False) -> None:
        """For one more session. Raises CannotOpen where all places are taken, unless the session is
        `admitted` already, and only changes its process."""
        limit = self._limit()
        if not self.places.take(None if admitted else limit):
            raise CannotOpen("resource_exhausted", f"all {limit} conversations are taken; try again later")

    def leave_place(self) -> None:
        """One session less."""
        self.places.leave()

    def _limit(self) -> int:
        """How many sessions there is room for, here and at every stage."""
        limits = [link.descriptor.max_sessions for link in self._links.values() if link.descriptor]
        if self._most is not None:
            limits.append(self._most)
        return min(limits)
