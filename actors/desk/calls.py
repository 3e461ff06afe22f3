"""How the desk asks its engine: an answer is there at once, comes later from any thread, or is an error."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial

from antiphon.actors.stages.contract import EngineDied, Pending

Post = Callable[[Callable[[], None]], None]
Then = Callable[[BaseException | None], None]


class Calls:
    """`died` is called with the reason when a call finds the engine dead; what waits for it never returns."""

    def __init__(self, post: Post, died: Callable[[str], None]) -> None:
        self._post, self._died = post, died

    def when(self, call: Callable[[], Pending], then: Then) -> None:
        """Do `then` on the desk's thread when `call` is done, with what went wrong or None."""
        try:
            pending = call()
        except Exception as error:  # noqa: BLE001  # handed on, to whoever knows what was asked
            self._done(then, error)
            return
        if pending is None:
            then(None)
        else:
            pending.add_done_callback(lambda done: self._post(partial(self._done, then, _error_of(done))))

    def _done(self, then: Then, error: BaseException | None) -> None:
        if isinstance(error, EngineDied):
            self._died(str(error))
        else:
            then(error)


def _error_of(done: Pending) -> BaseException | None:
    try:
        return None if done is None else done.exception()
    except CancelledError as cancelled:
        return cancelled
