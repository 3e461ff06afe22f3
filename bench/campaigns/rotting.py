"""Rot: one bit anywhere in the files of a log, sealed or not, is not what was written."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from antiphon.events.errors import LogError, Sealed
from antiphon.events.segments.layout import Layout
from antiphon.events.segments.salvage import repair
from antiphon.events.store import Expect, Log
from antiphon.events.verify import verify

from .outcome import Tally, Violation
from .stores import handle
from .victim import VICTIM, Victim, flipped

FULL, SHORT = 10_000, 2_000
FLIPS_A_LIFE = 500
FILES = ("events.log", "audio.blob")

SALVAGED_EACH = 7

NAMED = "named"
CUT = "in the last batch of an open log: taken for unfinished"


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """Half of the bits in the events, half in the payloads. Raises Violation."""
    while tally.tried < count:
        life = tally.tried // FLIPS_A_LIFE
        rng = random.Random(f"{seed}/rot/{life}")
        victim = Victim(folder / f"life-{life}", rng, sealed=life % 2 == 0)
        for _ in range(min(FLIPS_A_LIFE, count - tally.tried)):
            file = rng.randrange(2)
            at, bit = rng.randrange(len(victim.whole[file])), rng.randrange(8)
            tally.next(f"life {life}, bit {bit} of byte {at} of {FILES[file]}")
            damaged = list(victim.whole)
            damaged[file] = flipped(damaged[file], at, bit)
            victim.put(*damaged)
            torn = _may_be_torn(victim, file, at)
            tally.found[_found(victim, damaged, torn=torn)] += 1
            if not torn and tally.tried % SALVAGED_EACH == 0:
                tally.found["salvaged"] += 1
                _salvage(victim, damaged, file, at)
            victim.check_neighbours()


def _may_be_torn(victim: Victim, file: int, at: int) -> bool:
    """Only there damage cannot be told from a write that was not finished."""
    return not victim.sealed and at >= victim.ends[-2][file]


def _found(victim: Victim, damaged: list[bytes], *, torn: bool) -> str:
    """How the damage came to light. Raises Violation if it did not."""
    with handle(victim.root) as reader:
        sound = verify(reader, VICTIM).sound
        shown = _shown(victim, reader)
    refused = _is_refused(victim, damaged)
    if not sound or refused:
        return NAMED
    if not torn or shown is None:
        raise Violation("undetected", f"verified as sound and opened, {shown} events shown")
    if shown != victim.firsts[-2]:
        raise Violation("lost", f"{shown} events shown, {victim.firsts[-2]} are whole")
    return CUT


def _shown(victim: Victim, reader: Log) -> int | None:
    """How many events, each of them what was written; None if reading ends with an error."""
    try:
        return victim.look(reader)
    except LogError:
        return None


def _is_refused(victim: Victim, damaged: list[bytes]) -> bool:
    """Does a new writer learn of it? The files stay as they are, or end before the last batch."""
    with handle(victim.root) as writer:
        try:
            lease, head = writer.open(VICTIM, expect=Expect.RESUME, owner="the campaign")
        except LogError as error:
            if list(victim.contents()) != damaged:
                raise Violation("lost", "refused, and yet the files have changed") from error
            return not isinstance(error, Sealed)
        writer.release(lease)
        if head.next_seq < victim.firsts[-2]:
            raise Violation("lost", f"opened, and cut back to {head.next_seq} events")
        return False


def _salvage(victim: Victim, damaged: list[bytes], file: int, at: int) -> None:
    """What precedes the damage becomes a sound log again, and what was damaged is kept."""
    layout, aside = Layout(victim.root), victim.events.parent / "damaged-1"
    damage = repair(layout, layout.life(VICTIM, 0))
    if damage is None or [(aside / name).read_bytes() for name in FILES] != damaged:
        raise Violation("lost", "salvaged, and what was damaged is not kept as it was")
    shutil.rmtree(aside)
    sound = victim.firsts[max(0, sum(ends[file] <= at for ends in victim.ends) - 1)]
    with handle(victim.root) as reader:
        shown = victim.look(reader)
        if shown < sound or shown != damage.kept:
            raise Violation("lost", f"salvaged: {shown} events, {damage.kept} announced, {sound} are sound")
        if not verify(reader, VICTIM).sound:
            raise Violation("undetected", "salvaged, and it does not verify")
