"""Verifying a log: what is sound is said to be, and everything that is not is named."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.events.container import Container
from antiphon.events.envelope import BlobRef, Draft, Stored
from antiphon.events.errors import Corrupt, NoSuchSession
from antiphon.events.ids import ResponseId, Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Head, Scope
from antiphon.events.units import Millis, Moment
from antiphon.events.verify import Finding, Report, verify
from antiphon.events.vocabulary import PlaybackAcknowledged, WriterOpened
from tests.replay.calls import Call, tone


@pytest.fixture
def log(tmp_path: Path) -> SegmentLog:
    return SegmentLog(tmp_path / "data", deliver=lambda call: call())


@pytest.fixture
def call(log: SegmentLog) -> Call:
    """Six events, three of them with a payload of 100 samples."""
    call = Call(log)
    call.hear(100, tone(100))
    call.answer(150)
    call.speak(200, tone(100))
    call.speak(210, tone(100))
    return call


def file(root: Path, name: str) -> Path:
    [path] = root.glob(f"data/sessions/*/*/0/{name}")
    return path


def damage(path: Path, offset: int) -> None:
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)


# --- what is sound ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [True, False])
def test_a_log_that_is_as_it_was_written_is_sound(log: SegmentLog, call: Call, sealed: bool) -> None:
    if sealed:
        call.hang_up(300)
    report = verify(log, call.session)
    assert report == Report(
        session=call.session,
        incarnation=0,
        sealed=sealed,
        events=7 if sealed else 6,
        payloads=3,
        payload_bytes=600,
    )
    assert report.sound


def test_every_store_can_be_verified_and_every_life(log: SegmentLog) -> None:
    memory = MemoryLog()
    for store in (log, memory):
        for ms in (100, 200):
            call = Call(store)
            call.hear(ms, tone(ms))
            call.hang_up(ms + 1)
        first, second = (verify(store, call.session, incarnation=n) for n in (0, 1))
        assert (first.payload_bytes, second.payload_bytes) == (200, 400)
        assert verify(store, call.session) == second
        assert first.sound
        assert second.sound


def test_a_new_writer_and_another_boot_are_no_disorder(log: SegmentLog, call: Call) -> None:
    log.release(call.lease)
    call.open(Expect.RESUME, boot="another", at_ms=5_000)
    log.release(call.lease)
    call.open(Expect.RESUME, boot="another", at_ms=5_000)
    assert verify(log, call.session).sound


def test_erased_audio_is_not_damage(log: SegmentLog, call: Call) -> None:
    call.hang_up(300)
    log.erase(call.session, Scope.AUDIO)
    report = verify(log, call.session)
    assert report.sound
    assert (report.payloads, report.erased) == (3, 3)


def test_who_watches_is_told_of_every_event(log: SegmentLog, call: Call) -> None:
    seen: list[int] = []
    verify(log, call.session, watch=lambda stored: seen.append(stored.seq))
    assert seen == [0, 1, 2, 3, 4, 5]


def test_nothing_there_is_an_error_and_not_a_sound_log(log: SegmentLog) -> None:
    with pytest.raises(NoSuchSession):
        verify(log, SessionId("nobody"))


# --- what is not ------------------------------------------------------------------------------------------


def test_every_damaged_payload_is_named_with_its_event_and_its_byte(
    log: SegmentLog, call: Call, tmp_path: Path
) -> None:
    call.hang_up(300)
    first, _, third = (one.blob for one in log.read(call.session) if one.blob is not None)
    assert first is not None
    assert third is not None
    damage(file(tmp_path, "audio.blob"), first.offset)
    damage(file(tmp_path, "audio.blob"), third.offset + 199)
    report = verify(log, call.session)
    assert [(one.kind, one.seq, one.offset) for one in report.findings] == [
        ("payload", 2, first.offset),
        ("payload", 5, third.offset),
    ]
    assert report.events == 7
    assert verify(log, call.session, blobs=False).sound


def test_a_damaged_frame_is_named_with_the_event_before_it(
    log: SegmentLog, call: Call, tmp_path: Path
) -> None:
    call.hang_up(300)
    events = file(tmp_path, "events.log")
    damage(events, events.read_bytes().index(b"ResponseCreated"))
    report = verify(log, call.session)
    [found] = report.findings
    assert (found.kind, found.seq) == ("frame", 2)
    assert found.offset is not None
    assert 0 < found.offset < events.read_bytes().index(b"AudioSpoken")
    assert "nothing behind it can be read" in found.reason
    assert report.events == 3


def test_a_damaged_header_is_found(log: SegmentLog, call: Call, tmp_path: Path) -> None:
    damage(file(tmp_path, "events.log"), 20)
    [found] = verify(log, call.session).findings
    assert (found.kind, found.seq, found.offset) == ("frame", None, 0)


def test_a_blob_file_that_is_gone_is_found(log: SegmentLog, call: Call, tmp_path: Path) -> None:
    call.hang_up(300)
    file(tmp_path, "audio.blob").unlink()
    report = verify(log, call.session)
    assert [one.seq for one in report.findings] == [2, 4, 5]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.integers(0, 10_000))
def test_no_flipped_byte_of_a_sealed_log_goes_unnoticed(tmp_path: Path, where: int) -> None:
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    log = SegmentLog(root / "data", deliver=lambda call: call())
    call = Call(log)
    call.hear(100, tone(100))
    call.say(200, PlaybackAcknowledged(response=ResponseId("resp_1"), heard_ms=Millis(7)))
    call.hang_up(300)
    events, blobs = file(root, "events.log"), file(root, "audio.blob")
    size = events.stat().st_size
    place = where % (size + blobs.stat().st_size)
    if place < size:
        damage(events, place)
    else:
        damage(blobs, place - size)
    report = verify(log, call.session)
    # A seal that is not whole is no seal: the log then looks like one whose writer died.
    assert not report.sound or not report.sealed
    damage(events if place < size else blobs, place if place < size else place - size)
    assert verify(log, call.session).sound


# --- what only the whole can tell -------------------------------------------------------------------------


def told_of(
    change: Callable[[list[Stored]], list[Stored]], call: Call, next_seq: int | None = None
) -> Report:
    """What is said of a store that shows other events than were written."""

    class Shown(SegmentLog):
        def read(
            self,
            session: SessionId,
            *,
            incarnation: int | None = None,
            start: int = 0,
            stop: int | None = None,
        ) -> Iterator[Stored]:
            yield from change(list(super().read(session, incarnation=incarnation, start=start, stop=stop)))

        def export(self, session: SessionId, *, incarnation: int | None = None) -> Container:
            raise Corrupt("events.log", offset=0, seq=None, reason="not exported")

    assert isinstance(call.log, SegmentLog)
    call.log.__class__ = Shown
    return verify(call.log, call.session)


def at(stored: Stored, **changed: object) -> Stored:
    members = {name: getattr(stored, name) for name in ("seq", "at", "event", "blob", "cause", "critical")}
    return Stored(**{**members, **changed})  # type: ignore[arg-type]


def reasons(report: Report) -> list[tuple[str, int | None]]:
    return [(one.kind, one.seq) for one in report.findings]


def test_a_missing_event_is_found_where_the_next_one_stands(call: Call) -> None:
    assert reasons(told_of(lambda events: events[:3] + events[4:], call)) == [("order", 4)]


def test_an_end_before_the_logs_own_is_found(call: Call) -> None:
    report = told_of(lambda events: events[:-1], call)
    assert reasons(report) == [("frame", 4)]
    assert "6" in report.findings[0].reason


def test_time_that_goes_back_is_found(call: Call) -> None:
    earlier = Moment(0, 0)
    assert reasons(told_of(lambda e: [*e[:3], at(e[3], at=earlier), *e[4:]], call)) == [("order", 3)]


def test_a_cause_that_comes_later_is_found(call: Call) -> None:
    assert reasons(told_of(lambda e: [*e[:3], at(e[3], cause=Seq(3)), *e[4:]], call)) == [("order", 3)]


def test_a_payload_within_another_is_found(call: Call) -> None:
    def overlapping(events: list[Stored]) -> list[Stored]:
        before, blob = events[4].blob, events[5].blob
        assert before is not None
        assert blob is not None
        return [*events[:5], at(events[5], blob=BlobRef(before.offset, before.length, before.crc32c))]

    assert ("payload", 5) in reasons(told_of(overlapping, call))


def test_a_writer_that_is_not_above_the_one_before_it_is_found(log: SegmentLog, call: Call) -> None:
    again = Draft(WriterOpened(writer_epoch=1, code="", boot="boot"), Moment(10**12, 10**19))
    log.append(call.lease, Seq(6), [again]).result()
    assert verify(log, call.session).findings == (Finding(kind="order", reason="writer 1 after 1", seq=6),)


def test_a_head_beyond_a_sealed_end_is_found(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call.hang_up(300)
    head = call.log.head(call.session)
    beyond = Head(head.session, 0, head.writer_epoch, Seq(5), head.audio_bytes, sealed=True)
    monkeypatch.setattr(call.log, "head", lambda *_, **__: beyond)
    assert reasons(verify(call.log, call.session)) == [("frame", 6)]
