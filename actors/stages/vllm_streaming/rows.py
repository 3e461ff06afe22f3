"""What the drawing rules ask of each row of vLLM's batch, on the host: pure bookkeeping in numpy.

Rows come, go and change places as vLLM packs its batch. For each step it says of all rows together what
choosing.py needs; what stays the same between two changes of the batch is made once (Plan).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from antiphon.actors.stages.minicpmo.drawing import Drawing, forced

from .philox import numbers

ARGUMENT = "antiphon"
"""The name in SamplingParams.extra_args."""
FREE = -1
"""Of a forced token: none is."""
Ids = NDArray[np.int64]


class Asked(Struct, frozen=True, array_like=True):
    """What goes along with an append. `row` is its session's in the shared memory."""

    row: int
    max_tokens: int
    drawing: Drawing


def encode(asked: Asked) -> dict[str, Any]:
    return {ARGUMENT: msgspec.msgpack.encode(asked)}


def decode(extra_args: dict[str, Any] | None) -> Asked | None:
    """None: the request is not ours (vLLM's own warm-up)."""
    if not extra_args or ARGUMENT not in extra_args:
        return None
    return msgspec.msgpack.decode(extra_args[ARGUMENT], type=Asked)


class Row:
    """A segment under way. `drawn` grows by itself: vLLM's list of the segment's tokens."""

    def __init__(self, asked: Asked, drawn: Sequence[int], vocabulary: int) -> None:
        self.asked, self.drawn = asked, drawn
        self._counted = 0
        window = asked.drawing.penalty_window
        self.recent = np.full(window, vocabulary, np.int64)
        """A ring of what the repetition penalty counts; `vocabulary` where there is nothing yet."""
        before = asked.drawing.recent[-window:]
        self.recent[: len(before)] = before
        self._next = len(before) % window
        self.numbers: NDArray[np.float64] | None = None
        """Of the whole segment, shape (max_tokens, 2); made by `plan` for all rows that have none."""

    def _remember(self, token: int) -> None:
        self.recent[self._next] = token
        self._next = (self._next + 1) % len(self.recent)

    def catch_up(self) -> None:
        """With the tokens drawn since the last time."""
        for token in self.drawn[self._counted :]:
            self._remember(token)
        self._counted = len(self.drawn)

    @property
    def penalised(self) -> bool:
        return self.asked.drawing.repetition_penalty != 1.0

    @property
    def rewrites(self) -> bool:
        return len(self.drawn) >= self.asked.drawing.rewrites_from

    def forced(self, characters: Sequence[int]) -> int:
        token = forced(self.asked.drawing, self.drawn, self.asked.max_tokens, characters)
        return FREE if token is None else token


class Plan(Struct, frozen=True):
    """The rules of all rows, side by side. Token lists are filled up with `vocabulary`, the column behind the
    last token; a row without rules is greedy."""

    temperature: NDArray[np.float64]
    top_p: NDArray[np.float64]
    top_k: Ids
    penalty: NDArray[np.float64]
    first: Ids
    has_first: NDArray[np.bool_]
    banned: Ids
    boundary: Ids
    banned_later: Ids
    rewrite_from: Ids
    rewrite_to: Ids
    draws: bool
    """Whether any row draws at all, rather than taking the likeliest."""

    @property
    def most_kept(self) -> int:
        """The largest top-k of the rows that draw; 0: all tokens."""
        of_drawing = self.top_k[self.temperature > 0]
        return 0 if (of_drawing == 0).any() else int(of_drawing.max(initial=0))


class Step(Struct, frozen=True):
    """What is another with each token."""

    forced: Ids
    begins: NDArray[np.bool_]
    """Rows whose segment has no token yet."""
    rewrites: NDArray[np.bool_]
    """Rows of which what is drawn may be rewritten by now."""
    number: NDArray[np.float64]
    recent: Ids


def plan(rows: Sequence[Row | None], vocabulary: int) -> Plan:
    rules = [row.asked.drawing if row else Drawing() for row in rows]

    def ids(of: Callable[[Drawing], Sequence[int]]) -> Ids:
        return _side_by_side([of(rule) for rule in rules], vocabulary)

    temperature = np.array([rule.temperature for rule in rules], np.float64)
    draws = bool((temperature > 0).any())
    if draws:
        _give_numbers(rows)
    return Plan(
        temperature=temperature,
        top_p=np.array([rule.top_p for rule in rules], np.float64),
        top_k=np.array([rule.top_k for rule in rules], np.int64),
        penalty=np.array([rule.repetition_penalty for rule in rules], np.float64),
        first=ids(lambda rule: rule.first),
        has_first=np.array([bool(rule.first) for rule in rules], np.bool_),
        banned=ids(lambda rule: rule.banned),
        boundary=ids(lambda rule: rule.boundary),
        banned_later=ids(lambda rule: rule.banned_later),
        rewrite_from=ids(lambda rule: [old for old, _ in rule.rewrites]),
        rewrite_to=ids(lambda rule: [new for _, new in rule.rewrites]),
        draws=draws,
    )


def _side_by_side(lists: Sequence[Sequence[int] | Ids], fill: int) -> Ids:
    filled = np.full((len(lists), max(map(len, lists), default=0)), fill, np.int64)
    for row, tokens in zip(filled, lists, strict=True):
        row[: len(tokens)] = tokens
    return filled


def step(rows: Sequence[Row | None], planned: Plan, characters: Sequence[int], vocabulary: int) -> Step:
    for row in rows:
        if row:
            row.catch_up()
    return Step(
        forced=np.array([row.forced(characters) if row else FREE for row in rows], np.int64),
        begins=np.array([row is not None and not row.drawn for row in rows], np.bool_),
        rewrites=np.array([row is not None and row.rewrites for row in rows], np.bool_),
        number=_numbers_now(rows) if planned.draws else np.zeros((len(rows), 2)),
        recent=_side_by_side([row.recent if row and row.penalised else () for row in rows], vocabulary),
    )


def _give_numbers(rows: Sequence[Row | None]) -> None:
    """A call of `numbers` costs the same for one token as for a thousand."""
    new = [row for row in rows if row and row.numbers is None]
    if not new:
        return
    counts = [row.asked.max_tokens for row in new]
    seeds = np.repeat(np.array([row.asked.drawing.seed for row in new], np.uint64), counts)
    places = np.repeat(np.array([row.asked.drawing.place for row in new], np.uint64), counts)
    indices = np.concatenate([np.arange(count, dtype=np.uint64) for count in counts])
    each = np.split(numbers(seeds, places, indices), np.cumsum(counts)[:-1])
    for row, own in zip(new, each, strict=True):
        row.numbers = own


def _numbers_now(rows: Sequence[Row | None]) -> NDArray[np.float64]:
    found = np.zeros((len(rows), 2))
    for now, row in zip(found, rows, strict=True):
        if row and row.numbers is not None and len(row.drawn) < len(row.numbers):
            now[:] = row.numbers[len(row.drawn)]
    return found
