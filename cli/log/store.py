"""The store that a command looks at, what all commands have in common, and how they fail."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from click.shell_completion import CompletionItem

from .lines import printable

if TYPE_CHECKING:
    from antiphon.events.segments.log import SegmentLog

COULD_NOT, DAMAGED, DIFFERENT, INTERRUPTED = 1, 3, 4, 130
NEVER_SLOW = 1 << 30
"""Slow writes after which the store would answer later: a command waits for each."""

DATA = click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="antiphon-data",
    envvar="ANTIPHON_DATA",
    show_default=True,
    help="Where the sessions' logs are kept.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
LIFE = click.option(
    "--life",
    type=click.IntRange(min=0),
    metavar="N",
    help="Which life of the session, where its id was used again; the latest unless told.",
)


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids a shell offers: names of folders, whatever lies in them. Nothing is opened."""
    data = Path(ctx.params.get("data") or os.environ.get("ANTIPHON_DATA") or "antiphon-data")
    with contextlib.suppress(OSError):
        names = sorted({path.name for path in data.glob("sessions/*/*")})
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return []


SESSION = click.argument("session", shell_complete=complete)


def open_store(data: Path, *, make: bool = False) -> SegmentLog:
    """The store, opened for reading: nothing is appended, so nothing needs a loop. `make`: it may be new."""
    from antiphon.events import diagnostics
    from antiphon.events.errors import LogError
    from antiphon.events.segments.log import SegmentLog

    diagnostics.before_the_first(_to_stderr)
    is_new = make and (not data.exists() or not any(data.iterdir()))
    if not is_new and not (data / "STORE").exists():
        raise click.ClickException(f"{data} holds no logs; name the server's folder with --data")
    try:
        return SegmentLog(data, deliver=lambda call: call(), slow_limit=NEVER_SLOW)
    except (LogError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _to_stderr() -> None:
    """What is printed may be read by a program."""
    from antiphon.web import logs

    logs.configure("warning")


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Say what is answered instead of what was asked for, and end with the exit code for that."""
    from antiphon.events.errors import Corrupt, LogError
    from antiphon.replay.errors import RecordingError

    try:
        yield
    except Corrupt as error:
        click.echo(f"damaged: {printable(str(error))}", err=True)
        sys.exit(DAMAGED)
    except LogError as error:
        hint = f" ({error.hint})" if error.hint else ""
        fail(f"{error}{hint}")
    except RecordingError as error:
        fail(str(error))
    except BrokenPipeError:  # who reads our output has seen enough; click ends us quietly
        raise
    except OSError as error:
        fail(str(error))
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(INTERRUPTED)


def fail(message: str) -> NoReturn:
    """What a file or a stage says may be in it."""
    raise click.ClickException(printable(message))
