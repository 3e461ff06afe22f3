"""The rules of drawing.py for many rows at once, where the scores are.

Which tokens a row may not take and which are penalised stand in tables with a line for each slot; they change
with an append and with each token, by a few cells. Forced tokens are the business of whoever steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch
from torch import Tensor

from antiphon.actors.stages.minicpmo.drawing import Drawing

NEVER = float("-inf")


class Draws:
    """How each slot draws. Used by one thread."""

    def __init__(self, slots: int, vocabulary: int, device: torch.device) -> None:
        self._device, self._vocabulary = device, vocabulary
        self._never = torch.zeros(slots, vocabulary, dtype=torch.bool, device=device)
        self._later = torch.zeros(slots, vocabulary, dtype=torch.bool, device=device)
        self._first = torch.zeros(slots, vocabulary, dtype=torch.bool, device=device)
        self._counts = torch.zeros(slots, vocabulary, dtype=torch.int16, device=device)
        self._recent: list[deque[int]] = [deque() for _ in range(slots)]
        self._rules: list[Drawing] = [Drawing()] * slots

    def warm(self, rows: Sequence[int]) -> None:
        """Draw in every way that there is with every number of rows."""
        sampled = Drawing(temperature=0.7, top_p=0.8, top_k=20, repetition_penalty=1.05, boundary=(0,))
        for count in rows:
            slots = range(count)
            for ruled in (sampled, Drawing(), Drawing(first=(0,))):
                for slot in slots:
                    self.begin(slot, ruled)
                scores = torch.zeros(count, self._vocabulary, device=self._device)
                self.choose(scores, slots, [0] * count, [(0.5, 0.5)] * count)
                self.drawn(slots, [0] * count)
        for slot in slots:
            self.begin(slot, Drawing())

    def begin(self, slot: int, drawing: Drawing) -> None:
        """A segment of that slot comes, drawn by these rules."""
        before = self._rules[slot]
        self._rules[slot] = drawing
        for table, cells, former in (
            (self._never, drawing.banned, before.banned),
            (self._later, drawing.banned_later, before.banned_later),
            (self._first, drawing.first, before.first),
        ):
            if cells != former:
                table[slot] = False
                table[slot, list(cells)] = True
        self._count_again(slot, drawing)

    def _count_again(self, slot: int, drawing: Drawing) -> None:
        recent = deque(drawing.recent[-drawing.penalty_window :], maxlen=drawing.penalty_window)
        if recent == self._recent[slot]:
            self._recent[slot] = recent
            return
        self._recent[slot] = recent
        self._counts[slot] = 0
        cells = torch.tensor(list(recent), dtype=torch.long, device=self._device)
        self._counts[slot].index_add_(0, cells, torch.ones_like(cells, dtype=torch.int16))

    def drawn(self, slots: Sequence[int], tokens: Sequence[int]) -> None:
        """What those slots' last tokens are, forced ones too."""
        came: list[tuple[int, int]] = []
        went: list[tuple[int, int]] = []
        for slot, token in zip(slots, tokens, strict=True):
            recent = self._recent[slot]
            if len(recent) == recent.maxlen:
                went.append((slot, recent[0]))
            recent.append(token)
            came.append((slot, token))
        self._add(came, 1)
        self._add(went, -1)

    def _add(self, cells: list[tuple[int, int]], number: int) -> None:
        if cells:
            rows, columns = torch.tensor(cells, device=self._device).T
            by = torch.full_like(rows, number, dtype=torch.int16)
            self._counts.index_put_((rows, columns), by, accumulate=True)

    def choose(
        self,
        scores: Tensor,
        slots: Sequence[int],
        drawn: Sequence[int],
        numbers: Sequence[tuple[float, float]],
    ) -> list[int]:
        """A token for each of `slots`, of `scores` [slots, vocabulary] float32 (not modified).

        `drawn`: how many tokens its segment has; `numbers`: of drawing.numbers.
        """
        rules = [self._rules[slot] for slot in slots]
        rows = torch.tensor(list(slots), device=self._device)
        scores = scores.masked_fill(self._never[rows], NEVER)
        bound = [not count and bool(rule.first) for count, rule in zip(drawn, rules, strict=True)]
        if any(bound):
            bounded = torch.tensor(bound, device=self._device)[:, None]
            scores = scores.masked_fill(bounded & ~self._first[rows], NEVER)
        heat = torch.tensor([rule.temperature for rule in rules], device=self._device)[:, None]
        boundary = self._boundary(scores, heat, rules, numbers)
        scores = scores.masked_fill(self._later[rows], NEVER)
        scores = self._penalised(scores, rows, rules)
        proper = self._proper(scores, heat, rules, numbers)
        ended, taken = boundary.tolist(), proper.tolist()
        return [
            end if end >= 0 else _rewritten(rule, one, count)
            for end, one, rule, count in zip(ended, taken, rules, drawn, strict=True)
        ]

    def _penalised(self, scores: Tensor, rows: Tensor, rules: list[Drawing]) -> Tensor:
        by = torch.tensor([rule.repetition_penalty for rule in rules], device=self._device)[:, None]
        penalised = torch.where(scores > 0, scores / by, scores * by)
        return torch.where(self._counts[rows] > 0, penalised, scores)

    def _boundary(
        self, scores: Tensor, heat: Tensor, rules: list[Drawing], numbers: Sequence[tuple[float, float]]
    ) -> Tensor:
        """The boundary token that counts, or -1."""
        most = max(len(rule.boundary) for rule in rules)
        none = torch.full((len(rules),), -1, dtype=torch.long, device=self._device)
        if not most:
            return none
        ends = torch.tensor(
            [[*rule.boundary, *[-1] * (most - len(rule.boundary))] for rule in rules], device=self._device
        )
        best = scores.argmax(dim=-1)
        greedy = torch.where((ends == best[:, None]).any(dim=-1), best, none)
        likely = torch.softmax(scores / heat.clamp(min=1e-6), dim=-1).gather(1, ends.clamp(min=0))
        passed = torch.cumsum(torch.where(ends >= 0, likely, 0.0).double(), dim=-1)
        number = torch.tensor([one for one, _ in numbers], dtype=torch.double, device=self._device)[:, None]
        place = (passed <= number).sum(dim=-1)
        sampled = ends.gather(1, place.clamp(max=most - 1)[:, None])[:, 0]
        sampled = torch.where(place < most, sampled, none)
        return torch.where(heat[:, 0] == 0, greedy, sampled)

    def _proper(
        self, scores: Tensor, heat: Tensor, rules: list[Drawing], numbers: Sequence[tuple[float, float]]
    ) -> Tensor:
        if not any(rule.temperature for rule in rules):
            return scores.argmax(dim=-1)
        counts = [1 if not rule.temperature else rule.top_k or self._vocabulary for rule in rules]
        widest = min(max(counts), self._vocabulary)
        found, tokens = torch.topk(scores, widest, dim=-1)
        kept = torch.arange(widest, device=self._device) < torch.tensor(counts, device=self._device)[:, None]
        likely = (found.double() - found[:, :1]) / heat.clamp(min=1e-6)
        likely = torch.softmax(likely.masked_fill(~kept, NEVER), dim=-1)
        before = likely.cumsum(dim=-1) - likely
        top_p = torch.tensor([rule.top_p for rule in rules], dtype=torch.double, device=self._device)
        inside = kept & (before < top_p[:, None])
        passed = torch.where(inside, likely, 0.0).cumsum(dim=-1)
        number = torch.tensor([one for _, one in numbers], dtype=torch.double, device=self._device)[:, None]
        place = (passed <= number * passed[:, -1:]).sum(dim=-1)
        place = torch.minimum(place, inside.sum(dim=-1) - 1)
        return tokens.gather(1, place[:, None])[:, 0]


def _rewritten(rule: Drawing, token: int, drawn: int) -> int:
    return token if drawn < rule.rewrites_from else dict(rule.rewrites).get(token, token)
