"""What is kept for how long, and what happens when the disk fills up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from antiphon.events.errors import NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.retention import Policy
from antiphon.events.segments.log import SegmentLog
from antiphon.events.verify import verify
from antiphon.web import quantities
from antiphon.web.disk import Disk
from antiphon.web.janitor import Janitor
from antiphon.web.settings import SettingsError, load
from tests.replay.calls import Call, tone
from tests.serving import running

from .wire import wire

HOUR = 3_600
DAY = 24 * HOUR
GB = 10**9

# --- what is written in settings --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1s", 1), ("90m", 5_400), ("12h", 12 * HOUR), ("30d", 30 * DAY), ("2w", 14 * DAY), ("none", None)],
)
def test_a_duration_is_a_number_and_a_unit(written: str, seconds: int | None) -> None:
    assert quantities.seconds(written) == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("1B", 1), ("20GB", 20 * GB), ("512MiB", 512 << 20), ("3kB", 3_000), ("1TiB", 1 << 40), ("none", None)],
)
def test_a_size_is_a_number_and_a_unit(written: str, size: int | None) -> None:
    assert quantities.bytes_(written) == size


@pytest.mark.parametrize(
    "written", ["", "30", "d", "0d", "-1d", "1.5d", "1 d", "1d12h", "30D", "1y", "١d", "None", "9" * 16 + "s"]
)
def test_what_is_no_duration_is_refused_with_what_would_be(written: str) -> None:
    with pytest.raises(quantities.Unreadable, match="30d, or none"):
        quantities.seconds(written)


@pytest.mark.parametrize("written", ["", "20", "GB", "0GB", "20gb", "20 GB", "1.5GB", "20G", "1e9B"])
def test_what_is_no_size_is_refused_with_what_would_be(written: str) -> None:
    with pytest.raises(quantities.Unreadable, match="20GB, or none"):
        quantities.bytes_(written)


def test_by_default_everything_is_kept_and_a_gigabyte_stays_free() -> None:
    assert load(environment={}).retention() == Policy(min_free_bytes=GB)


def test_the_settings_come_from_the_file_the_environment_and_flags(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text('keep_audio = "1d"\nkeep_events = "30d"\nmax_data = "1GB"\nmin_free = "none"\n')
    settings = load(config, {"ANTIPHON_KEEP_AUDIO": "2d"}, {"max_data": "2GB", "keep_events": None})
    assert settings.retention() == Policy(
        keep_audio_ns=2 * DAY * GB, keep_events_ns=30 * DAY * GB, max_data_bytes=2 * GB
    )
    assert load(environment={"ANTIPHON_NO_AUDIO_LOG": "1"}).retention().keep_audio_ns == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"keep_audio": "30"}, "keep_audio: '30' is not a duration"),
        ({"max_data": "a lot"}, "max_data: 'a lot' is not a size"),
        ({"keep_audio": "8d", "keep_events": "7d"}, "audio goes with its events"),
        ({"keep_audio": "8d", "no_audio_log": True}, "choose one"),
    ],
)
def test_settings_that_mean_nothing_are_refused(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load(environment={}, flags=flags)


# --- the janitor ------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SegmentLog]:
    log = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    yield log
    log.close()


def recorded(store: SegmentLog, name: str, *, days: float, data: Path, over: bool = True) -> Call:
    """A call of 20 kB that was last written `days` ago."""
    call = Call(store, name)
    call.hear(500, tone(10_000))
    if over:
        call.hang_up(600)
    for path in data.glob(f"sessions/*/{name}/0/events.log"):
        os.utime(path, (time.time(), time.time() - days * DAY))
    return call


def sweep(data: Path, policy: Policy, free: int = 10**15) -> tuple[int, list[dict[str, Any]]]:
    """The bytes that were erased, and what was said."""
    erased: list[int] = []
    configured = structlog.get_config()
    structlog.reset_defaults()  # a command may have been run in this process, and says less
    with capture_logs() as said:
        Janitor(data, policy, Disk(data, None, lambda _: free), erased.append).sweep()
    structlog.configure(**configured)
    return sum(erased), [dict(one) for one in said]


def planted(pattern: bytes, where: Path) -> list[Path]:
    """The files that hold the pattern."""
    return [path for path in where.rglob("*") if path.is_file() and pattern in path.read_bytes()]


def kept(store: SegmentLog, name: str) -> str:
    try:
        head = store.head(SessionId(name))
    except NoSuchSession:
        return "nothing"
    return "events" if head.erased else "all"


def test_each_life_is_kept_as_long_as_the_settings_say(store: SegmentLog, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name, days in (("new", 1), ("middling", 8), ("old", 40)):
        recorded(store, name, days=days, data=data)
    talking = recorded(store, "talking", days=50, data=data, over=False)
    policy = Policy(keep_audio_ns=7 * DAY * GB, keep_events_ns=30 * DAY * GB)
    erased, said = sweep(data, policy)
    assert [kept(store, name) for name in ("new", "middling", "old", "talking")] == [
        "all", "events", "nothing", "all",
    ]  # fmt: skip
    assert 40_000 < erased < 45_000
    assert [(one["event"], one["session"], one["scope"], one["setting"]) for one in said] == [
        ("retention.erased", "middling", "audio", "keep_audio"),
        ("retention.erased", "old", "all", "keep_events"),
    ]
    talking.hear(700, tone(100))  # goes on writing
    assert sweep(data, policy) == (0, [])


def test_a_call_that_a_crash_left_behind_is_erased_like_any_other(store: SegmentLog, tmp_path: Path) -> None:
    call = recorded(store, "crashed", days=8, data=tmp_path / "data", over=False)
    store.release(call.lease)
    sweep(tmp_path / "data", Policy(keep_audio_ns=7 * DAY * GB))
    assert kept(store, "crashed") == "events"
    assert store.head(call.session).sealed


def test_a_life_that_cannot_be_erased_stops_nobody_and_others_go_in_its_place(
    store: SegmentLog, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    for name, days in (("stuck", 3), ("next", 2), ("last", 1)):
        recorded(store, name, days=days, data=data)
    [blob] = data.glob("sessions/*/stuck/0/audio.blob")
    blob.unlink()
    blob.symlink_to(tmp_path / "nowhere" / "audio.blob")  # there the tombstone cannot be written
    limit = sum(one.events_bytes + one.audio_bytes for one in store.holdings()) - 1_000
    _, said = sweep(data, Policy(max_data_bytes=limit))
    assert [(one["event"], one.get("session")) for one in said] == [
        ("retention.not_erased", "stuck"),
        ("retention.erased", "next"),
    ]
    assert [kept(store, name) for name in ("next", "last")] == ["events", "all"]


def test_a_damaged_log_can_be_erased_and_hides_no_other(store: SegmentLog, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("damaged", "sound"):
        recorded(store, name, days=8, data=data)
    [events] = data.glob("sessions/*/damaged/0/events.log")
    events.chmod(0o600)
    events.write_bytes(events.read_bytes()[:190] + b"\xff" * 40 + events.read_bytes()[230:])
    os.utime(events, (0, time.time() - 8 * DAY))
    sweep(data, Policy(keep_audio_ns=7 * DAY * GB))
    assert [kept(store, name) for name in ("damaged", "sound")] == ["events", "events"]


def test_a_store_that_cannot_be_read_is_said_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "STORE").write_text("{")
    _, said = sweep(tmp_path, Policy(keep_audio_ns=0))
    assert [one["event"] for one in said] == ["retention.sweep_failed"]


# --- a whole server ---------------------------------------------------------------------------------------


def test_a_server_erases_at_its_start_what_is_too_old(tmp_path: Path) -> None:
    store = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    recorded(store, "old", days=2, data=tmp_path / "data")
    with running(tmp_path / "data", "--keep-audio", "24h") as server:
        server.wait_until(lambda: kept(store, "old") == "events")
        server.wait_until(lambda: "retention.erased" in server.log())
        assert "antiphon_retention_erased_bytes_total 20024.0" in server.get("/metrics").text


async def test_no_audio_is_kept_of_a_call_that_is_over(tmp_path: Path) -> None:
    store = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    said = tone(12_000, 300)
    with running(tmp_path / "data", "--no-audio-log") as server:
        async with wire(server) as client:
            session = (await client.next("session.created"))["session"]["id"]
            await client.append(said)
            await client.next("response.output_audio.delta")
        server.wait_until(lambda: kept(store, session) == "events")
    assert verify(store, SessionId(session)).sound
    assert planted(said[:200], tmp_path) == []


async def test_without_room_on_the_disk_the_next_caller_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--min-free", "1000000TB") as server:
        async with wire(server) as client:
            error = (await client.next())["error"]
            assert (error["code"], error["type"]) == ("resource_exhausted", "rate_limit_error")
            assert "disk" in error["message"]
            await client.socket.wait_closed()
            assert client.socket.close_code == 1013
        health = server.get("/health").json()
        assert health["disk"]["low"] is True
        assert "disk" in health["notice"]
        metrics = server.get("/metrics").text
        assert "antiphon_disk_low 1.0" in metrics
        assert 'antiphon_refusals_total{code="resource_exhausted"} 1.0' in metrics
    store = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    assert list(store.sessions()) == []


async def test_who_is_talking_when_the_disk_fills_up_goes_on_talking(tmp_path: Path) -> None:
    margin = 512 << 20  # more than what else is written here meanwhile
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    if free < 4 * margin:
        pytest.skip("there is not enough room on this disk to fill some of it up")
    with running(tmp_path / "data", "--min-free", f"{free - margin}B") as server:
        async with wire(server) as talking:
            await talking.next("session.created")
            with (tmp_path / "filler").open("wb") as filler:
                os.posix_fallocate(filler.fileno(), 0, 2 * margin)
            async with wire(server) as late:
                assert (await late.next())["error"]["code"] == "resource_exhausted"
            await talking.append(bytes(3_840))
            await talking.next("response.output_audio.delta")
            (tmp_path / "filler").unlink()
            async with wire(server) as later:
                assert (await later.next())["type"] == "session.created"
