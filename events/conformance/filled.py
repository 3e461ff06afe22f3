"""A session with some batches in it whose every byte is known, to be damaged and looked at again."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from ..envelope import Draft
from ..store import Expect, Log
from . import needs
from .drafts import as_stored, audio, opened, text
from .under_test import StoreUnderTest, fresh_session

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
"""Of each batch, the seq of its first event; and the next seq after all."""


class Filled:
    """BATCHES in a session of their own, which nobody holds open. Needs StoreUnderTest.files."""

    def __init__(self, store: StoreUnderTest) -> None:
        self.session = fresh_session()
        self.paths: list[Path] = []
        self.ends: list[tuple[int, ...]] = []
        """The sizes of the files before the first batch and after each."""
        lease, _ = store.open(self.session)
        self._note_ends(store)
        for first, batch in zip(FIRSTS, BATCHES, strict=False):
            store.append(lease, first, batch)
            self._note_ends(store)
        store.log.release(lease)
        self.whole = self.contents()

    def contents(self) -> list[bytes]:
        return [path.read_bytes() for path in self.paths]

    def put(self, contents: Sequence[bytes]) -> None:
        """Let the disk hold this instead."""
        for path, content in zip(self.paths, contents, strict=True):
            mode = stat.S_IMODE(path.stat().st_mode)
            os.chmod(path, mode | stat.S_IWUSR)
            path.write_bytes(content)
            os.chmod(path, mode)

    def put_one(self, file: int, content: bytes) -> None:
        """Let one file hold this, and the others what was written."""
        self.put([content if n == file else whole for n, whole in enumerate(self.whole)])

    def whole_batches(self, sizes: Sequence[int]) -> int:
        """How many batches lie wholly within files cut to these sizes."""
        within = [
            n for n, ends in enumerate(self.ends) if all(e <= s for e, s in zip(ends, sizes, strict=True))
        ]
        return within[-1]

    def is_whole(self, contents: Sequence[bytes], batches: int) -> bool:
        """Do these files begin with all bytes of so many batches?"""
        parts = zip(contents, self.whole, self.ends[batches], strict=True)
        return all(content.startswith(whole[:end]) for content, whole, end in parts)

    def check(self, log: Log) -> int:
        """How many events there are; each must be what was written, with its blob. Raises LogError."""
        count = 0
        for draft, stored in zip(DRAFTS, log.read(self.session), strict=False):
            assert stored.seq == count, "a gap or a repetition"
            assert as_stored(draft, stored), f"seq {count} is not what was written"
            if stored.blob is not None:
                assert log.read_blob(self.session, stored.blob) == draft.blob, f"the blob of seq {count}"
            count += 1
        return count

    def assert_ends_after(self, store: StoreUnderTest, batches: int) -> None:
        """Exactly so many batches are read as they lie there, found when opening, and can be built on."""
        expected = FIRSTS[batches]
        with needs.beside(store) as reader:
            assert self.check(reader.log) == expected
            assert reader.log.head(self.session).next_seq == expected
        with needs.beside(store) as writer:
            lease, head = writer.open(self.session, Expect.RESUME)
            assert head.next_seq == expected
            rest = DRAFTS[expected:] or [text(len(DRAFTS))]
            writer.append(lease, expected, rest)
            assert writer.seqs(self.session) == list(range(expected + len(rest)))
            assert self.check(writer.log) == len(DRAFTS)
            writer.log.release(lease)

    def _note_ends(self, store: StoreUnderTest) -> None:
        self.paths = needs.files(store, self.session)
        self.ends.append(tuple(path.stat().st_size for path in self.paths))
