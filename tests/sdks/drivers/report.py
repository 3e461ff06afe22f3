"""What the drivers share: the question they ask, and how they say what became of it.

Drivers run in the environments of their SDKs, where nothing of ours is installed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

RATE = 24_000
FRAME_MS = 40
FASTER = 4
TELEPHONE = "TELEPHONE" in os.environ
"""Whether the question is mu-law at 8 kHz, and the answer is to be."""
BYTES_PER_MS, SILENCE = (8, b"\xff") if TELEPHONE else (RATE // 1000 * 2, b"\0")


class Report:
    """Noted as it happens; printed as one line of JSON at the end."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.noted: dict[str, Any] = {}

    def error(self, what: object) -> None:
        self.errors.append(str(what))

    def note(self, **members: Any) -> None:
        self.noted.update(members)

    def print(self) -> None:
        sys.stdout.write(json.dumps({"errors": self.errors, **self.noted}) + "\n")


class Complaints(logging.Handler):
    """Whatever the SDK itself thinks is wrong: its warnings and errors, but for those that are `known`."""

    def __init__(self, report: Report, known: tuple[str, ...] = ()) -> None:
        super().__init__(logging.WARNING)
        self._report, self._known = report, known

    def emit(self, record: logging.LogRecord) -> None:
        told = record.getMessage()
        if not any(part in told for part in self._known):
            self._report.error(f"{record.name}: {told} {record.exc_info or ''}")


def arguments() -> tuple[str, bytes]:
    """The server's address and the question with the silence that ends it, mono, pcm16 at 24 kHz."""
    return sys.argv[1], Path(sys.argv[2]).read_bytes()


async def spoken(pcm: bytes) -> AsyncIterator[bytes]:
    """Pieces as a microphone brings them, only faster. Not all at once: what is said while somebody speaks would
    be over before it is noticed that it began."""
    size = FRAME_MS * BYTES_PER_MS
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size].ljust(size, SILENCE)
        await asyncio.sleep(FRAME_MS / 1000 / FASTER)
