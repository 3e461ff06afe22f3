"""Reading a zip file that may have been made to harm: a few named members and not one byte besides.

Python's `zipfile` takes whatever it can make sense of: bytes before the archive, one central directory among
several, members that share their bytes. Here an archive is a sequence of local members, then one central
directory that tells the same of them, then the end; every byte belongs to exactly one of these. Members are
matched by their whole names and never become paths; links, folders, encryption and other names than those
asked for are refused. A member may be deflated, as programs that pack again do, within `MOST_INFLATED`.

UnsafeArchive says which of these it was, in a sentence.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from struct import Struct as Layout
from struct import error as TooShort  # noqa: N812  # that is what it means here
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from .errors import UnsafeArchive

STORED, DEFLATED = 0, 8
MOST_INFLATED = 100
"""How many times its packed size a deflated member may have; small members (`SMALL`) are never too large."""
SMALL = 1 << 20
LONGEST_DIRECTORY = 1 << 16

_LOCAL = Layout("<4sHHHHHIIIHH")
_CENTRAL = Layout("<4sHHHHHHIIIHHHHHII")
_END = Layout("<4sHHHHIIH")
_END64 = Layout("<4sQHHIIQQQQ")
_LOCATOR = Layout("<4sIQI")
_EXTRA = Layout("<HH")
_HAS_DESCRIPTOR = 1 << 3
_HARMLESS_FLAGS = _HAS_DESCRIPTOR | 0b110 | 1 << 11
"""Beside the descriptor: how hard it was packed, and that names are UTF-8."""
_UNIX = (3, 19)
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_ZIP64 = 1
_DESCRIPTORS = (12, 16, 20, 24)
"""Lengths that what follows a member's bytes can have: with or without a signature, with long sizes."""


class Member(Struct, frozen=True):
    """One member: `size` bytes, packed into `packed` bytes that begin at byte `start` of the file."""

    name: str
    method: int
    flags: int
    crc32: int
    packed: int
    size: int
    local: int
    start: int = 0


def members(file: IO[bytes], names: Collection[str]) -> dict[str, Member]:
    """The members of the archive, each of them one of `names`. Reads its structure only.

    Raises UnsafeArchive.
    """
    size = file.seek(0, os.SEEK_END)
    try:
        begin, directory, count = _directory(file, size)
        listed = list(_central(directory, names))
        if len(listed) != count:
            raise UnsafeArchive(f"it announces {count} members and lists {len(listed)}")
        return _laid_out(file, listed, begin)
    except TooShort as error:
        raise UnsafeArchive("it ends in the middle of itself") from error


def _directory(file: IO[bytes], size: int) -> tuple[int, bytes, int]:
    """Where the central directory begins, its bytes, and how many members it announces."""
    at = size - _END.size
    magic, disk, first_disk, here, count, length, begin, comment = _END.unpack(
        read_exactly(file, at, _END.size)
    )
    if magic != b"PK\x05\x06" or comment:
        raise UnsafeArchive("it does not end as a zip file without a comment does")
    if disk or first_disk or here != count:
        raise UnsafeArchive("it is one part of several")
    if count == _FULL16 or _FULL32 in (length, begin):
        at, count, length, begin = _directory64(file, at)
    if length > LONGEST_DIRECTORY:
        raise UnsafeArchive(f"its list of members has {length} bytes")
    if begin + length != at:
        raise UnsafeArchive("there are bytes between its list of members and its end")
    return begin, read_exactly(file, begin, length), count


def _directory64(file: IO[bytes], end: int) -> tuple[int, int, int, int]:
    """The same of a large archive: where its end begins, the count, and the directory's length and place."""
    magic, disk, at, disks = _LOCATOR.unpack(read_exactly(file, end - _LOCATOR.size, _LOCATOR.size))
    if magic != b"PK\x06\x07" or disk or disks != 1 or at + _END64.size != end - _LOCATOR.size:
        raise UnsafeArchive("its zip64 end is not where it belongs")
    magic, rest, _, _, disk, first_disk, here, count, length, begin = _END64.unpack(
        read_exactly(file, at, _END64.size)
    )
    if magic != b"PK\x06\x06" or rest != _END64.size - 12 or disk or first_disk or here != count:
        raise UnsafeArchive("its zip64 end is not one")
    return at, count, length, begin


def _central(directory: bytes, names: Collection[str]) -> Iterator[Member]:
    at, seen = 0, set()
    while at < len(directory):
        (magic, made, _, flags, method, _, _, crc32, packed, size, name_length, extra_length, comment, disk,
         _, external, local) = _CENTRAL.unpack_from(directory, at)  # fmt: skip
        at += _CENTRAL.size
        raw, extra = directory[at : at + name_length], directory[at + name_length :][:extra_length]
        at += name_length + extra_length + comment
        if magic != b"PK\x01\x02" or at > len(directory):
            raise UnsafeArchive("its list of members is damaged")
        name = raw.decode("latin-1")
        if name not in names:
            raise UnsafeArchive(f"it holds {name[:60]!r}, which does not belong into a recording")
        if name in seen:
            raise UnsafeArchive(f"it holds {name} twice")
        seen.add(name)
        _check_kind(name, flags, method, made >> 8, external)
        size, packed, local, disk = _long(extra, size, packed, local, disk)
        if disk:
            raise UnsafeArchive("it is one part of several")
        yield _within_limits(Member(name, method, flags, crc32, packed, size, local))


def _check_kind(name: str, flags: int, method: int, system: int, external: int) -> None:
    mode = external >> 16 if system in _UNIX else 0
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or external & 0x10:
        raise UnsafeArchive(f"{name} is a link or a folder, not a file")
    if flags & ~_HARMLESS_FLAGS:
        raise UnsafeArchive(f"{name} is encrypted, or written in a way not known here")
    if method not in (STORED, DEFLATED):
        raise UnsafeArchive(f"{name} is packed by method {method}; wanted stored or deflated")


def _within_limits(member: Member) -> Member:
    if member.method == STORED and member.size != member.packed:
        raise UnsafeArchive(f"{member.name} is stored, and its two sizes differ")
    if member.size > max(member.packed * MOST_INFLATED, SMALL):
        raise UnsafeArchive(f"{member.name} would grow from {member.packed} to {member.size} bytes")
    return member


def _long(extra: bytes, size: int, packed: int, local: int, disk: int) -> tuple[int, int, int, int]:
    """The fields, those that did not fit into 32 bits taken from the zip64 extra field."""
    fields = [(size, _FULL32, 8), (packed, _FULL32, 8), (local, _FULL32, 8), (disk, _FULL16, 4)]
    wanted = sum(width for value, full, width in fields if value == full)
    found, values = _zip64_field(extra), []
    if len(found) < wanted:
        raise UnsafeArchive("a size that is said to stand elsewhere does not")
    for value, full, width in fields:
        if value == full:
            value, found = int.from_bytes(found[:width], "little"), found[width:]
        values.append(value)
    return values[0], values[1], values[2], values[3]


def _zip64_field(extra: bytes) -> bytes:
    while len(extra) >= _EXTRA.size:
        kind, length = _EXTRA.unpack_from(extra)
        if kind == _ZIP64:
            return extra[_EXTRA.size : _EXTRA.size + length]
        extra = extra[_EXTRA.size + length :]
    return b""


def _laid_out(file: IO[bytes], listed: list[Member], directory: int) -> dict[str, Member]:
    """The members with where their bytes begin; nothing lies before, between or behind them."""
    at, found = 0, {}
    in_order = sorted(listed, key=lambda member: member.local)
    begins = [*(member.local for member in in_order), directory]
    for member, follows in zip(in_order, begins[1:], strict=True):
        if member.local != at:
            raise UnsafeArchive(f"there are bytes before {member.name} that belong to nothing, or twice")
        start = _local(file, member)
        gap = follows - (start + member.packed)
        if gap and not (member.flags & _HAS_DESCRIPTOR and gap in _DESCRIPTORS):
            raise UnsafeArchive(f"{member.name} and what follows it do not fit together")
        found[member.name] = replace(member, start=start)
        at = follows
    if at != directory:
        raise UnsafeArchive("there are bytes before its list of members that belong to nothing")
    return found


def _local(file: IO[bytes], member: Member) -> int:
    """Where the member's bytes begin. The local header must say what the directory says."""
    magic, _, flags, method, _, _, crc32, packed, size, name_length, extra_length = _LOCAL.unpack(
        read_exactly(file, member.local, _LOCAL.size)
    )
    name = read_exactly(file, member.local + _LOCAL.size, name_length).decode("latin-1")
    if magic != b"PK\x03\x04" or (name, flags, method) != (member.name, member.flags, member.method):
        raise UnsafeArchive(f"{member.name} is listed otherwise than it stands in the file")
    if not flags & _HAS_DESCRIPTOR and (
        crc32 != member.crc32 or packed not in (member.packed, _FULL32) or size not in (member.size, _FULL32)
    ):
        raise UnsafeArchive(f"{member.name} is listed with other sizes than it stands in the file")
    return member.local + _LOCAL.size + int(name_length) + int(extra_length)


def read_exactly(file: IO[bytes], at: int, length: int) -> bytes:
    """Exactly these bytes; struct's own complaint where the file does not have them."""
    if at < 0:
        raise TooShort
    file.seek(at)
    found = file.read(length)
    if len(found) != length:
        raise TooShort
    return found
