"""Taking in a recording that came from elsewhere, and believing nothing of it.

archive.py takes the file apart, every byte is compared with the manifest, the manifest with the log, and the
log is checked by the store once more before anything of it can be seen.
"""

from __future__ import annotations

import io
from typing import IO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.container import Container
from antiphon.events.store import Log

from . import archive
from .errors import NewerRecording, WrongRecording
from .recording import AUDIO, EVENTS, FORMAT, LINES, MANIFEST, NAMES, SOUND, Manifest, examine
from .tally import File, Hashed
from .unpacked import PIECE, Unpacked

LONGEST_MANIFEST = 1 << 16
Members = dict[str, archive.Member]


def take_in(log: Log, file: IO[bytes]) -> Manifest:
    """Take the recording into a store, under its own session id and incarnation; what it holds.

    Nothing of it can be seen before all of it has been checked, and nothing stays where it is refused. Raises
    UnsafeArchive, WrongRecording, NewerRecording; LogError: Corrupt and NotALog for a log that is not sound,
    LifeExists for one that is, or was, in this store already.
    """
    members = archive.members(file, NAMES)
    manifest = _manifest(file, members)
    _compare(file, members, manifest)
    with _container(file, members) as container:
        log.import_(container)
    return manifest


def _manifest(file: IO[bytes], members: Members) -> Manifest:
    if MANIFEST not in members or members[MANIFEST].size > LONGEST_MANIFEST:
        raise WrongRecording("there is no manifest.json of a recording in it")
    raw = Unpacked(file, members[MANIFEST]).read()
    try:
        format_ = msgspec.json.decode(raw, type=_Format).format
        if format_ > FORMAT:
            raise NewerRecording(format_, FORMAT)
        manifest = msgspec.json.decode(raw, type=Manifest)
    except msgspec.MsgspecError as error:
        raise WrongRecording(f"manifest.json: {error}") from error
    if manifest.files.keys() | {MANIFEST} != members.keys() or not {EVENTS, AUDIO} <= members.keys():
        raise WrongRecording("manifest.json does not list the files that are there")
    return manifest


def _compare(file: IO[bytes], members: Members, manifest: Manifest) -> None:
    """Every file with what the manifest says of it, and the log with what it says of the log."""
    for name in (SOUND, LINES):
        if name in members and _hash(Unpacked(file, members[name])) != manifest.files[name]:
            raise WrongRecording(f"{name} is not the file that manifest.json speaks of")
    with _container(file, members) as container:
        found = examine(container)
    for name in (EVENTS, AUDIO):
        if found.files[name] != manifest.files[name]:
            raise WrongRecording(f"{name} is not the file that manifest.json speaks of")
    if replace(found, program=manifest.program, files=manifest.files) != manifest:
        raise WrongRecording("manifest.json speaks of another log than the one that is there")


def _container(file: IO[bytes], members: Members) -> Container:
    events, audio = (io.BufferedReader(Unpacked(file, members[name]), PIECE) for name in (EVENTS, AUDIO))
    return Container(events, audio, name="the recording")


def _hash(stream: io.RawIOBase) -> File:
    hashed = Hashed(io.BufferedReader(stream, PIECE))
    while hashed.read(PIECE):
        pass
    return hashed.file


class _Format(Struct):
    """All that is read of the manifest of a version that is not known."""

    format: int
