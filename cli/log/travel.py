"""`antiphon log export` and `antiphon log import`: sessions as files."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from .folder import write_folder
from .lines import printable, size
from .lives import chosen
from .progress import Looking, bytes_of
from .store import COULD_NOT, DATA, JSON, LIFE, SESSION, fail, open_store, told

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from antiphon.events.segments.log import SegmentLog
    from antiphon.replay.recording import Manifest

SUFFIX = ".antiphon.zip"
RECORDING, FOLDER = "recording", "half-duplex"


@click.command("export")
@SESSION
@DATA
@LIFE
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help=f"The file to write (SESSION{SUFFIX}), or the folder. It must not exist.",
)
@click.option("--sound", is_flag=True, help="Add conversation.wav: left the user, right what was heard.")
@click.option("--generated", is_flag=True, help="With --sound: also what was generated and not heard.")
@click.option(
    "--as",
    "shape",
    type=click.Choice([RECORDING, FOLDER]),
    default=RECORDING,
    show_default=True,
    help="half-duplex: a folder (SESSION) with meta.json, recording.json and the turns as WAV files.",
)
@click.option("--jsonl", is_flag=True, help="Add events.jsonl: the events as text.")
@JSON
def export(
    session: str,
    data: Path,
    life: int | None,
    to: Path | None,
    sound: bool,
    generated: bool,
    jsonl: bool,
    shape: str,
    as_json: bool,
) -> None:
    """Write a session into one file that can be kept, sent, and imported elsewhere.

    The log is checked from end to end on the way. A session that goes on is written as far as it is stored.

    Exit codes: 0 written, 1 not written, 3 the log is damaged (`antiphon log salvage` says what can be kept).
    """
    if generated and not sound:
        raise click.UsageError("--generated says something about --sound, which is not there")
    if shape == FOLDER and (sound or jsonl):
        raise click.UsageError("--sound and --jsonl are of the recording; the folder has its own sounds")
    store = open_store(data)
    if shape == FOLDER:
        with told():
            write_folder(store, session, life, to, as_json=as_json)
        return
    target = to or Path(session + ("" if life is None else f"-{life}") + SUFFIX)
    parts = {"with_sound": sound, "generated": generated, "with_lines": jsonl}
    with told():
        manifest = _write(store, session, life, target, parts, quiet=as_json)
    tell(target, manifest, "written", as_json)


def _write(
    store: SegmentLog, session: str, life: int | None, target: Path, parts: dict[str, bool], *, quiet: bool
) -> Manifest:
    from antiphon.events.ids import SessionId
    from antiphon.replay import recording
    from antiphon.replay.sound import TooLong

    held = chosen(store, session, life)[-1]  # before a file is named after it
    times = 3 if parts["with_sound"] else 2  # everything is examined, copied, and heard
    try:
        with new_file(target) as file, Looking(times * bytes_of(held), quiet=quiet) as looking:
            looking.begin(session, 0)
            name, watch = SessionId(session), looking.advance
            return recording.write(store, name, file, incarnation=held.incarnation, watch=watch, **parts)
    except TooLong as error:
        fail(str(error))


@contextlib.contextmanager
def new_file(target: Path, *, option: str = "--to") -> Iterator[IO[bytes]]:
    """A file that was not there. `option` names another; otherwise as `whole_file`."""
    if target.exists():
        fail(f"{target} exists; name another file with {option}")
    with whole_file(target) as file:
        yield file


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when it is whole, and not at all otherwise. Its owner's alone.

    Ends the program where it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        fail(f"{target} cannot be written: {error.strerror}")
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default="antiphon-data",
    envvar="ANTIPHON_DATA",
    show_default=True,
    help="Where the sessions' logs are kept; made if it is not there.",
)
@JSON
def import_(files: tuple[Path, ...], data: Path, as_json: bool) -> None:
    """Take recordings in, under the session ids they have.

    Every byte of a FILE is checked before anything of it can be seen; a file that is refused leaves nothing
    behind. A session that is there already is not replaced.

    Exit codes: 0 all taken in, 1 some were not, and why is said.
    """
    from antiphon.events.errors import LogError
    from antiphon.replay.errors import RecordingError
    from antiphon.replay.intake import take_in

    store = open_store(data, make=True)
    refused = False
    with told():
        for path in files:
            try:
                with _read(path, quiet=as_json) as file:
                    manifest = take_in(store, file)
            except (LogError, RecordingError, OSError) as error:
                click.echo(f"{path}: not taken in: {printable(str(error))}", err=True)
                refused = True
            else:
                tell(path, manifest, "taken in", as_json)
    if refused:
        sys.exit(COULD_NOT)


@contextlib.contextmanager
def _read(path: Path, *, quiet: bool) -> Iterator[IO[bytes]]:
    """A recording; everything in it is read twice."""
    with Looking(2 * path.stat().st_size, quiet=quiet) as looking:
        looking.begin(path.name, 0)
        with io.BufferedReader(_Watched(path, looking)) as file:
            yield file


class _Watched(io.FileIO):
    def __init__(self, path: Path, looking: Looking) -> None:
        super().__init__(path)
        self._looking = looking

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        length = super().readinto(buffer)
        self._looking.advance(length or 0)
        return length


def tell(path: Path, manifest: Manifest, done: str, as_json: bool) -> None:
    import msgspec

    if as_json:
        shown = {"file": str(path), **msgspec.to_builtins(manifest)}
        click.echo(msgspec.json.encode(shown).decode())
        return
    bytes_ = sum(file.bytes for file in manifest.files.values())
    life = f"/{manifest.incarnation}" if manifest.incarnation else ""
    state = ("" if manifest.sealed else ", unfinished") + (", audio erased" if manifest.erased else "")
    what = f"{manifest.session}{life}, {manifest.events} events, {size(bytes_)}{state}"
    click.echo(f"{path}: {done}: {what}")
