"""The log in memory keeps the contract."""

import pytest
from tests.events.suite import LogSuite, StoreUnderTest

from antiphon.events.memory import MemoryLog


@pytest.fixture
def store() -> StoreUnderTest:
    log = MemoryLog()
    return StoreUnderTest(log, another=lambda: log, exclusive=False)


class TestMemoryLog(LogSuite):
    pass
