"""The log in memory keeps the contract."""

import pytest

from antiphon.events.memory import MemoryLog
from tests.events.suite import LogSuite, StoreUnderTest


@pytest.fixture
def store() -> StoreUnderTest:
    log = MemoryLog()
    return StoreUnderTest(log, another=lambda: log, exclusive=False)


class TestMemoryLog(LogSuite):
    pass
