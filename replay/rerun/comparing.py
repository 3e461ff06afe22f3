"""Two courses of the same call, side by side: decisions, words, timing.

A spoken turn is the same turn in both if it is partly the same audio; a written one if it has the same words;
an answer if it answers the same turn. What one has and the other has not stands alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from statistics import median

from msgspec import Struct

from ..turns import Course, Turn

SAME_WAIT_MS = 20
"""Waits that differ by less are the same: what a log rounds and a machine's moods."""
HEARD_MS = 100


class Row(Struct, frozen=True):
    """A turn of both, or of one. `changed`: what is otherwise, of `decision`, `words` and `timing`."""

    first: Turn | None
    second: Turn | None
    changed: tuple[str, ...]


class Comparison(Struct, frozen=True):
    """`words_changed`: of all words of turns that both have, the share that is otherwise. Waits are medians
    over the answers, in ms."""

    first: Course
    second: Course
    rows: tuple[Row, ...]
    words_changed: float
    first_wait_ms: float | None
    second_wait_ms: float | None

    def count(self, what: str) -> int:
        return sum(what in row.changed for row in self.rows)

    @property
    def decisions(self) -> int:
        """Turns that were decided otherwise, and beginnings of speech that only one of them heard."""
        return self.count("decision") + abs(self.first.starts - self.second.starts)

    @property
    def decided_alike(self) -> bool:
        return not self.decisions


def compare(first: Course, second: Course) -> Comparison:
    rows = tuple(Row(one, other, _changed(one, other)) for one, other in _pairs(first.turns, second.turns))
    return Comparison(
        first=first,
        second=second,
        rows=rows,
        words_changed=_words_changed(rows),
        first_wait_ms=_wait(first),
        second_wait_ms=_wait(second),
    )


def _wait(course: Course) -> float | None:
    waits = [turn.waited_ms for turn in course.turns if turn.waited_ms is not None]
    return median(waits) if waits else None


def _pairs(first: tuple[Turn, ...], second: tuple[Turn, ...]) -> Iterator[tuple[Turn | None, Turn | None]]:
    i = j = 0
    while i < len(first) and j < len(second):
        one, other = first[i], second[j]
        if _is_same(one, other):
            yield one, other
            i, j = i + 1, j + 1
        elif _comes_first(one, other, first[i:], second[j:]):
            yield one, None
            i += 1
        else:
            yield None, other
            j += 1
    yield from ((one, None) for one in first[i:])
    yield from ((None, other) for other in second[j:])


def _is_same(one: Turn, other: Turn) -> bool:
    if one.who != other.who:
        return False
    if one.who == "assistant":
        return True
    if not one.until_sample or not other.until_sample:
        return one.words == other.words and one.until_sample == other.until_sample
    return min(one.until_sample, other.until_sample) > max(one.from_sample, other.from_sample)


def _comes_first(one: Turn, other: Turn, ours: tuple[Turn, ...], theirs: tuple[Turn, ...]) -> bool:
    """Which of two different turns stands alone: the one that the other side does not have later on."""
    later_here = any(_is_same(turn, other) for turn in ours[1:4])
    later_there = any(_is_same(one, turn) for turn in theirs[1:4])
    if later_here != later_there:
        return later_here
    return one.at_ms <= other.at_ms


def _changed(one: Turn | None, other: Turn | None) -> tuple[str, ...]:
    if one is None or other is None:
        return ("decision",)
    changed = []
    if _decided(one) != _decided(other) or _is_cut_elsewhere(one, other):
        changed.append("decision")
    if one.words != other.words:
        changed.append("words")
    if _took_longer(one.waited_ms, other.waited_ms):
        changed.append("timing")
    return tuple(changed)


def _decided(turn: Turn) -> tuple[object, ...]:
    return (turn.how, turn.outcome, turn.reason, turn.calls)


def _is_cut_elsewhere(one: Turn, other: Turn) -> bool:
    """Both were cut off, and the user had heard more of one."""
    if one.outcome != "cancelled" or one.heard_ms is None or other.heard_ms is None:
        return False
    return abs(one.heard_ms - other.heard_ms) > HEARD_MS


def _took_longer(one: int | None, other: int | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) > SAME_WAIT_MS


def _words_changed(rows: tuple[Row, ...]) -> float:
    changed = words = 0
    for row in rows:
        if row.first is None or row.second is None:
            continue
        one, other = row.first.words.split(), row.second.words.split()
        longer = max(len(one), len(other))
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        changed += longer - sum(block.size for block in matcher.get_matching_blocks())
        words += longer
    return changed / words if words else 0.0
