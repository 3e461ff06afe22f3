"""The command on a terminal of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

PATIENCE_S = 60.0


def on_a_terminal(*arguments: object, piped: bool = False) -> tuple[int, str]:
    """Its exit code, and everything that the terminal was told; `piped`: but for what it prints."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "antiphon.cli", *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=subprocess.DEVNULL if piped else theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    ) as process:
        os.close(theirs)
        told = bytearray()
        try:
            while piece := os.read(ours, 1 << 16):
                told += piece
        except OSError:  # nobody has the other end any more
            pass
        finally:
            os.close(ours)
        return process.wait(PATIENCE_S), told.decode("utf-8", "replace")
