"""`antiphon log export --as half-duplex`: a call as the folder that the MiniCPM-o demo's tools read."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .progress import Looking
from .store import fail

if TYPE_CHECKING:
    from antiphon.events.segments.log import SegmentLog


def write_folder(
    store: SegmentLog, session: str, life: int | None, to: Path | None, *, as_json: bool
) -> None:
    """Raises LogError, RecordingError."""
    import msgspec

    from antiphon.events.ids import SessionId
    from antiphon.replay.half_duplex.folder import Folder

    folder = Folder(store, SessionId(session), incarnation=life)
    target = to or Path(session + ("" if life is None else f"-{life}"))
    with new_folder(target) as made, Looking(len(folder.names), quiet=as_json) as looking:
        for name in folder.names:
            looking.begin(name, 1)
            path = made / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(folder.file(name) or b"")
    turns = len(folder.call.turns)
    if as_json:
        shown = {"folder": str(target), "session": session, "turns": turns, "files": folder.names}
        click.echo(msgspec.json.encode(shown).decode())
    else:
        silent = "" if folder.has_sound else ", audio erased"
        click.echo(f"{target}: written: {session}, {turns} turns, {len(folder.names)} files{silent}")


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder that appears under its name when it is whole, and not at all otherwise. Its owner's alone."""
    if target.exists():
        fail(f"{target} exists; name another folder with --to")
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        fail(f"{target} cannot be written: {error.strerror}")
    try:
        yield made
        os.rename(made, target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
