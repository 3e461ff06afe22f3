"""The portable recording: one life of a session in one .zip file, to be kept, sent and taken in elsewhere.

    events.log          the life as every store exports it (events/container.py)
    audio.blob          its audio, or the tombstone of audio that was erased
    conversation.wav    on request: what people heard (sound.py)
    events.jsonl        on request: the events as text (lines.py)
    manifest.json       what this is a recording of, and length and SHA-256 of each file

Members are stored as they are, under a fixed date: the same log gives the same bytes on every machine. The
last two files are for people and programs that do not know the format; taking a recording in
(intake.py) reads only the first two.
"""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from typing import IO, BinaryIO

import msgspec
from msgspec import Struct

from antiphon.events.container import Container, Unpacking
from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import WriterOpened

from . import sound
from .errors import ChangedMeanwhile
from .lines import as_json
from .tally import File, Hashed, Hashing, Watch

FORMAT = 1
EVENTS, AUDIO, SOUND, LINES, MANIFEST = (
    "events.log", "audio.blob", "conversation.wav", "events.jsonl", "manifest.json",
)  # fmt: skip
NAMES = (EVENTS, AUDIO, SOUND, LINES, MANIFEST)
PIECE = 1 << 16
Payload = Callable[[BlobRef], bytes]
_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


class Manifest(Struct, frozen=True, kw_only=True):
    """`program` is the version that last wrote the log. `erased`: the audio is not in it."""

    format: int
    session: SessionId
    incarnation: int
    program: str
    events: int
    sealed: bool
    erased: bool
    files: dict[str, File]


def write(
    log: Log,
    session: SessionId,
    to: IO[bytes],
    *,
    incarnation: int | None = None,
    with_sound: bool = False,
    generated: bool = False,
    with_lines: bool = False,
    watch: Watch = lambda length: None,
) -> Manifest:
    """Write the recording of one life, checked from end to end, into an empty file that can seek.

    A session that goes on is recorded as far as it is stored. `generated`: the sound has also what nobody
    heard. `watch` is told of the bytes of the log as they are read: all of them twice, for the sound once
    more. Raises LogError (Corrupt for a damaged log; Erased where sound is asked for and there is none),
    TooLong, ChangedMeanwhile.
    """
    with log.export(session, incarnation=incarnation) as container:
        manifest = examine(container, watch)
    life = manifest.incarnation
    with zipfile.ZipFile(to, "w") as made:
        with log.export(session, incarnation=life) as container:
            for name, stream in ((EVENTS, container.events), (AUDIO, container.audio)):
                size = manifest.files[name].bytes
                if _add(made, name, size, partial(_copy, stream, size, watch)) != manifest.files[name]:
                    raise ChangedMeanwhile
        if with_sound:
            events = log.read(session, incarnation=life, stop=manifest.events)
            placed = sound.place(events, session, generated=generated)
            payload = _watched(partial(log.read_blob, session, incarnation=life), watch)
            write_wav = partial(sound.write_wav, placed, payload)
            manifest.files[SOUND] = _add(made, SOUND, sound.FRAME * placed.samples, write_wav)
        if with_lines:
            events = log.read(session, incarnation=life, stop=manifest.events)
            hint = 16 * manifest.files[EVENTS].bytes
            manifest.files[LINES] = _add(made, LINES, hint, partial(_write_lines, events))
        encoded = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        _add(made, MANIFEST, len(encoded), lambda to: to.write(encoded))
    return manifest


def examine(container: Container, watch: Watch = lambda length: None) -> Manifest:
    """What a recording of this container would say of it. Raises Corrupt, NotALog: then it is not sound."""
    events, audio = Hashed(container.events, watch), Hashed(container.audio, watch)
    hashed = Container(io.BufferedReader(events), io.BufferedReader(audio), name=container.name)
    unpacking = Unpacking(hashed)
    count, sealed, program = 0, False, ""
    for entry in unpacking:
        if entry.stored is None:
            sealed = True
            continue
        count += 1
        if isinstance(entry.stored.event, WriterOpened):
            program = entry.stored.event.code
    return Manifest(
        format=FORMAT,
        session=unpacking.header.session,
        incarnation=unpacking.header.incarnation,
        program=program,
        events=count,
        sealed=sealed,
        erased=unpacking.tombstone is not None,
        files={EVENTS: events.file, AUDIO: audio.file},
    )


def _add(made: zipfile.ZipFile, name: str, size: int, write: Callable[[IO[bytes]], object]) -> File:
    """Add a member of about `size` bytes; the same on every machine."""
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system, info.external_attr, info.file_size = _UNIX, (stat.S_IFREG | 0o644) << 16, size
    with made.open(info, "w") as member:
        hashing = Hashing(member)
        buffered = io.BufferedWriter(hashing, PIECE)
        write(buffered)
        buffered.flush()
        return hashing.file


def _copy(stream: BinaryIO, length: int, watch: Watch, to: IO[bytes]) -> None:
    """The first `length` bytes: a log that goes on has become longer since it was looked at."""
    while length and (piece := stream.read(min(length, PIECE))):
        to.write(piece)
        length -= len(piece)
        watch(len(piece))


def _watched(payload: Payload, watch: Watch) -> Payload:
    def read(ref: BlobRef) -> bytes:
        watch(ref.length)
        return payload(ref)

    return read


def _write_lines(events: Iterable[Stored], to: IO[bytes]) -> None:
    for stored in events:
        to.write(as_json(stored) + b"\n")
