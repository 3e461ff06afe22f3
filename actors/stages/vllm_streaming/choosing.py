"""The rules of minicpmo.drawing for a whole batch at once, on the device of the logits, for which nothing in
it waits.

Of tokens that are equally likely to the last bit, at the edge of top-k, another one may be kept than the
reference keeps; what is drawn is as likely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .rows import FREE, Plan, Step

NEVER = float("-inf")


def placed(planned: Plan, device: torch.device) -> dict[str, Any]:
    """The plan's arrays on the device; once for each plan."""
    return {
        name: _there(value, device)
        for name in planned.__struct_fields__
        if isinstance(value := getattr(planned, name), np.ndarray)
    }


def _there(array: Any, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True)


def choose(logits: torch.Tensor, planned: Plan, on_device: dict[str, Any], now: Step) -> torch.Tensor:
    """Each row's token.

    Args:
        logits: Shape (rows, vocabulary); not modified.
        on_device: Of `placed`.
    """
    device = logits.device
    forced = _there(now.forced, device)
    scores = _scores(logits, on_device, now)
    return torch.where(forced == FREE, _free(scores, planned, on_device, now), forced)


def _scores(logits: torch.Tensor, rules: dict[str, Any], now: Step) -> torch.Tensor:
    """Float64, with a column behind the last token, which the filling of token lists points to."""
    rows, vocabulary = logits.shape
    scores = torch.full((rows, vocabulary + 1), NEVER, dtype=torch.float64, device=logits.device)
    scores[:, :vocabulary] = logits
    only = now.begins
    if rules["first"].shape[1] and bool(only.any()):
        restricted = _there(only, logits.device) & rules["has_first"]
        kept = torch.full_like(scores, NEVER).scatter_(1, rules["first"], scores.gather(1, rules["first"]))
        scores = torch.where(restricted[:, None], kept, scores)
    return _without(scores, rules["banned"])


def _without(scores: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return scores.scatter_(1, tokens, NEVER) if tokens.shape[1] else scores


def _free(scores: torch.Tensor, planned: Plan, rules: dict[str, Any], now: Step) -> torch.Tensor:
    number = _there(now.number, scores.device) if planned.draws else None
    ending = _boundary(scores, rules, number) if rules["boundary"].shape[1] else None
    scores = _without(scores, rules["banned_later"])
    if now.recent.shape[1]:
        recent = _there(now.recent, scores.device)
        found = scores.gather(1, recent)
        penalty = rules["penalty"][:, None]
        scores.scatter_(1, recent, torch.where(found > 0, found / penalty, found * penalty))
    token = scores.argmax(1)
    if number is not None:
        token = torch.where(rules["temperature"] > 0, _drawn(scores, planned, rules, number[:, 1]), token)
    if rules["rewrite_from"].shape[1]:
        token = _rewritten(token, rules, _there(now.rewrites, scores.device))
    return token if ending is None else torch.where(ending == FREE, token, ending)


def _rewritten(token: torch.Tensor, rules: dict[str, Any], may: torch.Tensor) -> torch.Tensor:
    rewritten = token
    for column in range(rules["rewrite_from"].shape[1]):
        hit = may & (token == rules["rewrite_from"][:, column])
        rewritten = torch.where(hit, rules["rewrite_to"][:, column], rewritten)
    return rewritten


def _boundary(scores: torch.Tensor, rules: dict[str, Any], number: torch.Tensor | None) -> torch.Tensor:
    """The boundary token on which the boundary draw falls, or FREE."""
    ends = rules["boundary"]
    best = scores.argmax(1)
    chosen = torch.where((ends == best[:, None]).any(1), best, FREE)
    if number is None:
        return chosen
    warm = torch.where(rules["temperature"] > 0, rules["temperature"], 1.0)[:, None]
    likely = torch.exp((scores.gather(1, ends) - scores.amax(1, keepdim=True)) / warm)
    total = torch.exp((scores - scores.amax(1, keepdim=True)) / warm).sum(1, keepdim=True)
    place = (torch.cumsum(likely / total, 1) <= number[:, :1]).sum(1)
    drawn = ends.gather(1, place.clamp(max=ends.shape[1] - 1)[:, None])[:, 0]
    drawn = torch.where(place < ends.shape[1], drawn, FREE)
    return torch.where(rules["temperature"] > 0, drawn, chosen)


def _drawn(scores: torch.Tensor, planned: Plan, rules: dict[str, Any], number: torch.Tensor) -> torch.Tensor:
    most = planned.most_kept
    if most:
        best, kept = scores.topk(min(most, scores.shape[1]), dim=1)
    else:
        best, kept = scores.sort(dim=1, descending=True, stable=True)
    place = torch.arange(best.shape[1], device=scores.device)[None, :]
    top_k = rules["top_k"][:, None]
    best = torch.where((top_k == 0) | (place < top_k), best, NEVER)
    warm = torch.where(rules["temperature"] > 0, rules["temperature"], 1.0)[:, None]
    likely = torch.softmax((best - best[:, :1]) / warm, 1)
    inside = torch.cumsum(likely, 1) - likely < rules["top_p"][:, None]
    passed = torch.cumsum(torch.where(inside, likely, 0.0), 1)
    chosen = (passed <= number[:, None] * passed[:, -1:]).sum(1)
    chosen = torch.minimum(chosen, inside.sum(1) - 1)
    return kept.gather(1, chosen[:, None])[:, 0]
