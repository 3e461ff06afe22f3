"""Memory that the stage's process and vLLM's engine core share: hidden states out, what a token measures in.

A session has a row of its own, and one append of it is under way at a time. The engine core writes the state
after token i of a segment before token i + 1 is drawn, and the stage reads it when that token has come, so
neither waits for the other. `characters` is written once, before the engine starts; `drawn_by` once by
whoever draws tokens there: vLLM says nothing of a logits processor that it did not load.
"""

from __future__ import annotations

from multiprocessing.shared_memory import SharedMemory

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Layout(Struct, frozen=True):
    """What is in it. `rows` sessions, `tokens` states of `hidden` float32 each, `vocabulary` counts."""

    name: str
    rows: int
    tokens: int
    hidden: int
    vocabulary: int

    @property
    def _states(self) -> int:
        return self.rows * self.tokens * self.hidden * 4

    @property
    def size(self) -> int:
        return self._states + self.vocabulary * 4 + 4

    def states(self, memory: SharedMemory) -> NDArray[np.float32]:
        """Shape (rows, tokens, hidden)."""
        shape = (self.rows, self.tokens, self.hidden)
        return np.ndarray(shape, np.float32, buffer=memory.buf)

    def characters(self, memory: SharedMemory) -> NDArray[np.uint32]:
        """Shape (vocabulary,): how many characters a token has."""
        return np.ndarray((self.vocabulary,), np.uint32, buffer=memory.buf, offset=self._states)

    def drawn_by(self, memory: SharedMemory) -> NDArray[np.uint32]:
        """Shape (1,): the process that draws tokens; 0: none does."""
        return np.ndarray((1,), np.uint32, buffer=memory.buf, offset=self._states + self.vocabulary * 4)


def create(rows: int, tokens: int, hidden: int, vocabulary: int) -> tuple[Layout, SharedMemory]:
    """Zeros. Whoever makes it unlinks it."""
    memory = SharedMemory(create=True, size=Layout("", rows, tokens, hidden, vocabulary).size)
    return Layout(memory.name, rows, tokens, hidden, vocabulary), memory


def attach(layout: Layout) -> SharedMemory:
    """In the engine core, a child of the process that made it."""
    return SharedMemory(layout.name)
