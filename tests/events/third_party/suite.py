"""What the author of mystore.py would call test_mystore.py: a class for every store, named after it."""

from collections.abc import Iterator
from pathlib import Path

import mystore
import pytest

from antiphon.events.conformance.cases.crowding import Crowding
from antiphon.events.conformance.cases.erasing import Erasing
from antiphon.events.conformance.cases.exchanging import Exchanging
from antiphon.events.conformance.cases.failing import Failing
from antiphon.events.conformance.cases.following import Following
from antiphon.events.conformance.cases.killing import Killing
from antiphon.events.conformance.cases.leasing import Leasing
from antiphon.events.conformance.cases.reading import Reading
from antiphon.events.conformance.cases.refusing import Refusing
from antiphon.events.conformance.cases.repeating import Repeating
from antiphon.events.conformance.cases.rotting import Rotting
from antiphon.events.conformance.suite import StoreUnderTest


class InMemory:
    @pytest.fixture
    def store(self) -> StoreUnderTest:
        log = getattr(mystore, type(self).__name__.removeprefix("Test"))()
        return StoreUnderTest(log, exclusive=False, another=lambda: log)


class OnFiles:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[StoreUnderTest]:
        store = mystore.on_files(type(self).__name__.removeprefix("Test"), str(tmp_path))
        yield store
        store.log.close()


class TestLosesTheLastOfABatch(InMemory, Reading): ...


class TestAcceptsAStaleLease(InMemory, Leasing): ...


class TestReorders(InMemory, Reading): ...


class TestStoresHalfABatch(InMemory, Refusing): ...


class TestForgetsWhatItAnswered(InMemory, Repeating): ...


class TestTakesAnyBlob(InMemory, Reading): ...


class TestWritesAfterTheSeal(InMemory, Leasing): ...


class TestFollowsWithAGap(InMemory, Following): ...


class TestAlwaysCatchesUp(InMemory, Following): ...


class TestShowsWhatItRefuses(InMemory, Exchanging): ...


class TestKeepsWhatWasErased(InMemory, Erasing): ...


class TestLooksAtEverybody(InMemory, Crowding): ...


class TestShowsWhatIsNotStored(OnFiles, Failing): ...


class TestRepairsByCutting(OnFiles, Rotting): ...


class TestForgetsTheKilled(OnFiles, Killing): ...


class TestLeavesAudioBehind(OnFiles, Erasing): ...


class TestHoldsEverythingOpen(OnFiles, Crowding): ...
