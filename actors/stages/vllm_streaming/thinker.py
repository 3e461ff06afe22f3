"""The thinker on vLLM: sessions with rows of their own, one engine for all of them.

Called from any thread; a lock guards the accounts, and the rest happens on the loop's thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from antiphon.actors.stages.minicpmo.thinker import (
    Append,
    Health,
    Key,
    Rejected,
    Said,
    ThinkerDied,
)

from .accounts import Account, Accounts
from .engine import Running, start
from .loop import Loop
from .options import Options
from .session import Session
from .warm import warm

LOOKS_EVERY_S = 0.5
CORE_ENDED = "the engine core has ended"


class VllmThinker:
    """Implements Thinker. Raises EngineRefused where it cannot be started."""

    def __init__(
        self, options: Options, *, characters: Sequence[int] = (), progress: Callable[[str], None]
    ) -> None:
        """`characters`: how many characters a token has; (): none counts."""
        self._options = options
        self._loop = Loop("vllm")
        self._lock = threading.Lock()
        self._sessions: dict[Key, Session] = {}
        self._died = ""
        self._opened = 0
        try:
            self._engine: Running = self._loop.run(start(options, characters, progress)).result()
        except BaseException:
            self._loop.stop()
            raise
        self.facts = self._engine.facts
        self._accounts = Accounts(self.facts, self._engine.dialect, options.most_tokens)
        try:
            # What is slow at its first use is slow before anybody waits for it.
            warm(self, options.most_tokens, progress)
        except BaseException:
            self.stop()
            raise
        self._loop.call(self._watch)

    def open(self, key: Key) -> Future[None]:
        done: Future[None] = Future()
        with self._lock:
            self._check_alive()
            account = self._accounts.open(key)
            self._opened += 1
            self._sessions[key] = self._session(account, f"{key}#{self._opened}")
        done.set_result(None)
        return done

    def _session(self, account: Account, request: str) -> Session:
        states = self._engine.states
        return Session(
            account,
            engine=self._engine,
            request=request,
            states=None if states is None else states[account.row],
            timeout_s=self._options.append_timeout_s,
            ended=self._ended,
            failed=self._fail,
        )

    def append(self, key: Key, append: Append, said: Said) -> None:
        with self._lock:
            self._check_alive()
            self._accounts.begin(key, append)
            self._loop.call(self._begin, self._sessions[key], append, said)

    def _begin(self, session: Session, append: Append, said: Said) -> None:
        if self._died:
            said(ThinkerDied(self._died))
        else:
            session.begin(append, said)

    def _ended(self, account: Account, context_len: int) -> None:
        with self._lock:
            self._accounts.ended(account, context_len)

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        raise Rejected("out_of_order", "vLLM cannot forget a part of a context; close and open again")

    def close(self, key: Key) -> Future[None]:
        with self._lock:
            account = self._accounts.closing(key)
            session = self._sessions.get(key)
        if account is None or session is None:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        return self._loop.run(self._close(key, session))

    async def _close(self, key: Key, session: Session) -> None:
        try:
            await session.close()
        except Exception as problem:  # noqa: BLE001  # a place that is not known to be free is not given away
            self._fail(problem)
        if self._died:
            raise ThinkerDied(self._died)
        with self._lock:
            if self._sessions.get(key) is session:
                del self._sessions[key]
                self._accounts.closed(key)

    def _fail(self, problem: BaseException) -> None:
        """On the loop's thread: nobody is served from here on."""
        with self._lock:
            if self._died:
                return
            self._died = f"{type(problem).__name__}: {problem}"
        for session in tuple(self._sessions.values()):
            session.died(ThinkerDied(self._died))

    def _watch(self) -> None:
        """On the loop's thread, from time to time: an engine may hang without an error."""
        loop = asyncio.get_running_loop()
        if self._engine.llm.errored:
            self._fail(ThinkerDied(CORE_ENDED))
        for session in tuple(self._sessions.values()):
            problem = session.overdue(loop.time())
            if problem is not None:
                self._fail(problem)
        if not self._died:
            loop.call_later(LOOKS_EVERY_S, self._watch)

    def _check_alive(self) -> None:
        if self._died:
            raise ThinkerDied(self._died)
        if self._engine.llm.errored:
            problem = ThinkerDied(CORE_ENDED)
            self._loop.call(self._fail, problem)  # who waits is told, not only who asks
            raise problem

    def health(self) -> Health:
        with self._lock:
            step_ms = max((session.step_ms for session in self._sessions.values()), default=0.0)
            return Health(
                sessions=len(self._accounts),
                kv_tokens=self._accounts.kv_tokens,
                step_ms=step_ms,
                died=self._died,
            )

    def stop(self) -> None:
        self._loop.run(self._engine.stop()).result()
        self._loop.stop()
