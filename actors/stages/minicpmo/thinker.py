"""The seam between MiniCPM-o's policy and whatever runs its language model (Stage0): vLLM, or plain torch.

A session is a slot with a context (KV) that outlives an append. An append adds pieces to the context and
generates one *segment*. The last token of a segment is drawn and not fed: it is not in the context, and who
goes on sends it again as the first token of the next append. So after a segment

    context = context before + what was appended + tokens generated - 1

Threads. Every method may be called from any thread and returns at once. What is said of an append comes
through its `said`, on one thread of the thinker's own, in order: Token for each token as it is there, then
exactly one of SegmentEnded and ThinkerDied. `said` must not block; it may not call the thinker. A future is
completed on that thread, too, or was when it was returned.

Order. `open` must be done before the first append, one append of a session is under way at a time, and
`number` counts the appends of an opening from 0. `close` may be called at any time, also while an append or
`open` is under way: the append ends with SegmentEnded("aborted") first, and the future is done only when the
slot and its KV are free for others. A key that is open is not opened again before that.

What can be known beforehand is refused beforehand, by Rejected; a refused append has changed nothing
and has not used its number. A thinker that dies says ThinkerDied to every append under way, fails every
future that is not done with it, and raises it from every call but `health` and `stop` from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .drawing import Drawing

Embeddings = NDArray[np.float32]
"""Shape (positions, hidden): in the place of what the token table would give."""
Piece = tuple[int, ...] | Embeddings
"""Token ids, or embeddings; neither is empty."""
Key = str
"""Names an opening of a session: the same session opened again has another key."""


class Facts(Struct, frozen=True, kw_only=True):
    """What a thinker is, known when it is ready, and never changing."""

    name: str
    """`torch` or `vllm`, with what it runs: for people."""
    max_sessions: int
    context_tokens: int
    """The most that one session's context may hold."""
    kv_tokens: int
    """The most that all of them may hold together. A session is admitted only where its whole
    `context_tokens` fit beside those of the others."""
    hidden: int
    vocabulary: int
    can_truncate: bool
    gives_hidden: bool

    @property
    def places(self) -> int:
        """Sessions that can be held at once."""
        return min(self.max_sessions, self.kv_tokens // self.context_tokens)


class Append(Struct, frozen=True, kw_only=True):
    """What is added to the context, and how the segment behind it is drawn.

    The segment ends behind the first token of `stop`, or with `max_tokens` (>= 1) of them. No other token
    ends it, the model's own end of text included.
    """

    number: int
    pieces: tuple[Piece, ...]
    max_tokens: int
    stop: frozenset[int]
    drawing: Drawing

    @property
    def positions(self) -> int:
        return sum(len(piece) for piece in self.pieces)


class Token(Struct, frozen=True):
    """`at_ns`: time.monotonic_ns() of this host when it was known."""

    id: int
    at_ns: int


class SegmentEnded(Struct, frozen=True, kw_only=True):
    """The last thing said of an append. `why` is `aborted` when the session was closed under it: then the
    other fields say how far it had come."""

    why: Literal["stop", "length", "aborted"]
    last_token: int
    """Not in the context. -1: there was none."""
    n_in: int
    n_out: int
    context_len: int
    hidden: NDArray[np.float32] | None = None
    """Shape (n_out - 1, hidden): the last layer's state (behind the final norm) after each token was fed; the
    last token was not. None: the thinker gives none (`gives_hidden`), or the segment was aborted."""


class Rejected(Exception):
    """It was not begun, and nothing has changed.

    resource_exhausted   no slot, or no KV for one more session
    context_full         `context + positions + max_tokens + 1` would pass `context_tokens`
    out_of_order         the key is not open (or is), the number is not the next, or a piece is not as said
    busy                 an append of the session is under way
    """

    def __init__(
        self, code: Literal["resource_exhausted", "context_full", "out_of_order", "busy"], message: str
    ) -> None:
        super().__init__(message)
        self.code = code


class ThinkerDied(Exception):
    """It is of no more use to anybody; its process must end."""


class Health(Struct, frozen=True, kw_only=True):
    """`kv_tokens`: held by all sessions together; `died`: why, or "". `step_ms`: the last step's."""

    sessions: int
    kv_tokens: int
    step_ms: float
    died: str = ""


Said = Callable[[Token | SegmentEnded | ThinkerDied], None]


class Thinker(Protocol):
    """Made with its model loaded and every shape warm that an append may need; its constructor may take
    minutes."""

    facts: Facts

    def open(self, key: Key) -> Future[None]:
        """Take a slot. Raises Rejected (`resource_exhausted`, `out_of_order`)."""

    def append(self, key: Key, append: Append, said: Said) -> None:
        """Begin a segment. Raises Rejected."""

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        """Forget what is in the context behind its first `context_len` positions; only with `can_truncate`.
        With 0 it is as if just opened: appends count from 0. Raises Rejected (`out_of_order`, `busy`)."""

    def close(self, key: Key) -> Future[None]:
        """Let go of the slot and its KV. Of a key that is not open: done at once."""

    def health(self) -> Health: ...

    def stop(self) -> None:
        """End threads and processes; called once. May block for seconds."""


def check(facts: Facts, context_len: int, append: Append) -> None:
    """What every thinker refuses: an append too long for the context, and pieces that are none.

    The engine of vLLM dies with all its sessions when one passes its length, so nobody may get there.
    """
    if append.max_tokens < 1 or not append.pieces:
        raise Rejected("out_of_order", "an append has at least one piece and generates at least one token")
    for piece in append.pieces:
        if len(piece) == 0 or (isinstance(piece, np.ndarray) and piece.shape != (len(piece), facts.hidden)):
            raise Rejected("out_of_order", f"a piece is token ids, or float32 of [n > 0, {facts.hidden}]")
        if isinstance(piece, tuple) and not all(0 <= token < facts.vocabulary for token in piece):
            raise Rejected("out_of_order", f"a token is 0 to {facts.vocabulary - 1}")
    wanted = context_len + append.positions + append.max_tokens + 1
    if wanted > facts.context_tokens:
        raise Rejected("context_full", f"{wanted} tokens, the context holds {facts.context_tokens}")
