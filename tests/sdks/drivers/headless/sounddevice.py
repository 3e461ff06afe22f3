"""A stand-in for the package of this name: a microphone and a loudspeaker that are files.

A stub, and no more than `moshi.client` asks for. Both streams call back every `blocksize` samples, as fast as
they are heard. When FRAMES blocks with sound in them have been played, the program is interrupted as by ^C.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Callback = Callable[[np.ndarray, int, Any, Any], None]


class _Stream:
    def __init__(self, samplerate: float, channels: int, blocksize: int, callback: Callback) -> None:
        self._every_s, self._shape, self._callback = blocksize / samplerate, (blocksize, channels), callback
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Stream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        for n in range(1_000_000):
            if self._over.wait(max(began + n * self._every_s - time.monotonic(), 0)):
                return
            self._block()

    def _block(self) -> None:
        raise NotImplementedError


class InputStream(_Stream):
    """Of the file MICROPHONE (float32), and then of silence."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._left = np.fromfile(os.environ["MICROPHONE"], "<f4")

    def _block(self) -> None:
        block = np.zeros(self._shape, np.float32)
        taken, self._left = self._left[: len(block)], self._left[len(block) :]
        block[: len(taken), 0] = taken
        self._callback(block, len(block), None, None)


class OutputStream(_Stream):
    """Into the file LOUDSPEAKER (float32)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._path = Path(os.environ["LOUDSPEAKER"])
        self._wanted = int(os.environ["FRAMES"])

    def _block(self) -> None:
        block = np.zeros(self._shape, np.float32)
        self._callback(block, len(block), None, None)
        with self._path.open("ab") as file:
            file.write(block.astype("<f4").tobytes())
        self._wanted -= bool(np.abs(block).max() > 0.01)
        if self._wanted == 0:
            os.kill(os.getpid(), signal.SIGINT)
