"""The log on files keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.events.conformance.suite import LogSuite, StoreUnderTest
from antiphon.events.errors import NoSuchSession, NotALog
from antiphon.events.ids import SessionId
from antiphon.events.store import Expect
from tests.events.stores import inline, on_a_slow_disk, on_disk


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StoreUnderTest]:
    store = on_disk(str(tmp_path))
    yield store
    store.log.close()


class TestSegmentLog(LogSuite):
    pass


class TestSegmentLogOnASlowDisk(LogSuite):
    """Every append goes through the writer thread."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[StoreUnderTest]:
        store = on_a_slow_disk(str(tmp_path))
        yield store
        store.settle()
        store.log.close()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\0b", "a b", "ä", "a\n", "x" * 129])
def test_a_session_id_cannot_leave_the_store(store: StoreUnderTest, name: str) -> None:
    with pytest.raises(ValueError):
        store.open(SessionId(name))
    with pytest.raises(NoSuchSession):
        store.log.head(SessionId(name))
    with pytest.raises(NoSuchSession):
        store.log.read(SessionId(name))


def test_a_store_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "STORE").write_text('{"format": 2, "id": "x"}')
    with pytest.raises(NotALog, match="format 2"):
        inline(tmp_path)


def test_nothing_stays_open_after_release_and_seal(store: StoreUnderTest) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    leases = [store.open(SessionId(f"s{n}"))[0] for n in range(10)]
    assert descriptors() == before + 20
    for lease in leases[:5]:
        store.log.seal(lease, "done")
    for lease in leases[5:]:
        store.log.release(lease)
    assert descriptors() == before


def test_opening_needs_no_more_than_the_log_itself(store: StoreUnderTest, tmp_path: Path) -> None:
    lease, _ = store.open(SessionId("s"), Expect.NEW)
    names = sorted(path.name for path in (tmp_path / "sessions").glob("*/s/0/*"))
    assert names == ["LOCK", "audio.blob", "events.log"]
    store.log.release(lease)
