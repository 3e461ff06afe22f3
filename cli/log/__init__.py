"""`antiphon log`: what the logs hold, for people and (--json) for programs. Needs no running server.

Exit codes of every command: 0 done; 1 it could not be done, and why is said on stderr; 2 wrong usage; 3 a log
is damaged, and where is said; 4 (diff) they are not the same; 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import click

from .diff import diff
from .erase import erase
from .ls import ls
from .salvage import salvage
from .show import show
from .state import state
from .stats import stats
from .tail import tail
from .travel import export, import_
from .verify import verify


@click.group()
def log() -> None:
    """Look at sessions' event logs, take them along, and erase them.

    No command needs a running server, and all but import, erase and salvage leave the logs as they are.

    Exit codes: 0 done, 1 could not be done, 2 wrong usage, 3 a log is damaged, 4 (diff) they differ, 130
    stopped with Ctrl-C.
    """


for command in (ls, show, state, diff, verify, export, import_, erase, stats, tail, salvage):
    log.add_command(command)
