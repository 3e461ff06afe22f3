"""The answer to an append: already known, or known later.

Lighter than a Future because the common case is finished before it is returned. Belongs to one thread:
a store that works elsewhere hands its result over through `deliver` (see store.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from .errors import LogError

T = TypeVar("T")


class Completion(Generic[T]):
    """Settles exactly once, with a value or a LogError; then calls back in order of registration.

    `settled` and `error` (None while pending and when it succeeded) are there to be read.
    """

    __slots__ = ("_callbacks", "_value", "error", "settled")

    def __init__(self) -> None:
        self.settled = False
        self.error: LogError | None = None
        self._value: T | None = None
        self._callbacks: list[Callable[[Completion[T]], None]] | None = None

    @classmethod
    def of(cls, value: T) -> Completion[T]:
        done = cls()
        done.settled, done._value = True, value
        return done

    @classmethod
    def failed(cls, error: LogError) -> Completion[T]:
        done = cls()
        done.settled, done.error = True, error
        return done

    def result(self) -> T:
        """The value. Raises the LogError it failed with; a RuntimeError while still pending."""
        if not self.settled:
            raise RuntimeError("the append is still pending")
        if self.error is not None:
            raise self.error
        return self._value  # type: ignore[return-value]  # settled without error: there is a value

    def then(self, callback: Callable[[Completion[T]], None]) -> None:
        """Call back when settled; at once if it already is."""
        if self.settled:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def settle(self, value: T) -> None:
        if self.settled:
            raise RuntimeError("already settled")
        self.settled, self._value = True, value
        if self._callbacks is not None:
            self._call_back(self._callbacks)

    def fail(self, error: LogError) -> None:
        if self.settled:
            raise RuntimeError("already settled")
        self.settled, self.error = True, error
        if self._callbacks is not None:
            self._call_back(self._callbacks)

    def _call_back(self, callbacks: list[Callable[[Completion[T]], None]]) -> None:
        self._callbacks = None
        for callback in callbacks:
            callback(self)
