"""What of a store is to be erased, in which order. Pure: the caller lists what there is, and erases.

1. Audio older than `keep_audio_ns`, then lives older than `keep_events_ns`. A life's age counts from when it
   was last written.
2. While the store is larger than `max_data_bytes`, the oldest audio, and when there is none left, the oldest
   lives. Who sets that limit says that the oldest may go to make room, so the same is done while the disk has
   less than `min_free_bytes` free. Without that limit nothing is ever erased for room.

A life that somebody writes is never touched; nor is one that was never sealed, before it has been left alone
for `LEFT_ALONE_NS`: its writer may be about to open it again. Audio goes before events because it is a
hundred times larger, and because the events still tell what was said when it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from .store import Holding, Scope

LEFT_ALONE_NS = 600 * 1_000_000_000
Reason = Literal["keep_audio", "keep_events", "max_data", "min_free"]
"""The setting by which something is erased."""


class Policy(Struct, frozen=True, kw_only=True):
    """None: no limit. An audio limit of 0 keeps no audio of any life that is over."""

    keep_audio_ns: int | None = None
    keep_events_ns: int | None = None
    max_data_bytes: int | None = None
    min_free_bytes: int | None = None

    @property
    def erases(self) -> bool:
        """Whether anything can ever become due."""
        return (self.keep_audio_ns, self.keep_events_ns, self.max_data_bytes) != (None, None, None)


class Erasure(Struct, frozen=True):
    """One thing to erase, and how many bytes that frees."""

    holding: Holding
    scope: Scope
    reason: Reason

    @property
    def bytes_(self) -> int:
        one = self.holding
        return one.audio_bytes + (one.events_bytes if self.scope is Scope.ALL else 0)


def due(holdings: Iterable[Holding], now_ns: int, policy: Policy, free_bytes: int) -> list[Erasure]:
    """Everything to erase now, in order: audio first, oldest first. `free_bytes` is the disk's free room.

    Nothing is erased twice: a life that goes as a whole is not in the list for its audio.
    """
    there = sorted(holdings, key=lambda one: (one.last_written_ns, one.session, one.incarnation))
    idle = [one for one in there if is_over(one, now_ns)]
    by_age = {key(erasure.holding): erasure for erasure in _too_old(idle, now_ns, policy)}
    freed = sum(erasure.bytes_ for erasure in by_age.values())
    stored = sum(one.events_bytes + one.audio_bytes for one in there)
    excess, reason = _excess(stored - freed, free_bytes + freed, policy)
    plan = by_age | _for_room(idle, by_age, excess, reason)
    chosen = [plan[key(one)] for one in idle if key(one) in plan]
    return sorted(chosen, key=lambda erasure: erasure.scope is Scope.ALL)


def is_over(holding: Holding, now_ns: int) -> bool:
    """Whether nobody will write it any more, as far as can be told."""
    if holding.live:
        return False
    return holding.sealed or now_ns - holding.last_written_ns >= LEFT_ALONE_NS


def key(holding: Holding) -> tuple[str, int]:
    return holding.session, holding.incarnation


def _too_old(idle: list[Holding], now_ns: int, policy: Policy) -> Iterator[Erasure]:
    for one in idle:
        age_ns = now_ns - one.last_written_ns
        if policy.keep_events_ns is not None and age_ns >= policy.keep_events_ns:
            yield Erasure(one, Scope.ALL, "keep_events")
        elif policy.keep_audio_ns is not None and age_ns >= policy.keep_audio_ns and not one.erased:
            yield Erasure(one, Scope.AUDIO, "keep_audio")


def _excess(stored: int, free_bytes: int, policy: Policy) -> tuple[int, Reason]:
    """How many bytes too many there are, and by which setting."""
    if policy.max_data_bytes is None:
        return 0, "max_data"
    too_much = stored - policy.max_data_bytes
    too_little_free = 0 if policy.min_free_bytes is None else policy.min_free_bytes - free_bytes
    return (too_much, "max_data") if too_much >= too_little_free else (too_little_free, "min_free")


def _for_room(
    idle: list[Holding], planned: dict[tuple[str, int], Erasure], excess: int, reason: Reason
) -> dict[tuple[str, int], Erasure]:
    """Erasures that free `excess` bytes beyond what is planned, or everything there is."""
    chosen: dict[tuple[str, int], Erasure] = {}
    for one in idle:
        if excess <= 0:
            return chosen
        if not one.erased and key(one) not in planned:
            chosen[key(one)] = Erasure(one, Scope.AUDIO, reason)
            excess -= one.audio_bytes
    for one in idle:
        if excess <= 0:
            return chosen
        before = planned.get(key(one))
        if before is None or before.scope is Scope.AUDIO:
            chosen[key(one)] = Erasure(one, Scope.ALL, reason)
            excess -= one.events_bytes + (one.audio_bytes if one.erased else 0)
    return chosen
