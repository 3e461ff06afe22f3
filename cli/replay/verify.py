"""`antiphon replay verify`: are the frames that clients were sent the ones that their logs give today?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..log.lives import is_gone
from ..log.store import COULD_NOT, DAMAGED, DIFFERENT, JSON, complete, fail, open_store, told
from .lives import DATA

if TYPE_CHECKING:
    from antiphon.replay.sources import Life
    from antiphon.replay.verify import Verdict


@click.command()
@click.argument("what", nargs=-1, metavar="[SESSION|FOLDER|RECORDING]...", shell_complete=complete)
@DATA
@click.option("--audio", is_flag=True, help="Read the audio that was sent, too: it must have its checksums.")
@JSON
def verify(what: tuple[str, ...], data: Path, audio: bool, as_json: bool) -> None:
    """Project sessions again and compare with what their clients were sent.

    Logs hold digests of the frames that each client's socket took. They are compared by the byte where this
    version projects as the one did that served the session, else by what the frames say. Audio counts as its
    checksum; with --audio it is read and must have that.

    SESSION is one in --data; FOLDER a data folder, or any folder with recordings (*.antiphon.zip). Without
    any: all sessions in --data. The first difference of each is shown.
    """
    import msgspec

    codes = set()
    verdicts: list[tuple[str, Verdict]] = []
    with told():
        for name, life in _lives(what, data):
            verdict = _look(name, life, audio=audio)
            if isinstance(verdict, int):
                codes.add(verdict)
                continue
            verdicts.append((name, verdict))
            if not verdict.same:
                codes.add(DIFFERENT)
            if as_json:
                click.echo(msgspec.json.encode({"name": name, **_facts(verdict)}).decode())
    if not as_json:
        _show(verdicts)
    sys.exit(max(codes, default=0))


def _lives(what: tuple[str, ...], data: Path) -> Iterator[tuple[str, Life | Exception]]:
    """What was named, life by life; a recording that cannot be taken in is an exception, not the end."""
    from antiphon.events.ids import SessionId
    from antiphon.replay import sources

    if not what:
        yield from ((life.name, life) for life in sources.of_store(open_store(data)))
    for named in what:
        path = Path(named)
        if path.is_dir() and (path / "STORE").exists():
            yield from ((life.name, life) for life in sources.of_store(open_store(path)))
        elif path.exists():
            found = sources.recordings(path) if path.is_dir() else [path]
            if not found:
                fail(f"{path} holds neither a store nor recordings ({sources.RECORDINGS})")
            yield from ((one.name, _taken_in(one)) for one in found)
        else:
            lives = sources.of_session(open_store(data), SessionId(named))
            yield from ((life.name, life) for life in lives)


def _taken_in(path: Path) -> Life | Exception:
    from antiphon.events.errors import LogError
    from antiphon.replay import sources
    from antiphon.replay.errors import RecordingError

    try:
        return sources.of_recording(path)
    except (LogError, RecordingError, OSError) as error:
        return error


def _look(name: str, life: Life | Exception, *, audio: bool) -> Verdict | int:
    """The verdict, or the exit code of why there is none, which is said."""
    from antiphon.events.errors import Corrupt, LogError
    from antiphon.replay.errors import RecordingError
    from antiphon.replay.verify import verify as project_again

    try:
        if isinstance(life, Exception):
            raise life
        return project_again(life.log, life.session, incarnation=life.incarnation, audio=audio)
    except Corrupt as error:
        click.echo(f"{name}: damaged: {error}", err=True)
        return DAMAGED
    except (LogError, RecordingError, OSError) as error:
        if not isinstance(life, Exception) and is_gone(life.log, life.session, life.incarnation):
            click.echo(f"{name}: it was erased meanwhile", err=True)
            return 0
        click.echo(f"{name}: {error}", err=True)
        return COULD_NOT


def _facts(verdict: Verdict) -> dict[str, Any]:
    import msgspec

    facts: dict[str, Any] = msgspec.to_builtins(verdict)
    if verdict.difference is not None:
        facts["difference"]["frames"] = [frame.decode() for frame in verdict.difference.frames]
    return {"same": verdict.same, **facts}


def _show(verdicts: list[tuple[str, Verdict]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("session", "events", "lasted", "frames", "digests", "beyond", "verdict"):
        table.add_column(
            column, justify="left" if column in ("session", "verdict") else "right", no_wrap=True
        )
    for name, verdict in verdicts:
        table.add_row(
            name,
            str(verdict.events),
            f"{verdict.seconds:.1f} s",
            str(verdict.frames),
            str(verdict.reports),
            str(verdict.unreported),
            _word(verdict),
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    for name, verdict in verdicts:
        _explain(name, verdict)


def _word(verdict: Verdict) -> str:
    if verdict.difference is not None:
        return f"DIFFERENT: {verdict.difference.what}"
    if verdict.unknown:
        return f"unknown dialect {', '.join(verdict.unknown)}"
    if not verdict.reports:
        return "nothing to compare"
    same = "same meaning" if verdict.weaker else "same bytes"
    if verdict.erased:
        return f"{same}; audio erased"
    return f"{same}, {verdict.audio_s:.1f} s of audio" if verdict.audio_s else same


def _explain(name: str, verdict: Verdict) -> None:
    difference = verdict.difference
    if difference is None:
        return
    click.echo(
        f"\n{name}: the digest at seq {difference.seq} (attachment {difference.attachment}) is not that of"
        f" today's frames. Those up to number {difference.after} are the same; of those up to"
        f" {difference.through} something is not. As made today, they are:"
    )
    for frame in difference.frames:
        text = frame.decode()
        click.echo(f"  {text if len(text) <= 400 else text[:397] + '...'}")
