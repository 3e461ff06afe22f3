"""What can be had of a damaged life: an explicit command, never done by opening or reading.

The sound prefix (whole batches, with their payloads) becomes a good log again, sealed. Sound events behind
the damage cannot be part of it, because nobody knows what came before them; they can be listed. In place, the
damaged files are moved aside into a folder `damaged-<n>` of the life's directory, and stay there until the
life is erased.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator

from msgspec import Struct

from ..container import Container, Unpacking
from ..envelope import Stored
from ..errors import Corrupt, NotALog
from . import derived
from .files import Files, full_disk
from .frame import Seal, encode_header, encode_seal
from .layout import Layout, Life, sync_directory
from .lock import locked
from .opening import is_sealed
from .portable import Spool, export_life
from .remains import Remains


class Damage(Struct, frozen=True):
    """What is wrong with a life. `what` is the first thing found that is not as it was written.

    `kept`: how many events a salvaged log has. `behind`: how many more are sound and would not be in it.
    """

    what: Corrupt | NotALog
    kept: int
    behind: int


def examine(life: Life) -> Damage | None:
    """None when every byte is as it was written. A torn end is no damage: opening the log cuts it off.

    Raises NotALog when nothing in the file is recognised, or it is of a newer format.
    """
    try:
        is_sealed(life)
        with export_life(life) as whole:
            for _ in Unpacking(whole):
                pass
    except (Corrupt, NotALog) as error:
        remains = Remains(life)
        for _ in remains.batches():
            pass
        return Damage(error, remains.next_seq, sum(1 for _ in remains.behind()))
    return None


def behind(life: Life) -> Iterator[Stored]:
    """The sound events that a salvaged log lacks, as they lie in the file. Their payloads may be damaged."""
    remains = Remains(life)
    for _ in remains.batches():
        pass
    return remains.behind()


def rescue(layout: Layout, life: Life, files: Files = Files()) -> Container:
    """The sound prefix as a good container; the life itself stays as it is. Raises as `repair`."""
    with full_disk(f"salvaging session {life.session}"), layout.incoming() as folder:
        return _written(life, folder, files)  # what is open stays readable when the folder is gone


def repair(layout: Layout, life: Life, files: Files = Files()) -> Damage | None:
    """Put the sound prefix in the life's place, and the damaged files aside. None if nothing is damaged.

    Raises Locked, StoreFull; NotALog when there is nothing to salvage. A crash in between leaves the damaged
    life or the salvaged one.
    """
    with full_disk(f"salvaging session {life.session}"), locked(life):
        damage = examine(life)
        if damage is None:
            return None
        with layout.incoming() as folder:
            with _written(life, folder, files) as good:
                for _ in Unpacking(good):
                    pass  # nothing that would be refused elsewhere takes a place here
            _keep_damaged(life)
            os.replace(f"{folder}/audio.blob", life.audio)
            os.chmod(f"{folder}/events.log", 0o400)
            os.replace(f"{folder}/events.log", life.events)
            derived.forget(life)
            sync_directory(life.directory)
    return damage


def _written(life: Life, folder: str, files: Files) -> Container:
    """The sound prefix as two files of that folder, with a seal if it has none."""
    remains, sealed = Remains(life), False
    header = remains.header
    with Spool(f"{folder}/events.log", files) as events, Spool(f"{folder}/audio.blob", files) as blobs:
        events.add(encode_header(header))
        blobs.add(remains.audio_start)
        for batch in remains.batches():
            for entry in batch:
                events.add(entry.frame)
                blobs.add(entry.payload)
                sealed = entry.stored is None
        if not sealed:
            seal = Seal("salvaged", remains.next_seq, remains.events_end, remains.audio_end)
            now, mono = time.time_ns(), time.monotonic_ns()
            events.add(encode_seal(seal, seq=remains.next_seq, wall_ns=now, mono_ns=mono, seed=header.seed))
        events.sync()
        blobs.sync()
    streams = [io.FileIO(f"{folder}/{name}") for name in ("events.log", "audio.blob")]
    return Container(*map(io.BufferedReader, streams), name=f"{life.session}/{life.incarnation}")


def _keep_damaged(life: Life) -> None:
    """A second name for the files as they are: the life itself is never without them."""
    folder = f"{life.directory}/damaged-{len(life.damaged()) + 1}"
    os.mkdir(folder, 0o700)
    for path in (life.events, life.audio):
        if os.path.exists(path):
            os.link(path, f"{folder}/{os.path.basename(path)}")
    sync_directory(folder)
    sync_directory(life.directory)
