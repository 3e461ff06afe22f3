"""Nobody waits for ever for a stage that has died."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.contract import EngineDied, EngineRefused
from antiphon.actors.stages.minicpmo.promises import Promises


def test_a_death_is_told_to_all_who_wait_and_to_those_who_come() -> None:
    promises = Promises()
    waiting, kept = promises.make(), promises.make()
    promises.settle(kept)
    promises.break_all("the device is lost")
    for broken in (waiting, promises.make()):
        with pytest.raises(EngineDied, match="the device is lost"):
            broken.result(0)
    assert kept.result(0) is None


def test_what_is_said_first_counts() -> None:
    promises = Promises()
    promise = promises.make()
    promises.settle(promise, EngineRefused("closed", "it is over"))
    promises.settle(promise)
    promises.break_all("dead")
    with pytest.raises(EngineRefused):
        promise.result(0)
