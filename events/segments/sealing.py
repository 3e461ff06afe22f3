"""The end of a life: its seal, written in its turn behind everything else, and what follows from it.

The seal is not synced. It is as safe as every other Ack of level `process`: it survives whatever becomes of
the process, and a power cut within the kernel's write-back time (about 30 s) may take it, as it may take the
events before it. A sync would make every other session wait for the disk at the end of each. The file is made
read-only all the same, so that a life whose seal is damaged or was lost cannot be resumed (opening.py); what
it holds stays readable, and erasing or salvaging it puts a seal there again.
"""

from __future__ import annotations

import os

from .. import diagnostics
from ..errors import LogError
from . import derived
from .batch import Batch
from .erasing import erase_audio
from .files import Files
from .layout import Life
from .writer import Writer


class Sealing:
    """Takes a writer's place in the lane for its last write, and gives the lock up with it."""

    def __init__(self, writer: Writer, life: Life, files: Files, *, keep_audio: bool) -> None:
        self._writer, self._life, self._files, self._keep_audio = writer, life, files, keep_audio

    def write(self, batch: Batch) -> LogError | None:
        error = self._writer.write(batch)
        if error is None:
            try:
                os.chmod(self._life.events, 0o400)
                derived.forget(self._life)
                if not self._keep_audio:
                    erase_audio(self._life, self._files)
            except OSError as problem:  # the seal stands; who asks what is held will see the rest
                diagnostics.warning("segments.not_tidied", session=self._life.session, error=str(problem))
            self._writer.unlock()
        return error

    def settle(self, batch: Batch, error: LogError | None) -> None:
        self._writer.settle(batch, error)
