"""Archives that were made to harm: refused in a sentence, and nothing stays behind."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.events.errors import LogError
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.replay import recording
from antiphon.replay.errors import RecordingError, UnsafeArchive, WrongRecording
from antiphon.replay.intake import take_in

from .calls import Call, tone
from .zips import as_folder, as_link, end, forged, inflating, packed, unpacked

Parts = dict[str, bytes]


def a_recording() -> bytes:
    log = MemoryLog()
    call = Call(log)
    call.hear(100, tone(200))
    call.hang_up(200)
    file = io.BytesIO()
    recording.write(log, call.session, file)
    return file.getvalue()


RECORDING = a_recording()
PARTS: Parts = unpacked(RECORDING)


def refused(archive: bytes, where: Path) -> str:
    """Why a store does not take it in. Nothing of it is in the store then, nor beside it."""
    log = SegmentLog(where / "data", deliver=lambda call: call())
    before = sorted(where.rglob("*"))
    with pytest.raises((RecordingError, LogError)) as refusal:
        take_in(log, io.BytesIO(archive))
    assert list(log.sessions()) == []
    assert sorted(path for path in where.rglob("*") if path.is_file()) == [
        path for path in before if path.is_file()
    ]
    said = str(refusal.value)
    assert "\n" not in said
    assert 10 < len(said) < 200
    return said


# --- names, kinds, ways -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../events.log", "/etc/passwd", "sessions/x/events.log", "events.log/", "EVENTS.LOG", "./events.log",
        "events.log\0.txt", "C:\\events.log", "évents.log", "", "notes.txt", "a" * 5_000,
    ],
)  # fmt: skip
def test_a_member_of_any_other_name_is_refused_and_no_name_becomes_a_path(name: str, tmp_path: Path) -> None:
    archive = forged([(name, 0, b"x", 1, zlib.crc32(b"x"), 0)])
    assert "does not belong" in refused(archive, tmp_path)
    extended = packed(PARTS | {name: b"x"}) if name and "\0" not in name else archive
    assert "does not belong" in refused(extended, tmp_path)


def test_a_member_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    members = [(name, 0, content, len(content), zlib.crc32(content), 0) for name, content in PARTS.items()]
    assert "twice" in refused(forged([*members, members[0]]), tmp_path)


@pytest.mark.parametrize("kind", [as_link, as_folder])
def test_links_and_folders_are_refused(kind: Callable[[zipfile.ZipInfo], None], tmp_path: Path) -> None:
    assert "link or a folder" in refused(packed(PARTS, change=kind), tmp_path)


@pytest.mark.parametrize("flag", [1, 1 << 5, 1 << 6, 1 << 13])
def test_encryption_is_refused(flag: int, tmp_path: Path) -> None:
    members = [(name, 0, content, len(content), zlib.crc32(content), flag) for name, content in PARTS.items()]
    assert "encrypted" in refused(forged(members), tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method: int, tmp_path: Path) -> None:
    assert f"method {method}" in refused(packed(PARTS, method=method), tmp_path)


# --- bombs ------------------------------------------------------------------------------------------------


def bomb(claimed: int, megabytes: int) -> bytes:
    content = inflating(megabytes)
    others = [
        (name, 0, part, len(part), zlib.crc32(part), 0)
        for name, part in PARTS.items()
        if name != "audio.blob"
    ]
    return forged([("audio.blob", 8, content, claimed, 0, 0), *others])


def test_ten_gigabytes_in_ten_megabytes_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    archive = bomb(claimed=4_000_000_000, megabytes=10_000)
    assert "would grow" in refused(archive, tmp_path)


@pytest.mark.parametrize("claimed", [1, 100_000, 900_000])
def test_a_bomb_that_claims_to_be_small_is_unpacked_no_further_than_it_claims(
    claimed: int, tmp_path: Path
) -> None:
    """The manifest agrees with the claim: only the content does not."""
    parts = PARTS | {"audio.blob": bytes(claimed)}
    manifest = parts["manifest.json"].replace(
        b'"bytes": %d' % len(PARTS["audio.blob"]), b'"bytes": %d' % claimed
    )
    assert manifest != parts["manifest.json"]
    content = inflating(10_000)
    archive = forged(
        [
            (
                "events.log",
                0,
                parts["events.log"],
                len(parts["events.log"]),
                zlib.crc32(parts["events.log"]),
                0,
            ),
            ("audio.blob", 8, content, claimed, zlib.crc32(bytes(claimed)), 0),
            ("manifest.json", 0, manifest, len(manifest), zlib.crc32(manifest), 0),
        ]
    )
    assert refused(archive, tmp_path)


def test_a_manifest_without_end_is_refused(tmp_path: Path) -> None:
    assert "manifest" in refused(
        packed(PARTS | {"manifest.json": b" " * 70_000 + PARTS["manifest.json"]}), tmp_path
    )


def test_a_list_of_a_million_members_is_refused_unread(tmp_path: Path) -> None:
    directory = bytes(46) * 100_000
    assert "list of members" in refused(directory + end(1, len(directory), 0), tmp_path)


# --- more than one truth ----------------------------------------------------------------------------------


def test_two_archives_in_one_file_are_refused_whichever_comes_first(tmp_path: Path) -> None:
    other = packed({"manifest.json": b"{}"})
    for archive in (other + RECORDING, RECORDING + other, RECORDING + RECORDING):
        assert refused(archive, tmp_path)


def test_an_archive_in_the_comment_of_another_is_refused(tmp_path: Path) -> None:
    with_comment = RECORDING[:-2] + struct.pack("<H", len(RECORDING)) + RECORDING
    assert refused(with_comment, tmp_path)
    plain_comment = RECORDING[:-2] + struct.pack("<H", 2) + b"hi"
    assert "does not end as" in refused(plain_comment, tmp_path)


def test_two_central_directories_are_refused(tmp_path: Path) -> None:
    begin = struct.unpack("<I", RECORDING[-6:-2])[0]
    directory, last = RECORDING[begin:-22], RECORDING[-22:]
    doubled = RECORDING[:begin] + directory + directory + last
    assert refused(doubled, tmp_path)
    second = last[:16] + struct.pack("<I", begin + len(directory)) + last[20:]
    assert "do not fit together" in refused(RECORDING[:begin] + directory + directory + second, tmp_path)


def test_bytes_before_between_and_behind_are_refused(tmp_path: Path) -> None:
    assert refused(b"#!/bin/sh\n" + RECORDING, tmp_path)
    assert refused(RECORDING + b"\0", tmp_path)
    begin = struct.unpack("<I", RECORDING[-6:-2])[0]
    moved = RECORDING[-22:-6] + struct.pack("<I", begin + 3) + RECORDING[-2:]
    assert refused(RECORDING[:begin] + b"gap" + RECORDING[begin:-22] + moved, tmp_path)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """Every entry of the list leads to the first member, as in a bomb that overlaps itself."""
    archive = bytearray(RECORDING)
    begin = struct.unpack("<I", archive[-6:-2])[0]
    at = begin
    while archive[at : at + 4] == b"PK\1\2":
        name, extra, comment = struct.unpack_from("<HHH", archive, at + 28)
        struct.pack_into("<I", archive, at + 42, 0)
        at += 46 + name + extra + comment
    assert refused(bytes(archive), tmp_path)


def test_a_member_that_stands_in_the_file_otherwise_than_in_the_list_is_refused(tmp_path: Path) -> None:
    """Some programs believe the one, some the other."""
    local = bytearray(RECORDING)
    local[30 : 30 + len("events.log")] = b"Events.log"
    assert "listed otherwise" in refused(bytes(local), tmp_path)
    for field in (14, 18, 22):  # checksum, packed size, size
        sizes = bytearray(RECORDING)
        sizes[field] ^= 1
        assert "other sizes" in refused(bytes(sizes), tmp_path)


# --- zip64 and other oddities -----------------------------------------------------------------------------


def test_sizes_that_are_said_to_stand_elsewhere_must_stand_there(tmp_path: Path) -> None:
    archive = bytearray(RECORDING)
    begin = struct.unpack("<I", archive[-6:-2])[0]
    struct.pack_into("<I", archive, begin + 24, 0xFFFFFFFF)
    assert "elsewhere" in refused(bytes(archive), tmp_path)
    for count, length, start in ((0xFFFF, 10, 10), (1, 0xFFFFFFFF, 10), (1, 10, 0xFFFFFFFF)):
        assert refused(RECORDING[:-22] + end(count, length, start), tmp_path)
    for where in (0, 10, 1 << 40, (1 << 64) - 1):
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, where, 1)
        assert refused(RECORDING[:-22] + locator + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF), tmp_path)


def test_a_zip64_end_that_lies_is_refused(tmp_path: Path) -> None:
    begin = struct.unpack("<I", RECORDING[-6:-2])[0]
    length = len(RECORDING) - 22 - begin
    for count, size, start in ((3, length, 1 << 63), (3, 1 << 63, begin), (1 << 63, length, begin)):
        at = len(RECORDING) - 22
        end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
        assert refused(RECORDING[:-22] + end64 + locator + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF), tmp_path)


@pytest.mark.parametrize("archive", [b"", b"PK", b"PK\5\6" + bytes(18), bytes(22), b"RIFF" + bytes(100)])
def test_what_is_no_recording_is_said_to_be_none(archive: bytes, tmp_path: Path) -> None:
    assert refused(archive, tmp_path)


def test_an_empty_archive_and_one_without_a_manifest_are_no_recordings() -> None:
    for archive in (packed({}), packed({"events.log": b"x"})):
        with pytest.raises(WrongRecording, match="no manifest"):
            take_in(MemoryLog(), io.BytesIO(archive))


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    for length in range(0, len(RECORDING), 7):
        with pytest.raises(UnsafeArchive):
            take_in(MemoryLog(), io.BytesIO(RECORDING[:length]))
    assert refused(RECORDING[:-1], tmp_path)


# --- anything at all --------------------------------------------------------------------------------------

archives = st.sampled_from([RECORDING, packed(PARTS, method=zipfile.ZIP_DEFLATED), packed(PARTS, zip64=True)])


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    archive=archives,
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4
    ),
)
def test_whatever_is_changed_either_the_same_log_arrives_or_nothing_does(
    archive: bytes, changes: list[tuple[float, int]]
) -> None:
    changed = bytearray(archive)
    for place, value in changes:
        changed[int(place * len(changed))] = value
    log = MemoryLog()
    try:
        manifest = take_in(log, io.BytesIO(bytes(changed)))
    except (RecordingError, LogError):
        assert list(log.sessions()) == []
    else:
        with log.export(manifest.session) as container:
            assert container.events.read() == PARTS["events.log"]
            assert container.audio.read() == PARTS["audio.blob"]


@settings(max_examples=200, deadline=None)
@given(tail=st.binary(max_size=200), head=st.binary(max_size=60))
def test_no_bytes_are_taken_for_an_archive_that_are_none(head: bytes, tail: bytes) -> None:
    for archive in (head + tail, b"PK\3\4" + head + b"PK\1\2" + tail + end(1, len(tail) + 4, len(head) + 4)):
        with pytest.raises(RecordingError):
            take_in(MemoryLog(), io.BytesIO(archive))
