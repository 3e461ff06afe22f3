"""A worker looks at the clock however busy it is, and does what may wait when nobody waits."""

from __future__ import annotations

import threading

from antiphon.actors.stages.minicpmo.workers import Worker

PATIENCE_S = 10.0


def failing(problem: Exception) -> None:
    raise problem


def test_the_clock_is_looked_at_while_there_is_always_something_to_do() -> None:
    looked = threading.Event()
    worker = Worker("t", failing, looked.set)

    def again() -> None:
        if not looked.is_set():
            worker.post(again)

    worker.post(again)
    worker.start()
    assert looked.wait(PATIENCE_S)
    worker.stop()


def test_what_may_wait_is_done_where_nothing_else_is_to_be_done_and_in_order() -> None:
    done: list[str] = []
    over = threading.Event()
    worker = Worker("t", failing)

    def live(name: str) -> None:
        done.append(name)

    def first() -> None:
        done.append("behind 1")
        worker.post(lambda: live("live 3"))

    worker.post_behind(first)
    worker.post_behind(lambda: done.append("behind 2"))
    worker.post_behind(over.set)
    worker.post(lambda: live("live 1"))
    worker.post(lambda: live("live 2"))
    worker.start()
    assert over.wait(PATIENCE_S)
    worker.stop()
    assert done == ["live 1", "live 2", "behind 1", "live 3", "behind 2"]


def test_a_worker_that_waits_hears_of_what_may_wait() -> None:
    over = threading.Event()
    worker = Worker("t", failing)
    worker.start()
    worker.post_behind(over.set)
    assert over.wait(PATIENCE_S)
    worker.stop()
