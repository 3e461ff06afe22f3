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
    """Settles exactly once, with a value or a LogError; then calls back in order of registration."""

    __slots__ = ("_callbacks", "_error", "_settled", "_value")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: LogError | None = None
        self._callbacks: list[Callable[[Completion[T]], None]] = []

    @classmethod
    def of(cls, value: T) -> Completion[T]:
        done = cls()
        done._settled, done._value = True, value
        return done

    @classmethod
    def failed(cls, error: LogError) -> Completion[T]:
        done = cls()
        done._settled, done._error = True, error
        return done

    @property
    def settled(self) -> bool:
        return self._settled

    @property
    def error(self) -> LogError | None:
        """Why it failed; None while pending or when it succeeded."""
        return self._error

    def result(self) -> T:
        """The value. Raises the LogError it failed with; a RuntimeError while still pending."""
        if not self._settled:
            raise RuntimeError("the append is still pending")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # settled without error: there is a value

    def then(self, callback: Callable[[Completion[T]], None]) -> None:
        """Call back when settled; at once if it already is."""
        if self._settled:
            callback(self)
        else:
            self._callbacks.append(callback)

    def settle(self, value: T) -> None:
        self._finish(value, None)

    def fail(self, error: LogError) -> None:
        self._finish(None, error)

    def _finish(self, value: T | None, error: LogError | None) -> None:
        if self._settled:
            raise RuntimeError("already settled")
        self._settled, self._value, self._error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)
