"""`antiphon log show`: one session, event by event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import lines
from .store import DATA, JSON, LIFE, SESSION, open_store, told
from .travel import whole_file

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.ids import SessionId
    from antiphon.events.segments.log import SegmentLog


@click.command("show")
@SESSION
@DATA
@JSON
@LIFE
@click.option(
    "--images",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write the images that were shown into this folder, by the number of their event.",
)
@click.option("--all", "everything", is_flag=True, help="Also the events that come many times a second.")
def show(
    session: str, data: Path, as_json: bool, life: int | None, everything: bool, images: Path | None
) -> None:
    """Show a session's events. Exit code 3 when the log is damaged, after what precedes the damage."""
    from antiphon.events.ids import SessionId
    from antiphon.replay.lines import as_json as json_line
    from antiphon.replay.timeline import Elapsed

    store = open_store(data)
    elapsed, hidden = Elapsed(), 0
    with told():
        for stored in store.read(SessionId(session), incarnation=life):
            seconds = elapsed.seconds(stored)
            written = "" if images is None else _write_image(store, stored, SessionId(session), life, images)
            if as_json:
                click.echo(json_line(stored))
            elif everything or not lines.is_quiet(stored):
                click.echo(lines.as_line(stored, seconds) + written)
            else:
                hidden += 1
    if hidden:
        click.echo(f"({hidden} frequent events not shown; --all shows them)", err=True)


def _write_image(
    store: SegmentLog, stored: Stored, session: SessionId, life: int | None, folder: Path
) -> str:
    """The image of an event, if it has one, as a file; what is said of that on the event's line."""
    from antiphon.events.errors import Erased

    media_type = getattr(stored.event, "media_type", "")
    if stored.blob is None or not media_type.startswith("image/"):
        return ""
    try:
        contents = store.read_blob(session, stored.blob, incarnation=life)
    except Erased:
        return " -> erased"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{stored.seq:06}.{'png' if media_type == 'image/png' else 'jpg'}"
    with whole_file(file) as written:
        written.write(contents)
    return f" -> {file}"
