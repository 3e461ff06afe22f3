"""One step of a decoder: what rows add, in; the state and the scores behind the last of it, out.

On a GPU every shape (rows, positions, span) is a CUDA graph, captured before the first session. Where a shape
was not captured (the prefill of a long append) the same is done without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear

from .decoder import Decoder

Shape = tuple[int, int, int]
"""Rows, positions, span."""


class Inputs:
    """Of one shape, at a place in memory that does not change. Rows from slot `first`.

    `tokens` [rows, positions]; where `is_given` the embeddings of `given` stand instead. `start` [rows] are
    the frontiers, `last` [rows] the last position that counts.
    """

    def __init__(self, rows: int, positions: int, hidden: int, device: torch.device, dtype: torch.dtype):
        self.tokens = torch.zeros(rows, positions, dtype=torch.long, device=device)
        self.given = torch.zeros(rows, positions, hidden, dtype=dtype, device=device)
        self.is_given = torch.zeros(rows, positions, dtype=torch.bool, device=device)
        self.start = torch.zeros(rows, dtype=torch.long, device=device)
        self.last = torch.zeros(rows, dtype=torch.long, device=device)

    def put(
        self, tokens: Tensor, start: Tensor, last: Tensor, given: Tensor | None, is_given: Tensor
    ) -> None:
        """`given` None: there are only tokens."""
        self.tokens.copy_(tokens)
        self.start.copy_(start)
        self.last.copy_(last)
        self.is_given.copy_(is_given)
        if given is not None:
            self.given.copy_(given)


class Steps:
    """`table` [vocabulary, hidden] and `head` [vocabulary, hidden] are before and behind the decoder."""

    def __init__(self, decoder: Decoder, table: Tensor, head: Tensor) -> None:
        self.decoder, self._table, self._head = decoder, table, head
        self._inputs: dict[tuple[int, int], Inputs] = {}
        self._captured: dict[Shape, tuple[torch.cuda.CUDAGraph, Tensor, Tensor]] = {}
        self._pool = None if decoder.device.type != "cuda" else torch.cuda.graph_pool_handle()

    def inputs(self, rows: int, positions: int) -> Inputs:
        key = (rows, positions)
        if key not in self._inputs:
            made = self.decoder
            self._inputs[key] = Inputs(rows, positions, made.shape.hidden_size, made.device, made.dtype)
        return self._inputs[key]

    def capture(self, shapes: Iterable[Shape], progress: Callable[[str], None]) -> None:
        """On a CPU nothing is to be captured."""
        if self._pool is None:
            return
        for count, (rows, positions, span) in enumerate(shapes):
            if count % 20 == 0:
                progress(f"capturing step {count + 1}: {rows} rows of {positions}, context {span}")
            self._run(rows, positions, span, 0)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                state, scores = self._run(rows, positions, span, 0)
            self._captured[rows, positions, span] = graph, state, scores

    def run(self, rows: int, positions: int, span: int, first: int = 0) -> tuple[Tensor, Tensor]:
        """With what was put into the inputs of that shape. Returns states [rows, hidden] and scores
        [rows, vocabulary] in float32, which the next step may overwrite."""
        captured = self._captured.get((rows, positions, span)) if first == 0 else None
        if captured is None:
            return self._run(rows, positions, span, first)
        graph, state, scores = captured
        graph.replay()
        return state, scores

    def _run(self, rows: int, positions: int, span: int, first: int) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            return self._stepped(self.inputs(rows, positions), span, first)

    def _stepped(self, put: Inputs, span: int, first: int) -> tuple[Tensor, Tensor]:
        given = torch.where(put.is_given[:, :, None], put.given, embedding(put.tokens, self._table))
        states = self.decoder.forward(given, put.start, first=first, span=span)
        state = states.gather(1, put.last[:, None, None].expand(-1, 1, states.shape[-1]))[:, 0]
        scores: Tensor = linear(state, self._head).float()
        return state, scores
