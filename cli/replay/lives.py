"""Which recorded call a command is about: a session of the store, or a recording in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..log.store import fail, open_store

if TYPE_CHECKING:
    from antiphon.replay.sources import Life

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),  # may be missing where only recordings are named
    default="antiphon-data",
    envvar="ANTIPHON_DATA",
    show_default=True,
    help="Where the sessions' logs are kept.",
)


def one_life(what: str, data: Path, life: int | None) -> Life:
    """The latest life unless told. Raises LogError; ends the program for a recording that is none."""
    from antiphon.events.ids import SessionId
    from antiphon.replay import sources
    from antiphon.replay.errors import RecordingError

    path = Path(what)
    if path.is_file():
        try:
            return sources.of_recording(path)
        except RecordingError as error:
            fail(f"{path}: {error}")
    lives = list(sources.of_session(open_store(data), SessionId(what)))
    found = [one for one in lives if life in (None, one.incarnation)]
    if not found:
        fail(f"{what} has no life {life}")
    return found[-1]
