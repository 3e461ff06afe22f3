"""Zip files made by hand, sound and hostile."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

Change = Callable[[zipfile.ZipInfo], object]


def unpacked(archive: bytes) -> dict[str, bytes]:
    """What is in an archive, by name."""
    with zipfile.ZipFile(io.BytesIO(archive)) as read:
        return {name: read.read(name) for name in read.namelist()}


def packed(
    files: Mapping[str, bytes],
    *,
    method: int = zipfile.ZIP_STORED,
    zip64: bool = False,
    change: Change = lambda info: None,
) -> bytes:
    """An archive of these files. `change` may alter each member's entry before it is written."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            info.compress_type = method
            change(info)
            with made.open(info, "w", force_zip64=zip64) as member:
                member.write(content)
    return file.getvalue()


class Pipe(io.RawIOBase):
    """A file that cannot seek, as when an archive is streamed: sizes then follow the content."""

    def __init__(self) -> None:
        self.written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.written += data
        return len(data)


def streamed(files: Mapping[str, bytes]) -> bytes:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as made:  # type: ignore[call-overload]
        for name, content in files.items():
            made.writestr(name, content)
    return bytes(pipe.written)


def as_link(info: zipfile.ZipInfo) -> None:
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16


def as_folder(info: zipfile.ZipInfo) -> None:
    info.create_system, info.external_attr = 3, (stat.S_IFDIR | 0o755) << 16 | 0x10


def inflating(megabytes: int) -> bytes:
    """A raw deflate stream of that many megabytes of zeros, made without making them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * megabytes + b"\x03\x00"


def forged(members: list[tuple[str, int, bytes, int, int, int]]) -> bytes:
    """An archive of members (name, method, packed bytes, size claimed, crc32 claimed, flags), as claimed."""
    body, directory = b"", b""
    for name, method, content, size, crc, flags in members:
        local = len(body)
        raw = name.encode()
        body += struct.pack(
            "<4sHHHHHIIIHH", b"PK\3\4", 20, flags, method, 0, 33, crc, len(content), size, len(raw), 0
        )
        body += raw + content
        directory += struct.pack(
            "<4sHHHHHHIIIHHHHHII",
            b"PK\1\2", 788, 20, flags, method, 0, 33, crc, len(content), size, len(raw), 0, 0, 0, 0, 0, local,
        )  # fmt: skip
        directory += raw
    return body + directory + end(len(members), len(directory), len(body))


def end(count: int, length: int, begin: int, comment: bytes = b"") -> bytes:
    return struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, length, begin, len(comment)) + comment
