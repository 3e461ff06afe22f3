"""Exported lives: the same bytes from every store, and nothing taken in that no store of ours would write."""

import errno
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.events.codec import MAX_BLOB, encode
from antiphon.events.container import Container
from antiphon.events.envelope import BlobRef, Draft
from antiphon.events.errors import Corrupt, LifeExists, NoSuchSession, NotALog, StoreFull
from antiphon.events.ids import Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments import audio as blob_file
from antiphon.events.segments import frame
from antiphon.events.segments.files import Files
from antiphon.events.segments.layout import Layout
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Log, Scope
from tests.events.drafts import audio, opened, payload, text
from tests.events.stores import inline

S = SessionId("s")
Packed = tuple[bytes, bytes]


def pack(log: Log, incarnation: int | None = None) -> Packed:
    with log.export(S, incarnation=incarnation) as life:
        return life.events.read(), life.audio.read()


def unpack(log: Log, life: Packed) -> None:
    with Container(io.BytesIO(life[0]), io.BytesIO(life[1]), name="a test") as container:
        log.import_(container)


def write(log: Log, batches: Sequence[Sequence[Draft]], *, seal: bool) -> None:
    lease, _ = log.open(S, expect=Expect.NEW, owner="the test")
    seq = 0
    for batch in batches:
        seq = log.append(lease, Seq(seq), batch).result().last + 1
    if seal:
        log.seal(lease, "the end")
    else:
        log.release(lease)


SPOKEN = [[opened(1)], [text(1), audio(2), text(3)], [audio(4)], [audio(5, 0), audio(6, 30)]]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    log = inline(tmp_path_factory.mktemp("sealed"))
    write(log, SPOKEN, seal=True)
    return pack(log)


@pytest.fixture(params=[MemoryLog, inline], ids=["memory", "files"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    made: Log = MemoryLog() if request.param is MemoryLog else inline(tmp_path)
    return made


def refused(log: Log, life: Packed) -> None:
    """By name, and nothing of it stays."""
    with pytest.raises((Corrupt, NotALog)):
        unpack(log, life)
    with pytest.raises(NoSuchSession):
        log.lives(S)


sizes = st.lists(st.lists(st.none() | st.integers(0, 300), min_size=1, max_size=4), max_size=5)


@settings(max_examples=30, deadline=None)
@given(sizes=sizes, seal=st.booleans(), erased=st.booleans())
def test_any_life_is_the_same_bytes_in_every_store(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[list[int | None]], seal: bool, erased: bool
) -> None:
    batches = [[text(n) if size is None else audio(n, size) for n, size in enumerate(b)] for b in sizes]
    first = inline(tmp_path_factory.mktemp("first"))
    write(first, batches, seal=seal)
    if erased:
        first.erase(S, Scope.AUDIO)
    life = pack(first)
    for log in (MemoryLog(), inline(tmp_path_factory.mktemp("second"))):
        unpack(log, life)
        assert pack(log) == life
        epoch = log.head(S).writer_epoch  # what travels of it is in the log
        assert log.head(S) == replace(first.head(S), writer_epoch=epoch)
        assert list(log.read(S)) == list(first.read(S))


def test_an_unsealed_life_goes_on_where_it_came_to(log: Log) -> None:
    first = MemoryLog()
    write(first, SPOKEN, seal=False)
    unpack(log, pack(first))
    lease, head = log.open(S, expect=Expect.RESUME, owner="the test")
    assert (head.next_seq, lease.writer_epoch) == (7, 2)
    assert log.append(lease, Seq(5), SPOKEN[3]).result().first == 5  # a repeated batch is known
    log.append(lease, Seq(7), [audio(7)]).result()
    seen = [log.read_blob(S, stored.blob) for stored in log.read(S) if stored.blob]
    assert seen == [payload(n, size) for n, size in ((2, 64), (4, 64), (5, 0), (6, 30), (7, 64))]


def test_lives_keep_their_numbers_and_the_next_is_behind_them(log: Log) -> None:
    first = MemoryLog()
    for _ in range(4):
        write(first, SPOKEN[:1], seal=True)
    for number in (3, 1):
        unpack(log, pack(first, number))
    assert log.lives(S) == (1, 3)
    assert log.open(S, expect=Expect.NEW, owner="the test")[0].incarnation == 4
    with pytest.raises(LifeExists) as exists:
        unpack(log, pack(first, 3))
    assert not exists.value.erased
    assert log.lives(S) == (1, 3, 4)


def test_what_is_exported_does_not_grow_with_the_log(log: Log) -> None:
    lease, _ = log.open(S, expect=Expect.NEW, owner="the test")
    log.append(lease, Seq(0), [audio(0)]).result()
    expected = pack(log)
    with log.export(S) as life:
        log.append(lease, Seq(1), [audio(1)]).result()
        assert (life.events.read(), life.audio.read()) == expected


@pytest.mark.parametrize("tail", ["events", "audio", "both"])
def test_only_whole_batches_are_exported(tmp_path: Path, tail: str) -> None:
    log = inline(tmp_path)
    write(log, SPOKEN, seal=False)
    whole, before = pack(log), MemoryLog()
    write(before, SPOKEN[:-1], seal=False)
    end = [len(stream) for stream in pack(before)]
    (folder,) = tmp_path.glob("sessions/*/s/0")
    cuts = {"events": (len(whole[0]) - 1, end[1]), "audio": (end[0], len(whole[1]) - 1)}
    for name, stream, kept, at in zip(("events.log", "audio.blob"), whole, end, (0, 1), strict=True):
        size = max(kept, cuts[tail][at]) if tail != "both" else len(stream) - 1
        (folder / name).write_bytes(stream[:size])
    assert pack(log) == tuple(stream[:size] for stream, size in zip(whole, end, strict=True))


def test_a_sealed_life_whose_audio_is_short_is_read_and_not_exported(tmp_path: Path, sealed: Packed) -> None:
    log = inline(tmp_path)
    unpack(log, sealed)
    (blobs,) = tmp_path.glob("sessions/*/s/0/audio.blob")
    blobs.write_bytes(sealed[1][:-1])
    events = list(log.read(S))
    assert len(events) == log.head(S).next_seq == 7
    assert events[-1].blob is not None
    with pytest.raises(Corrupt):
        log.read_blob(S, events[-1].blob)
    with pytest.raises(Corrupt, match="last payload"):
        log.export(S)


# --- what no store of ours would write


def test_any_other_byte_is_refused(log: Log, sealed: Packed) -> None:
    for which, stream in enumerate(sealed):
        for at in range(len(stream)):
            changed = stream[:at] + bytes([stream[at] ^ (1 << at % 8)]) + stream[at + 1 :]
            refused(log, (changed, sealed[1]) if which == 0 else (sealed[0], changed))


def test_a_stream_that_ends_early_is_refused_or_is_an_earlier_state_of_the_log(
    log: Log, sealed: Packed
) -> None:
    for size in range(len(sealed[1])):
        refused(log, (sealed[0], sealed[1][:size]))
    for size in range(len(sealed[0])):
        if size != len(sealed[0]) - SEAL_SIZE:
            refused(log, (sealed[0][:size], sealed[1]))
    unpack(log, (sealed[0][:-SEAL_SIZE], sealed[1]))
    assert not log.head(S).sealed


SEAL_SIZE = frame.FRAME_SIZE + len(
    msgspec.msgpack.encode(frame.Seal("the end", events=7, events_bytes=1000, audio_bytes=200))
)


def test_bytes_behind_the_end_are_refused(log: Log, sealed: Packed) -> None:
    events, blobs = sealed
    again = events[-SEAL_SIZE:]
    for tail in (b"\0", b"\0" * 100, again, events[frame.HEADER_SIZE :]):
        refused(log, (events + tail, blobs))
        refused(log, (events, blobs + tail))


class Forger:
    """Frames with good checksums that say what they should not."""

    header = frame.FileHeader(S, 0, 1, b"0123456789abcdef")

    def __init__(self) -> None:
        self.events = frame.encode_header(self.header)
        self.audio = blob_file.encode_header(self.header)
        self.seq = 0

    @property
    def life(self) -> Packed:
        return self.events, self.audio

    def add(self, stored: bytes, *, flags: int, seq: int | None = None, seed: int | None = None) -> None:
        seq, seed = self.seq if seq is None else seq, self.header.seed if seed is None else seed
        self.events += frame.encode_frame(seq, 1, 1, flags, stored, seed)
        self.seq = seq + 1

    def speak(self, *, offset: int | None = None, length: int | None = None, extra: int = 0) -> None:
        """A payload of 8 bytes, with a reference that may lie about it."""
        said = payload(self.seq, 8)
        ref = BlobRef(
            len(self.audio) if offset is None else offset,
            len(said) if length is None else length,
            crc32c(said),
        )
        stored, _ = encode(text(self.seq), 0)
        kind, version, cause, _, body = msgspec.msgpack.decode(stored)
        self.audio += said
        self.add(
            msgspec.msgpack.encode((kind, version, cause, ref, body)),
            flags=frame.CRITICAL | frame.HAS_BLOB | frame.BATCH_END | extra,
        )

    def seal(self, **claims: int) -> None:
        true = {"events": self.seq, "events_bytes": len(self.events), "audio_bytes": len(self.audio)}
        seal = frame.Seal("the end", **(true | claims))
        self.events += frame.encode_seal(seal, seq=self.seq, wall_ns=1, mono_ns=1, seed=self.header.seed)


EVENT, _ = encode(text(0), 0)
END = frame.CRITICAL | frame.BATCH_END


def forged(*steps: Callable[[Forger], None]) -> Packed:
    forger = Forger()
    for step in steps:
        step(forger)
    return forger.life


def event(**said: int) -> Callable[[Forger], None]:
    return lambda forger: forger.add(EVENT, **({"flags": END} | said))


def speech(**said: int) -> Callable[[Forger], None]:
    return lambda forger: forger.speak(**said)


def seal(**claims: int) -> Callable[[Forger], None]:
    return lambda forger: forger.seal(**claims)


FORGED = {
    "does not begin at 0": (event(seq=1),),
    "a gap": (event(), event(seq=2)),
    "a number twice": (event(), event(seq=0)),
    "a batch without an end": (event(), event(flags=frame.CRITICAL)),
    "flags of another format": (event(flags=END | 16),),
    "says it has a payload": (event(flags=END | frame.HAS_BLOB),),
    "frames of another file": (event(seed=1),),
    "events behind the seal": (event(), seal(), event()),
    "two seals": (event(), seal(), seal()),
    "a seal within a batch": (event(flags=frame.CRITICAL), seal()),
    "a seal with flags": (event(), lambda forger: forger.add(EVENT, flags=frame.SEAL | frame.BATCH_END)),
    "a seal of more events": (event(), seal(events=2)),
    "a seal of other bytes": (event(), seal(events_bytes=300)),
    "a seal of more audio": (event(), seal(audio_bytes=300)),
    "not an event": (lambda forger: forger.add(b"\x95\x01\x02\x03\x04\x05", flags=END),),
    "not msgpack": (lambda forger: forger.add(b"\xc1", flags=END),),
    "a payload in another": (speech(), speech(offset=blob_file.START)),
    "a payload further on": (speech(), speech(offset=blob_file.START + 9)),
    "a payload in the header": (speech(offset=0),),
    "a payload at the end of the world": (speech(offset=2**64 - 1),),
    "a payload before the file": (speech(offset=-8),),
    "a payload of no size": (speech(length=-1),),
    "a payload of any size": (speech(length=MAX_BLOB + 1),),
    "a huge payload": (speech(length=2**63),),
    "payloads out of order": (speech(offset=blob_file.START + 8), speech(offset=blob_file.START)),
}


@pytest.mark.parametrize("steps", FORGED.values(), ids=FORGED)
def test_a_forged_life_is_refused(log: Log, steps: tuple[Callable[[Forger], None], ...]) -> None:
    refused(log, forged(*steps))


def test_what_the_forger_makes_is_right_but_for_its_lies(log: Log) -> None:
    unpack(log, forged(event(), speech(), speech(), event(), seal()))
    assert log.head(S).sealed


def test_a_claimed_length_is_not_believed(log: Log, sealed: Packed) -> None:
    events, blobs = sealed
    for length in (0, (1 << 20) + 1, (1 << 32) - 1):
        at = frame.HEADER_SIZE + 4
        refused(log, (events[:at] + length.to_bytes(4, "little") + events[at + 4 :], blobs))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "/etc", "a b", "ä", "a\0b", "a\n", "con:"])
def test_a_session_id_that_is_none_is_refused(log: Log, tmp_path: Path, name: str) -> None:
    header = frame.FileHeader(SessionId(name), 0, 1, bytes(16))
    with pytest.raises(NotALog):
        unpack(log, (frame.encode_header(header), blob_file.encode_header(header)))
    assert list(log.sessions()) == []


def test_a_number_that_leaves_none_behind_it_is_refused(log: Log) -> None:
    header = frame.FileHeader(S, (1 << 32) - 1, 1, bytes(16))
    refused(log, (frame.encode_header(header), blob_file.encode_header(header)))


def test_the_audio_of_another_log_is_refused(log: Log, sealed: Packed) -> None:
    other = MemoryLog()
    write(other, SPOKEN, seal=True)
    refused(log, (sealed[0], pack(other)[1]))
    other.erase(S, Scope.AUDIO)
    refused(log, (sealed[0], pack(other)[1]))


def test_a_tombstone_that_is_not_whole_is_refused(log: Log) -> None:
    first = MemoryLog()
    write(first, SPOKEN, seal=True)
    first.erase(S, Scope.AUDIO)
    events, stone = pack(first)
    for at in range(len(stone)):
        refused(log, (events, stone[:at]))
        refused(log, (events, stone[:at] + bytes([stone[at] ^ 1]) + stone[at + 1 :]))
    refused(log, (events, stone + b"\0"))
    unpack(log, (events, stone))


# --- files


def incoming(root: Path) -> list[Path]:
    folder = root / "incoming"
    return list(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_import_that_the_disk_refuses_leaves_nothing(tmp_path: Path, sealed: Packed, code: int) -> None:
    for calls in range(6):
        left = calls

        def fail(left_calls: Callable[[], int] = lambda: left) -> None:
            nonlocal left
            left -= 1
            if left_calls() < 0:
                raise OSError(code, os.strerror(code))

        def write(fd: int, data: bytes | memoryview) -> int:
            fail()
            return os.write(fd, data)

        def sync(fd: int) -> None:
            fail()
            os.fdatasync(fd)

        log = inline(tmp_path, Files(write=write, sync=sync))
        try:
            unpack(log, sealed)
        except (StoreFull, OSError):
            with pytest.raises(NoSuchSession):
                log.lives(S)
            assert incoming(tmp_path) == []
        else:
            assert calls == 5
    assert pack(inline(tmp_path)) == sealed


def test_what_a_crash_left_of_an_import_goes_with_the_next_opening_and_no_other(tmp_path: Path) -> None:
    with Layout(tmp_path).incoming() as folder:
        left = tmp_path / "incoming" / "left"
        left.mkdir()
        (left / "audio.blob").write_bytes(b"half of it")
        inline(tmp_path)
        assert incoming(tmp_path) == [Path(folder)]
    assert incoming(tmp_path) == []


def test_an_imported_life_stands_in_place_of_one_that_was_never_begun(tmp_path: Path, sealed: Packed) -> None:
    def full(fd: int, data: bytes | memoryview) -> int:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(StoreFull):
        inline(tmp_path, Files(write=full)).open(S, expect=Expect.NEW, owner="the test")
    log: SegmentLog = inline(tmp_path)
    unpack(log, sealed)
    assert pack(log) == sealed
    (events,) = tmp_path.glob("sessions/*/s/0/events.log")
    assert events.stat().st_mode & 0o777 == 0o400
