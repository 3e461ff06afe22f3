"""`antiphon replay verify`: are the frames that clients were sent the ones that their logs give today?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from ..log.lines import cell, printable
from ..log.lives import is_gone
from ..log.progress import Looking, bytes_of
from ..log.store import COULD_NOT, DAMAGED, DIFFERENT, JSON, complete, fail, open_store, told
from .lives import DATA

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.segments.log import SegmentLog
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

    codes, missing = set(), []
    verdicts: list[tuple[str, Verdict]] = []
    with told():
        named = list(_named(what, data))
        with Looking(sum(one.size for one in named), quiet=as_json) as looking:
            for one in named:
                looking.begin(one.name, one.size)
                verdict = _look(one, looking.watch, audio=audio)
                if isinstance(verdict, _NoVerdict):
                    codes.add(verdict.code)
                    missing.append(f"{one.name}: {verdict.why}")
                    continue
                verdicts.append((one.name, verdict))
                if not verdict.same:
                    codes.add(DIFFERENT)
                if as_json:
                    click.echo(msgspec.json.encode({"name": one.name, **_facts(verdict)}).decode())
    if not as_json:
        _show(verdicts)
    for text in missing:
        click.echo(printable(text), err=True)
    sys.exit(max(codes, default=0))


class _Named(Struct, frozen=True):
    """A life of a store, or a recording that is still to be taken in; about so many bytes."""

    name: str
    size: int
    life: Life | Path


class _NoVerdict(Struct, frozen=True):
    """Why there is no verdict, and the exit code for that."""

    code: int
    why: str


def _named(what: tuple[str, ...], data: Path) -> Iterator[_Named]:
    from antiphon.events.ids import SessionId
    from antiphon.replay import sources

    if not what:
        store = open_store(data)
        yield from _of(store, sources.of_store(store))
    for named in what:
        path = Path(named)
        if path.is_dir() and (path / "STORE").exists():
            store = open_store(path)
            yield from _of(store, sources.of_store(store))
        elif path.exists():
            found = sources.recordings(path) if path.is_dir() else [path]
            if not found:
                fail(f"{path} holds neither a store nor recordings ({sources.RECORDINGS})")
            for one in found:
                yield _Named(one.name, one.stat().st_size, one)
        else:
            store = open_store(data)
            yield from _of(store, sources.of_session(store, SessionId(named)))


def _of(store: SegmentLog, lives: Iterator[Life]) -> Iterator[_Named]:
    sizes = {(one.session, one.incarnation): bytes_of(one) for one in store.holdings()}
    for life in lives:
        yield _Named(life.name, sizes.get((life.session, life.incarnation), 0), life)


def _look(named: _Named, watch: Callable[[Stored], object], *, audio: bool) -> Verdict | _NoVerdict:
    from antiphon.events.errors import Corrupt, LogError
    from antiphon.replay import sources
    from antiphon.replay.errors import RecordingError
    from antiphon.replay.verify import verify as project_again

    life = None
    try:
        life = sources.of_recording(named.life) if isinstance(named.life, Path) else named.life
        return project_again(life.log, life.session, incarnation=life.incarnation, audio=audio, watch=watch)
    except Corrupt as error:
        return _NoVerdict(DAMAGED, f"damaged: {error}")
    except (LogError, RecordingError, OSError) as error:
        if life is not None and is_gone(life.log, life.session, life.incarnation):
            return _NoVerdict(0, "it was erased meanwhile")
        return _NoVerdict(COULD_NOT, str(error))


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
            cell(name),
            str(verdict.events),
            f"{verdict.seconds:.1f} s",
            str(verdict.frames),
            str(verdict.reports),
            str(verdict.unreported),
            cell(_word(verdict)),
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
        f"\n{printable(name)}: the digest at seq {difference.seq} (attachment {difference.attachment}) is not"
        f" that of today's frames. Those up to number {difference.after} are the same; of those up to"
        f" {difference.through} something is not. As made today, they are:"
    )
    for frame in difference.frames:
        text = printable(frame.decode())
        click.echo(f"  {text if len(text) <= 400 else text[:397] + '...'}")
