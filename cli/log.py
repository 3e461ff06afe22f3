"""`antiphon log`: what the logs hold, for people and (--json) for programs. Needs no running server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.vocabulary import Event

DATA = click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="antiphon-data",
    envvar="ANTIPHON_DATA",
    show_default=True,
    help="Where the sessions' logs are kept.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")

QUIET = ("InputAppended", "VoiceScored", "FramesSent", "AudioSpoken")
"""Events of which there are many a second; shown with --all."""


@click.group()
def log() -> None:
    """Look at sessions' event logs."""


@log.command("ls")
@DATA
@JSON
def ls(data: Path, as_json: bool) -> None:
    """List the sessions, newest first."""
    import msgspec

    store = _store(data)
    rows = sorted(_rows(store), key=lambda row: row["began"] or "", reverse=True)
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("session", "began", "lasted", "events", "audio", "ended"):
        table.add_column(
            name, justify="right" if name in ("lasted", "events", "audio") else "left", no_wrap=True
        )
    for row in rows:
        table.add_row(
            row["session"],
            (row["began"] or "")[:19].replace("T", " "),
            f"{row['seconds']:.1f} s",
            str(row["events"]),
            f"{row['audio_bytes'] / 1e6:.1f} MB",
            row["ended"],
        )
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def _rows(store: SegmentLog) -> Iterator[dict[str, Any]]:
    """One row a session. A log that cannot be read is listed as such, not left out."""
    from antiphon.events.errors import LogError

    for head in store.sessions():
        first = last = None
        ended = "open"
        try:
            for stored in store.read(head.session):
                first, last = first or stored, stored
                ended = _ending(stored) or ended
        except (LogError, OSError) as error:
            ended = getattr(error, "code", "unreadable")
        began = first.at.wall_ns if first else 0
        yield {
            "session": head.session,
            "began": _clock(began) if first else None,
            "seconds": (last.at.wall_ns - began) / 1e9 if last else 0.0,
            "events": head.next_seq,
            "audio_bytes": head.audio_bytes,
            "sealed": head.sealed,
            "ended": ended,
        }


def _ending(stored: Stored) -> str | None:
    from antiphon.events.vocabulary import SessionClosed, SessionFailed

    match stored.event:
        case SessionClosed(reason=reason):
            return reason
        case SessionFailed(code=code):
            return code
        case _:
            return None


@log.command("show")
@click.argument("session")
@DATA
@JSON
@click.option("--all", "everything", is_flag=True, help="Also the events that come many times a second.")
def show(session: str, data: Path, as_json: bool, everything: bool) -> None:
    """Show a session's events. Exit code 3 when the log is damaged, after what precedes the damage."""
    from antiphon.events.errors import Corrupt, LogError, NoSuchSession
    from antiphon.events.ids import SessionId

    store = _store(data)
    began: int | None = None
    hidden = 0
    try:
        for stored in store.read(SessionId(session)):
            began = stored.at.mono_ns if began is None else began
            if as_json:
                click.echo(_as_json(stored))
            elif everything or type(stored.event).__name__ not in QUIET:
                _print(stored, (stored.at.mono_ns - began) / 1e9)
            else:
                hidden += 1
    except NoSuchSession as error:
        raise click.ClickException(str(error)) from error
    except Corrupt as error:
        click.echo(f"damaged: {error}", err=True)
        sys.exit(3)
    except LogError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise click.ClickException(f"{error}{hint}") from error
    except OSError as error:
        raise click.ClickException(str(error)) from error
    if hidden:
        click.echo(f"({hidden} frequent events not shown; --all shows them)", err=True)


def _as_json(stored: Stored) -> str:
    import msgspec

    shown = {
        "seq": stored.seq,
        "at": _clock(stored.at.wall_ns),
        "mono_ns": stored.at.mono_ns,
        "type": _type(stored.event),
        "cause": stored.cause,
        "event": _members(stored.event),
    }
    if stored.blob is not None:
        shown["blob"] = {
            "offset": stored.blob.offset,
            "length": stored.blob.length,
            "crc32c": stored.blob.crc32c,
        }
    return msgspec.json.encode(shown).decode()


def _type(event: Event) -> str:
    from antiphon.events.envelope import Unknown

    return event.type if isinstance(event, Unknown) else type(event).__name__


def _members(event: Event) -> Any:
    """The event's members; also of an event that this version does not know."""
    import msgspec

    from antiphon.events.envelope import Unknown

    return msgspec.msgpack.decode(event.body) if isinstance(event, Unknown) else msgspec.to_builtins(event)


def _print(stored: Stored, seconds: float) -> None:
    import msgspec

    name = _type(stored.event)
    facts = " ".join(
        f"{key}={_short(value)}"
        for key, value in msgspec.structs.asdict(stored.event).items()
        if value not in (None, (), {})
    )
    cause = "" if stored.cause is None else click.style(f" <- {stored.cause}", dim=True)
    click.echo(f"{stored.seq:>6} {seconds:9.3f}s  {click.style(name, bold=True)} {facts}{cause}")


def _short(value: Any) -> str:
    import msgspec

    from antiphon.events.ids import Fence

    if isinstance(value, Fence):  # its other members stand elsewhere on the line
        return f"epoch {value.epoch} turn {value.turn}"
    if isinstance(value, msgspec.Struct):
        inner = ", ".join(
            f"{key}={_short(one)}"
            for key, one in msgspec.structs.asdict(value).items()
            if one not in (None, (), {})
        )
        return f"({inner})"
    text = str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def _clock(wall_ns: int) -> str:
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).isoformat(timespec="milliseconds")


def _store(data: Path) -> SegmentLog:
    """The store, opened for reading: nothing is appended, so nothing needs a loop."""
    from antiphon.events.errors import LogError
    from antiphon.events.segments.log import SegmentLog
    from antiphon.web import logs

    logs.configure("warning")  # to stderr: what is printed may be read by a program
    if not (data / "STORE").exists():
        raise click.ClickException(f"{data} holds no logs; name the server's folder with --data")
    try:
        return SegmentLog(data, deliver=lambda call: call())
    except (LogError, OSError) as error:
        raise click.ClickException(str(error)) from error
