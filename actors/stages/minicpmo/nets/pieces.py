"""From pieces of sessions to a step's tensors, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from antiphon.actors.stages.minicpmo.thinker import Piece

from .decoder import MARGIN
from .draws import Draws
from .steps import Shape, Steps

TOGETHER = (1, 16, 80)
"""Positions of a step for several: a token, a unit, a unit with an image."""
SHORTEST_SPAN = 512


class Stepper:
    """Chooses the smallest shape that holds what is to be added."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self._decoder = steps, steps.decoder
        self._spans = _doubling(SHORTEST_SPAN, self._decoder.length + MARGIN)
        self._rows = _doubling(1, self._decoder.slots)

    def warm(self, draws: Draws, short: int, progress: Callable[[str], None]) -> None:
        """Every shape that several are stepped in, and every way to draw: what is compiled or captured later
        would stall whoever talks then."""
        positions = [count for count in TOGETHER if count <= short]
        self._steps.capture(
            ((rows, count, span) for rows in self._rows for count in positions for span in self._spans),
            progress,
        )
        progress("drawing the first tokens")
        draws.warm(self._rows)

    def step(
        self, added: Mapping[int, tuple[int, list[Piece]]]
    ) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
        """For each slot its frontier and what is added behind it. Returns states [hidden] and scores
        [vocabulary] behind the last position, by slot."""
        alone = len(added) == 1 and max(map(_length, added.values())) > TOGETHER[-1]
        first = min(added) if alone else 0
        rows, positions, span = self._shape(added, alone=alone)
        tokens = torch.zeros(rows, positions, dtype=torch.long)
        is_given = torch.zeros(rows, positions, dtype=torch.bool)
        start, last = torch.zeros(rows, dtype=torch.long), torch.zeros(rows, dtype=torch.long)
        hidden = self._decoder.shape.hidden_size
        given: NDArray[np.float32] | None = None
        for slot, (frontier, pieces) in added.items():
            row, place = slot - first, 0
            start[row] = frontier
            for piece in pieces:
                if isinstance(piece, tuple):
                    tokens[row, place : place + len(piece)] = torch.tensor(piece)
                else:
                    given = np.zeros((rows, positions, hidden), np.float32) if given is None else given
                    given[row, place : place + len(piece)] = piece
                    is_given[row, place : place + len(piece)] = True
                place += len(piece)
            last[row] = place - 1
        self._idle(start, added, first)
        inputs = self._steps.inputs(rows, positions)
        inputs.put(tokens, start, last, None if given is None else torch.from_numpy(given), is_given)
        states, scores = self._steps.run(rows, positions, span, first)
        return (
            {slot: states[slot - first] for slot in added},
            {slot: scores[slot - first] for slot in added},
        )

    def stacked(self, scores: Mapping[int, Tensor], slots: Sequence[int]) -> Tensor:
        return torch.stack([scores[slot] for slot in slots])

    def as_rows(self, states: Sequence[Tensor], hidden: int) -> NDArray[np.float32]:
        if not states:
            return np.zeros((0, hidden), np.float32)
        rows: NDArray[np.float32] = torch.stack(list(states)).float().cpu().numpy()
        return rows

    def _shape(self, added: Mapping[int, tuple[int, list[Piece]]], *, alone: bool) -> Shape:
        longest = max(map(_length, added.values()))
        end = max(frontier for frontier, _ in added.values()) + longest
        span = next(span for span in self._spans if span >= end)
        if alone:
            return 1, longest, span
        rows = next(rows for rows in self._rows if rows > max(added))
        return rows, next(count for count in TOGETHER if count >= longest), span

    def _idle(self, start: Tensor, added: Mapping[int, object], first: int) -> None:
        """Rows that are not in the step write behind what may be held, where nobody looks."""
        for row in range(len(start)):
            if row + first not in added:
                start[row] = self._decoder.length


def _length(added: tuple[int, list[Piece]]) -> int:
    return sum(len(piece) for piece in added[1])


def _doubling(least: int, most: int) -> tuple[int, ...]:
    """`least`, twice that, and so on, and `most`."""
    sizes = []
    while least < most:
        sizes.append(least)
        least *= 2
    return (*sizes, most)
