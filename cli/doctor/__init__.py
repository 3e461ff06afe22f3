"""`antiphon doctor`: can this machine run the server with these settings, and what to do where it cannot.

Exit codes: 0 nothing stands in the way (there may be warnings), 1 something does, 2 wrong usage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Finding


@click.command()
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file.")
@click.option("--host", help="Address that the server would bind (127.0.0.1).")
@click.option("--port", type=click.IntRange(1, 65535), help="Its TCP port (8765).")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that would serve clients (1).")
@click.option("--data", type=click.Path(), help="Where the sessions' logs would be kept.")
@click.option("--stage", help="What would answer.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def doctor(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Look at this machine as `antiphon serve` with the same settings would find it. Changes nothing.

    Each line is ok, warn (it will run, but read this) or fail (it will not, or not for long), and what to do.
    A server that runs already is no mistake: its port is taken, and that is said.

    Exit codes: 0 nothing failed, 1 something did, 2 wrong usage.
    """
    findings = [*_look(config, flags)]
    for one in findings:
        click.echo(one.as_json() if as_json else one.as_lines())
    failed = sum(one.verdict == "fail" for one in findings)
    if not as_json:
        warned = sum(one.verdict == "warn" for one in findings)
        click.echo(f"{len(findings)} looked at: {failed} failed, {warned} to be read")
    if failed:
        sys.exit(1)


def _look(config: Path | None, flags: dict[str, Any]) -> Iterator[Finding]:
    from antiphon.web.settings import SettingsError, load

    from . import machine, place, software
    from .finding import Finding

    yield software.python()
    yield software.packages()
    try:
        settings = load(config, flags=flags)
    except SettingsError as error:
        yield Finding("settings", "fail", str(error), "correct it; docs/settings.md has all of them")
        return
    yield Finding("settings", "ok", f"stage {settings.stage}, {settings.workers} serving process(es)")
    yield software.stage(settings)
    yield place.address(settings)
    yield place.certificate(settings)
    yield place.data(settings)
    yield place.disk(settings)
    yield machine.descriptors()
    yield machine.memory(settings)
    yield machine.cores(settings)
    yield machine.sockets()
    yield machine.clock(Path(settings.data))
