"""`antiphon log`: what the logs hold, for people and (--json) for programs. Needs no running server.

Exit codes of every command: 0 done; 1 it could not be done, and why is said on stderr; 2 wrong usage; 3 a log
is damaged, and where is said; 4 (diff) they are not the same; 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import click

from ..lazily import Lazily

COMMANDS = {
    "ls": "antiphon.cli.log.ls:ls",
    "show": "antiphon.cli.log.show:show",
    "state": "antiphon.cli.log.state:state",
    "diff": "antiphon.cli.log.diff:diff",
    "verify": "antiphon.cli.log.verify:verify",
    "export": "antiphon.cli.log.travel:export",
    "import": "antiphon.cli.log.travel:import_",
    "erase": "antiphon.cli.log.erase:erase",
    "stats": "antiphon.cli.log.stats:stats",
    "tail": "antiphon.cli.log.tail:tail",
    "salvage": "antiphon.cli.log.salvage:salvage",
}


@click.group(cls=Lazily, found=COMMANDS)
def log() -> None:
    """Look at sessions' event logs, take them along, and erase them.

    No command needs a running server, and all but import, erase and salvage leave the logs as they are.

    Exit codes: 0 done, 1 could not be done, 2 wrong usage, 3 a log is damaged, 4 (diff) they differ, 130
    stopped with Ctrl-C.
    """
