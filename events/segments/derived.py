"""What was computed from a life's events and lies beside them: `derived-<name>`, a CRC32C and the data.

Written aside and renamed into its place, so that who reads it finds the old or the new. Not synced: after a
power cut it may be empty or torn, which its checksum tells, and then it is as if it had never been there.
"""

from __future__ import annotations

import contextlib
import os
import secrets

from crc32c import crc32c

from .. import diagnostics
from .files import Files, write_all
from .layout import Life

_CHECKSUM_SIZE = 4


def write(path: str, data: bytes, files: Files) -> None:
    """Where the disk does not let us, nothing is kept, and the program's log says so."""
    fresh = f"{path}.{secrets.token_hex(4)}"
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            write_all(files, fd, crc32c(data).to_bytes(_CHECKSUM_SIZE, "little") + data)
        finally:
            os.close(fd)
        os.rename(fresh, path)
    except OSError as error:
        diagnostics.warning("segments.derived_not_kept", path=path, error=str(error))
        with contextlib.suppress(OSError):
            os.unlink(fresh)


def read(path: str) -> bytes | None:
    """None where nothing is kept there, or not what was written."""
    try:
        with open(path, "rb") as file:
            checksum, data = file.read(_CHECKSUM_SIZE), file.read()
    except OSError:
        return None
    return data if crc32c(data).to_bytes(_CHECKSUM_SIZE, "little") == checksum else None


def forget(life: Life) -> None:
    """All of it, also what a crash left half written. Raises OSError."""
    for entry in os.scandir(life.directory):
        if entry.name.startswith(life.DERIVED):
            os.unlink(entry.path)
