"""The log in memory keeps the contract."""

import pytest

from antiphon.events.conformance.suite import LogSuite, StoreUnderTest
from antiphon.events.memory import MemoryLog


class TestMemoryLog(LogSuite):
    @pytest.fixture
    def store(self) -> StoreUnderTest:
        log = MemoryLog()
        return StoreUnderTest(log, exclusive=False, another=lambda: log)
