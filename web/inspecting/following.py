"""A session as a stream of JSON lines: first what there is of it, then what comes, until it is over.

Each line says what is new since the one before: marks (replay/inspect/marks.py), the seqs of events that are
not one of many a second, and spans, which are said again when they change. The last line says `over`; where
the log is damaged it says `damage`, too. An empty line comes when there has been nothing for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from .desk import Inspection

SILENT_S = 15.0


def chunk(inspection: Inspection, since: int) -> dict[str, Any]:
    """What events from seq `since` on have changed."""
    life = inspection.life
    return {
        "next_seq": life.next_seq,
        "until_ms": life.until_ms,
        "caught_up": inspection.caught_up or inspection.over,
        "over": inspection.over,
        "damage": inspection.damage,
        "notable": life.notable_after(since),
        "marks": life.marks_after(since),
        "spans": life.spans(since),
    }


async def lines(inspection: Inspection, since: int) -> AsyncIterator[bytes]:
    """What events from seq `since` on say; of those before it nothing, though they have yet to be read."""
    await inspection.reach(since - 1)
    while True:
        over, coming = inspection.over, inspection.coming
        said = chunk(inspection, since)
        since = max(since, inspection.life.next_seq)
        yield msgspec.json.encode(said) + b"\n"
        if over:
            return
        while not coming.is_set():
            try:
                await asyncio.wait_for(coming.wait(), SILENT_S)
            except TimeoutError:
                yield b"\n"
