"""A life leaves one store in a file and arrives in another, the same to the byte."""

from __future__ import annotations

import io
import json
import wave
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.events.errors import Corrupt, Erased, LifeExists
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Log, Scope
from antiphon.events.verify import verify
from antiphon.replay import recording
from antiphon.replay.errors import ChangedMeanwhile, NewerRecording, RecordingError, WrongRecording
from antiphon.replay.intake import take_in

from .calls import Call, tone
from .zips import packed, streamed, unpacked


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    log = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    yield log
    log.close()


@pytest.fixture
def call(log: SegmentLog) -> Call:
    call = Call(log)
    call.hear(500, tone(12_000, 300))
    call.answer(510)
    call.speak(600, tone(24_000, 700))
    call.sent(620, 24_000, first_ms=610)
    call.end_answer(630)
    call.heard(1_200, 500)
    return call


def recorded(call: Call, **wishes: bool) -> bytes:
    file = io.BytesIO()
    recording.write(call.log, call.session, file, **wishes)
    return file.getvalue()


def arrive(archive: bytes, log: Log | None = None) -> Log:
    log = MemoryLog() if log is None else log
    take_in(log, io.BytesIO(archive))
    return log


# --- out and in again -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [True, False])
def test_a_recording_says_what_it_is_of_and_its_parts_can_be_checked_by_hand(
    call: Call, sealed: bool
) -> None:
    if sealed:
        call.hang_up(2_000)
    parts = unpacked(recorded(call))
    assert list(parts) == ["events.log", "audio.blob", "manifest.json"]
    manifest = json.loads(parts["manifest.json"])
    files = manifest.pop("files")
    assert manifest == {
        "format": 1,
        "session": "sess_call",
        "incarnation": 0,
        "program": "0.0.test",
        "events": 9 if sealed else 8,
        "sealed": sealed,
        "erased": False,
    }
    assert {name: one["bytes"] for name, one in files.items()} == {
        name: len(content) for name, content in parts.items() if name != "manifest.json"
    }


def test_what_arrives_is_what_left_and_leaves_again_as_the_same_bytes(call: Call, tmp_path: Path) -> None:
    call.hang_up(2_000)
    archive = recorded(call)
    for there in (MemoryLog(), SegmentLog(tmp_path / "elsewhere", deliver=lambda call: call())):
        arrive(archive, there)
        assert list(there.read(call.session)) == list(call.log.read(call.session))
        assert verify(there, call.session).sound
        again = io.BytesIO()
        recording.write(there, call.session, again)
        assert again.getvalue() == archive


def test_the_same_log_gives_the_same_bytes_with_everything_in_it(call: Call) -> None:
    call.hang_up(2_000)
    first, second = (recorded(call, with_sound=True, with_lines=True) for _ in range(2))
    assert first == second
    parts = unpacked(first)
    assert list(parts) == ["events.log", "audio.blob", "conversation.wav", "events.jsonl", "manifest.json"]
    lines = [json.loads(line) for line in parts["events.jsonl"].splitlines()]
    assert [line["seq"] for line in lines] == list(range(9))
    with wave.open(io.BytesIO(parts["conversation.wav"])) as sound:
        assert sound.getnframes() == (610 + 500) * 24
    arrive(first)


def test_a_conversation_that_goes_on_is_recorded_as_far_as_it_has_come(call: Call) -> None:
    archive = recorded(call, with_lines=True)
    call.hear(900, tone(12_000))
    there = arrive(archive)
    assert there.head(call.session).next_seq == 8
    assert not there.head(call.session).sealed
    assert len(unpacked(archive)["events.jsonl"].splitlines()) == 8


def test_each_life_is_a_recording_of_its_own(log: SegmentLog) -> None:
    for ms in (100, 200):
        one = Call(log)
        one.hear(ms, tone(ms))
        one.hang_up(ms + 1)
    first = io.BytesIO()
    manifest = recording.write(log, one.session, first, incarnation=0)
    assert manifest.incarnation == 0
    there = arrive(recorded(one))
    take_in(there, first)
    assert there.lives(one.session) == (0, 1)


def test_erased_audio_is_not_in_a_recording_and_the_events_still_arrive(call: Call) -> None:
    call.hang_up(2_000)
    call.log.erase(call.session, Scope.AUDIO)
    archive = recorded(call)
    assert tone(1_000, 700) not in archive
    there = arrive(archive)
    assert there.head(call.session).erased
    with pytest.raises(Erased):
        recorded(call, with_sound=True)


def test_a_damaged_log_is_not_recorded(call: Call, tmp_path: Path) -> None:
    call.hang_up(2_000)
    [blobs] = tmp_path.glob("data/sessions/*/*/0/audio.blob")
    content = bytearray(blobs.read_bytes())
    content[-1] ^= 1
    blobs.write_bytes(content)
    with pytest.raises(Corrupt):
        recorded(call)


def test_a_log_erased_while_it_is_recorded_is_said(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call.hang_up(2_000)
    export, exports = call.log.export, []

    def erased_in_between(*arguments: object, **options: object) -> object:
        if exports:
            call.log.erase(call.session, Scope.AUDIO)
        exports.append(arguments)
        return export(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(call.log, "export", erased_in_between)
    with pytest.raises(ChangedMeanwhile):
        recorded(call)


def test_a_life_that_is_there_is_not_replaced(call: Call) -> None:
    call.hang_up(2_000)
    archive = recorded(call)
    with pytest.raises(LifeExists):
        arrive(archive, call.log)
    there = arrive(archive)
    there.erase(call.session, Scope.ALL)
    with pytest.raises(LifeExists, match="erased"):
        arrive(archive, there)


def test_an_unfinished_call_that_arrives_can_be_gone_on_with(call: Call) -> None:
    there = arrive(recorded(call))
    lease, head = there.open(call.session, expect=Expect.RESUME, owner="another machine")
    assert head.next_seq == 8
    assert lease.writer_epoch > call.lease.writer_epoch


# --- packed by other programs -----------------------------------------------------------------------------


def test_an_archive_that_another_program_packed_again_is_taken_in(call: Call) -> None:
    call.hang_up(2_000)
    parts = unpacked(recorded(call, with_lines=True))
    turned = dict(reversed(parts.items()))
    for archive in (
        packed(turned),
        packed(parts, method=zipfile.ZIP_DEFLATED),
        packed(parts, zip64=True),
        packed(parts, method=zipfile.ZIP_DEFLATED, zip64=True),
        streamed(parts),
    ):
        there = arrive(archive)
        assert list(there.read(call.session)) == list(call.log.read(call.session))


def test_a_long_silence_packs_well_and_still_arrives(log: SegmentLog) -> None:
    """What is said of bombs holds for what grows beyond a megabyte: a deflated silence of seconds is none."""
    call = Call(log)
    call.hear(20_000, bytes(2 * 24_000 * 20))
    call.hang_up(21_000)
    arrive(packed(unpacked(recorded(call)), method=zipfile.ZIP_DEFLATED))


# --- not what it says it is -------------------------------------------------------------------------------


def changed(call: Call, **members: object) -> bytes:
    """A recording whose manifest says something else."""
    parts = unpacked(recorded(call))
    manifest = json.loads(parts["manifest.json"]) | members
    return packed(parts | {"manifest.json": json.dumps(manifest).encode()})


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"session": "sess_other"}, "speaks of another log"),
        ({"incarnation": 1}, "speaks of another log"),
        ({"events": 7}, "speaks of another log"),
        ({"sealed": True}, "speaks of another log"),
        ({"erased": True}, "speaks of another log"),
        ({"files": {}}, "does not list the files"),
        ({"files": None}, "manifest.json"),
        ({"session": 7}, "manifest.json"),
    ],
)
def test_a_manifest_that_is_not_of_this_log_is_refused(
    call: Call, members: dict[str, object], said: str
) -> None:
    with pytest.raises(WrongRecording, match=said):
        arrive(changed(call, **members))


def test_a_recording_of_a_newer_version_is_refused_by_name(call: Call) -> None:
    with pytest.raises(NewerRecording, match="format 2"):
        arrive(changed(call, format=2, session={"anything": "else"}))


def test_files_that_are_not_those_of_the_manifest_are_refused(call: Call) -> None:
    parts = unpacked(recorded(call, with_sound=True, with_lines=True))
    for name in ("events.log", "audio.blob", "conversation.wav", "events.jsonl"):
        content = bytearray(parts[name])
        content[len(content) // 2] ^= 1
        with pytest.raises((RecordingError, Corrupt)) as refused:
            arrive(packed(parts | {name: bytes(content)}))
        assert name in str(refused.value)
    for missing in ("manifest.json", "events.log", "audio.blob"):
        with pytest.raises(WrongRecording, match=r"manifest\.json"):
            arrive(packed({name: content for name, content in parts.items() if name != missing}))


def test_the_parts_of_two_recordings_do_not_make_one(call: Call) -> None:
    call.hang_up(2_000)
    other = Call(call.log, "sess_other")
    other.hear(500, tone(12_000, 300))
    other.hang_up(2_000)
    parts, others = unpacked(recorded(call)), unpacked(recorded(other))
    with pytest.raises((RecordingError, Corrupt)):
        arrive(packed(parts | {"audio.blob": others["audio.blob"]}))
