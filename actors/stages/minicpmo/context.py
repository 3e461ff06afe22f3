"""A session's context at a thinker, from one thread: what is asked waits until it can be done.

Everything is called on one thread, to which `run` brings what a thinker says on its own. What an append says
whose context was given up in the meantime is not heard. `since` says for how long the thinker owes an answer:
a hang has no error, so somebody must look at the clock.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from msgspec import Struct

from .thinker import Append, Rejected, SegmentEnded, Thinker, ThinkerDied, Token

Run = Callable[[Callable[[], None]], None]
Spoke = Callable[[int], bool]
"""Told a token of a segment that is not whole yet; says whether it wants the next one, too."""


class Generated(Struct):
    """A whole segment. `at_ns`: when each token was known. `spoke` is told each at once, while it wants."""

    tokens: list[int]
    at_ns: list[int]
    spoke: Spoke | None = None
    ended: SegmentEnded | None = None


class Context:
    """`name`: of its session. Nothing is asked before `open` is."""

    def __init__(self, thinker: Thinker, name: str, run: Run) -> None:
        self._thinker, self._name, self._run = thinker, name, run
        self._life = 0
        self._ready = False
        self._closed = False
        self._waiting: deque[Callable[[], None]] = deque()
        self.appended = 0
        """Number of the next append."""
        self.since: float | None = None
        self._leaving: Future[None] = Future()
        self._leaving.set_result(None)

    @property
    def _key(self) -> str:
        return f"{self._name}.{self._life}"

    def open(self, opened: Callable[[BaseException | None], None]) -> None:
        """`opened` is called with Rejected where there is no room."""
        try:
            self._ask(self._thinker.open(self._key), opened)
        except Rejected as refused:
            self._closed = True
            opened(refused)

    def append(self, append: Append, ended: Callable[[Generated], None], spoke: Spoke | None = None) -> None:
        """Its number must be `appended`."""
        self._when_ready(partial(self._append, append, ended, spoke))

    def empty(self) -> None:
        """The next append stands in an empty context. What is under way goes on unheard."""
        self.appended = 0
        if not self._closed:
            self._when_ready(self._empty)

    def give_up(self) -> None:
        """As `empty`, and what is under way ends now."""
        if self.since is None or not self._ready:
            self.empty()
            return
        self.appended = 0
        self._reopen()

    def close(self, closed: Callable[[], None]) -> None:
        """From here on nothing is heard; `closed` is called when its place is free."""
        self._closed, self._ready, self.since = True, False, time.monotonic()
        self._waiting.clear()
        self._leaving.add_done_callback(lambda left: self._run(partial(self._leave, closed)))

    def _leave(self, closed: Callable[[], None]) -> None:
        """What was given up before has left: now the last that was opened."""
        leaving = self._thinker.close(self._key)
        leaving.add_done_callback(lambda done: self._run(partial(self._left, done, closed)))

    def _left(self, done: Future[None], closed: Callable[[], None]) -> None:
        self._raise(done.exception())
        self.since = None
        closed()

    def _append(self, append: Append, ended: Callable[[Generated], None], spoke: Spoke | None) -> None:
        said = Generated([], [], spoke)
        self.appended = append.number + 1
        self.since = time.monotonic()
        self._thinker.append(self._key, append, partial(self._said, self._life, said, ended))

    def _said(
        self,
        life: int,
        said: Generated,
        ended: Callable[[Generated], None],
        word: Token | SegmentEnded | ThinkerDied,
    ) -> None:
        """On the thinker's thread."""
        if isinstance(word, Token):
            said.tokens.append(word.id)
            said.at_ns.append(word.at_ns)
            if said.spoke is not None:
                self._run(partial(self._spoke, life, said, word.id))
        else:
            self._run(partial(self._ended, life, said, ended, word))

    def _spoke(self, life: int, said: Generated, token: int) -> None:
        """On the session's thread, which is the one that takes `spoke` away again."""
        spoke = said.spoke
        if spoke is not None and not self._closed and life == self._life and not spoke(token):
            said.spoke = None

    def _ended(
        self,
        life: int,
        said: Generated,
        ended: Callable[[Generated], None],
        word: SegmentEnded | ThinkerDied,
    ) -> None:
        if self._closed or life != self._life:
            return
        if isinstance(word, ThinkerDied):
            raise word
        self.since = None
        said.ended = word
        ended(said)

    def _empty(self) -> None:
        if self._thinker.facts.can_truncate and self.since is None:
            self._ask(self._thinker.truncate(self._key, 0), self._raise)
        else:
            self._reopen()

    def _reopen(self) -> None:
        self._leaving = self._thinker.close(self._key)
        self._life += 1
        self._ask(self._leaving, self._closed_before)

    def _closed_before(self, error: BaseException | None) -> None:
        self._raise(error)
        self._ask(self._thinker.open(self._key), self._raise)

    def _ask(self, pending: Future[None], then: Callable[[BaseException | None], None]) -> None:
        self._ready, self.since = False, time.monotonic()
        pending.add_done_callback(lambda done: self._run(partial(self._answered, done, then)))

    def _answered(self, done: Future[None], then: Callable[[BaseException | None], None]) -> None:
        if self._closed:
            return
        self._ready, self.since = True, None
        then(done.exception())
        while self._ready and self._waiting:
            self._waiting.popleft()()

    def _when_ready(self, call: Callable[[], None]) -> None:
        if self._ready and not self._waiting:
            call()
        elif not self._closed:
            self._waiting.append(call)

    def _raise(self, error: BaseException | None) -> None:
        if error is not None:
            raise error
