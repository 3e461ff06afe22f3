"""`antiphon replay`: what recorded sessions give today, and with something changed.

Exit codes of every command: 0 the same; 1 it could not be done, and why is said on stderr; 2 wrong usage; 3 a
log is damaged; 4 something is different, and what is said; 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import click

from ..lazily import Lazily

COMMANDS = {
    "verify": "antiphon.cli.replay.verify:verify",
    "rerun": "antiphon.cli.replay.rerun:rerun",
    "compare": "antiphon.cli.replay.compare:compare",
    "fork": "antiphon.cli.replay.fork:fork",
    "play": "antiphon.cli.replay.play:play",
    "suite": "antiphon.cli.replay.suite:suite",
}


@click.group(cls=Lazily, found=COMMANDS)
def replay() -> None:
    """Let recorded sessions happen again, and see whether they are still the same.

    Exit codes: 0 the same, 1 could not be done, 2 wrong usage, 3 a log is damaged, 4 something is different,
    130 stopped with Ctrl-C.
    """
