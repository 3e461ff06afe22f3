"""What can be had of a damaged life, and what becomes of its files."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.events.envelope import Draft
from antiphon.events.errors import Corrupt, Erased, Locked, NotALog, Sealed
from antiphon.events.ids import Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.files import Files
from antiphon.events.segments.layout import Layout, Life
from antiphon.events.segments.log import SegmentLog
from antiphon.events.segments.salvage import behind, examine, repair, rescue
from antiphon.events.store import Expect, Scope
from antiphon.events.verify import verify
from tests.events.drafts import as_stored, audio, opened, text
from tests.events.stores import inline

S = SessionId("s")
BATCHES: list[list[Draft]] = [
    [opened(1)],
    [text(1), audio(2), text(3)],
    [audio(4)],
    [text(5)],
    [audio(6, 30), audio(7, 20), text(8)],
    [audio(9, 40), text(10)],
]
DRAFTS = [draft for batch in BATCHES for draft in batch]
FIRSTS = [sum(len(batch) for batch in BATCHES[:n]) for n in range(len(BATCHES) + 1)]


class Patient:
    """A life that is damaged and salvaged; `ends` are the sizes of its files after each batch."""

    def __init__(self, root: Path, *, sealed: bool = True) -> None:
        self.root, self.log = root, inline(root)
        lease, _ = self.log.open(S, expect=Expect.NEW, owner="the test")
        self.life: Life = Layout(root).find(S, 0)
        self.ends = [self.sizes()]
        for first, batch in zip(FIRSTS, BATCHES, strict=False):
            self.log.append(lease, Seq(first), batch).result()
            self.ends.append(self.sizes())
        self.log.seal(lease, "the end") if sealed else self.log.release(lease)
        self.whole = self.bytes_()

    def sizes(self) -> tuple[int, int]:
        return os.stat(self.life.events).st_size, os.stat(self.life.audio).st_size

    def bytes_(self) -> tuple[bytes, bytes]:
        return Path(self.life.events).read_bytes(), Path(self.life.audio).read_bytes()

    def put(self, events: bytes | None = None, blobs: bytes | None = None) -> None:
        """Write these bytes, as a disk that damages them would: the file's mode stays."""
        for path, data in ((self.life.events, events), (self.life.audio, blobs)):
            if data is not None:
                mode = os.stat(path).st_mode if os.path.exists(path) else 0o600
                Path(path).unlink(missing_ok=True)
                Path(path).write_bytes(data)
                os.chmod(path, mode)

    def flip(self, which: int, at: int) -> None:
        data = self.whole[which]
        changed = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        self.put(changed, self.whole[1]) if which == 0 else self.put(self.whole[0], changed)

    def kept(self, events: int, blobs: int) -> int:
        """How many events lie in whole batches before these places."""
        return max(FIRSTS[n] for n, (e, a) in enumerate(self.ends) if e <= events and a <= blobs)

    def assert_good(self, kept: int, *, erased: bool = False) -> None:
        """The life is a sealed log of so many events, here and elsewhere."""
        head = self.log.head(S)
        assert (head.next_seq, head.sealed, head.erased) == (kept, True, erased)
        assert verify(self.log, S).sound
        assert_first(self.log, kept, erased=erased)
        elsewhere = MemoryLog()
        with self.log.export(S) as life:
            elsewhere.import_(life)
        assert_first(elsewhere, kept, erased=erased)
        with pytest.raises(Sealed):
            self.log.open(S, expect=Expect.RESUME, owner="the test")


def assert_first(log: SegmentLog | MemoryLog, kept: int, *, erased: bool = False) -> None:
    found = list(log.read(S))
    assert len(found) == kept
    for draft, stored in zip(DRAFTS, found, strict=False):
        assert as_stored(draft, stored)
        if stored.blob is None:
            continue
        if erased:
            with pytest.raises(Erased):
                log.read_blob(S, stored.blob)
        else:
            assert log.read_blob(S, stored.blob) == draft.blob


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path / "store")


def test_a_frame_damaged_anywhere_costs_its_batch_and_what_follows(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "store")
    for at in range(patient.ends[0][0], len(patient.whole[0]), 7):
        patient.flip(0, at)
        damaged = patient.bytes_()
        kept = patient.kept(at, len(damaged[1]))
        late = [stored.seq for stored in behind(patient.life)]
        damage = repair(Layout(patient.root), patient.life)
        assert damage is not None
        assert (damage.kept, damage.behind) == (kept, len(late))
        lost = [seq for seq in range(kept, len(DRAFTS)) if seq not in late]
        assert len(lost) == (at < patient.ends[-1][0])  # the damaged event itself, unless it is the seal
        patient.assert_good(kept)
        (aside,) = patient.life.damaged()
        assert tuple((Path(aside) / name).read_bytes() for name in ("events.log", "audio.blob")) == damaged
        shutil.rmtree(aside)


@pytest.mark.parametrize("sealed", [True, False])
def test_a_payload_damaged_anywhere_costs_its_batch_and_what_follows(tmp_path: Path, sealed: bool) -> None:
    patient = Patient(tmp_path / "store", sealed=sealed)
    for at in range(patient.ends[0][1], patient.ends[-2][1], 5):
        patient.flip(1, at)
        kept = patient.kept(len(patient.whole[0]), at)
        damage = repair(Layout(patient.root), patient.life)
        assert damage is not None
        assert damage.kept == kept
        assert damage.behind == len(DRAFTS) - kept  # the events are as sound as they were
        patient.assert_good(kept)
        shutil.rmtree(patient.life.damaged()[0])


def test_a_damaged_header_is_made_anew(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "store")
    for at in range(0, patient.ends[0][0], 3):
        patient.flip(0, at)
        damage = repair(Layout(patient.root), patient.life)
        assert damage is not None
        assert isinstance(damage.what, NotALog)
        patient.assert_good(len(DRAFTS))


def test_the_header_of_the_blob_file_is_made_anew(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "store")
    for at in range(patient.ends[0][1]):
        patient.flip(1, at)
        assert repair(Layout(patient.root), patient.life) is not None
        patient.assert_good(len(DRAFTS))


def _gone(patient: Patient, tmp_path: Path) -> None:
    os.unlink(patient.life.audio)


def _another(patient: Patient, tmp_path: Path) -> None:
    other = Patient(tmp_path / "other")
    other.log.erase(S, Scope.AUDIO)
    patient.put(blobs=other.whole[1][:24] + bytes(500))


@pytest.mark.parametrize("lose", [_gone, _another])
def test_without_its_blob_file_a_log_keeps_its_events(
    patient: Patient, tmp_path: Path, lose: Callable[[Patient, Path], None]
) -> None:
    lose(patient, tmp_path)
    damage = repair(Layout(patient.root), patient.life)
    assert damage is not None
    assert (damage.kept, damage.behind) == (len(DRAFTS), 0)
    patient.assert_good(len(DRAFTS), erased=True)


def test_an_erased_life_is_salvaged_as_one(patient: Patient) -> None:
    patient.log.erase(S, Scope.AUDIO)
    patient.whole = patient.bytes_()
    patient.flip(0, patient.ends[3][0] + 40)
    assert repair(Layout(patient.root), patient.life) is not None
    patient.assert_good(FIRSTS[3], erased=True)
    assert patient.bytes_()[1] == patient.whole[1]


def test_a_lost_seal_is_put_there_again(patient: Patient) -> None:
    patient.put(patient.whole[0][: patient.ends[-1][0]])
    damage = repair(Layout(patient.root), patient.life)
    assert damage is not None
    assert (damage.kept, damage.behind) == (len(DRAFTS), 0)
    patient.assert_good(len(DRAFTS))


@pytest.mark.parametrize("torn", [0, 1, 30, 100])
def test_what_is_not_damaged_is_left_alone(tmp_path: Path, torn: int) -> None:
    patient = Patient(tmp_path / "store", sealed=False)
    events, blobs = patient.whole
    patient.put(events[: len(events) - torn], blobs + bytes(torn))
    before = patient.bytes_()
    assert examine(patient.life) is None
    assert repair(Layout(patient.root), patient.life) is None
    assert patient.bytes_() == before
    assert patient.life.damaged() == []


def test_what_is_rescued_leaves_the_life_as_it_is(patient: Patient) -> None:
    patient.flip(0, patient.ends[4][0] + 30)
    before, log = patient.bytes_(), MemoryLog()
    with rescue(Layout(patient.root), patient.life) as life:
        head = log.import_(life)
    assert (head.next_seq, head.sealed) == (FIRSTS[4], True)
    assert_first(log, FIRSTS[4])
    assert patient.bytes_() == before
    assert list((patient.root / "incoming").iterdir()) == []


def test_each_salvage_keeps_what_it_found_until_the_life_is_erased(patient: Patient) -> None:
    for batch in (4, 2):
        patient.whole = patient.bytes_()
        patient.flip(0, patient.ends[batch][0] + 30)
        repair(Layout(patient.root), patient.life)
    assert sorted(map(os.path.basename, patient.life.damaged())) == ["damaged-1", "damaged-2"]
    (holding,) = patient.log.holdings()
    assert holding.audio_bytes > 2 * patient.ends[4][1]
    patient.log.erase(S, Scope.AUDIO)
    assert len(list(patient.root.rglob("audio.blob"))) == 1
    assert len(list(patient.root.rglob("events.log"))) == 3
    patient.log.erase(S, Scope.ALL)
    assert list(patient.root.rglob("*.log")) == []


def test_a_life_that_is_written_is_not_salvaged(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "store", sealed=False)
    patient.log.open(S, expect=Expect.RESUME, owner="the test")
    with pytest.raises(Locked):
        repair(Layout(patient.root), patient.life)


def test_nothing_is_made_of_what_is_not_recognised(patient: Patient) -> None:
    patient.put(bytes(5000))
    before = patient.bytes_()
    for ask in (examine, lambda life: repair(Layout(patient.root), life), lambda life: [*behind(life)]):
        with pytest.raises(NotALog):
            ask(patient.life)
    assert patient.bytes_() == before


class Stopped(BaseException):
    """The process ends here."""


def test_a_salvage_cut_short_anywhere_leaves_the_damaged_life_or_the_salvaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut, calls = True, 0
    while cut:
        patient = Patient(tmp_path / str(calls))
        patient.flip(0, patient.ends[3][0] + 30)
        damaged, left = patient.bytes_(), calls

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def run(*args: object, **named: object) -> object:
                nonlocal left
                if left == 0:
                    raise Stopped
                left -= 1
                return call(*args, **named)

            return run

        with monkeypatch.context() as patch:
            for name in ("write", "fdatasync", "fsync", "link", "replace", "chmod", "mkdir"):
                patch.setattr(os, name, counted(getattr(os, name)))
            try:
                repair(Layout(patient.root), patient.life, Files(write=os.write, sync=os.fdatasync))
                cut = False
            except Stopped:
                calls += 1
        if cut and patient.bytes_()[0] == damaged[0]:
            assert examine(patient.life) is not None
            repair(Layout(patient.root), patient.life)
        patient.assert_good(FIRSTS[3])
        kept = [path for aside in patient.life.damaged() for path in Path(aside).glob("events.log")]
        assert damaged[0] in [path.read_bytes() for path in kept]
    assert calls > 8


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), wounds=st.integers(1, 4), sealed=st.booleans())
def test_whatever_was_damaged_a_salvaged_log_says_only_what_was_said(
    tmp_path_factory: pytest.TempPathFactory, seed: int, wounds: int, sealed: bool
) -> None:
    patient, rng = Patient(tmp_path_factory.mktemp("store"), sealed=sealed), random.Random(seed)
    streams = [bytearray(stream) for stream in patient.whole]
    for _ in range(wounds):
        stream = rng.choice(streams)
        at = rng.randrange(len(stream))
        stream[at : at + rng.randrange(1, 60)] = rng.randbytes(rng.randrange(60))
    patient.put(*map(bytes, streams))
    try:
        damage = repair(Layout(patient.root), patient.life)
    except NotALog:
        return
    if damage is None:
        _, head = patient.log.open(S, expect=Expect.RESUME, owner="the test")  # cuts a torn end off
        assert_first(patient.log, head.next_seq)
    else:
        patient.assert_good(damage.kept, erased=patient.log.head(S).erased)


def test_the_damage_is_named_as_opening_names_it(patient: Patient) -> None:
    patient.flip(0, patient.ends[2][0] + 30)
    damage = examine(patient.life)
    assert damage is not None
    assert isinstance(damage.what, Corrupt)
    assert (damage.what.offset, damage.what.seq) == (patient.ends[2][0], FIRSTS[2] - 1)
