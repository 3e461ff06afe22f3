"""`antiphon log verify`: is what is stored what was written?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .lines import printable, size
from .lives import chosen, is_gone
from .progress import Looking, bytes_of
from .store import COULD_NOT, DAMAGED, DATA, JSON, LIFE, complete, open_store, told

if TYPE_CHECKING:
    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.store import Holding
    from antiphon.events.verify import Finding, Report

FILES = {"frame": "events.log", "order": "events.log", "payload": "audio.blob"}
SHOWN = 20
"""Findings of one life that are printed for people; --json has them all."""


@click.command("verify")
@click.argument("session", required=False, shell_complete=complete)
@DATA
@LIFE
@JSON
def verify(session: str | None, data: Path, life: int | None, as_json: bool) -> None:
    """Check frames, checksums, order and audio of a SESSION, or of every session.

    Looks at every life of it unless --life names one; sessions that go on are checked as far as they are
    stored. Changes nothing. Audio that was erased is not damage, nor is a life that is erased meanwhile.

    Exit codes: 0 everything is sound, 3 something is damaged (all of it is named), 1 something could not be
    looked at.
    """
    store = open_store(data)
    with told():
        seen = [*_look(store, chosen(store, session, life), quiet=as_json)]
    if as_json:
        for one in seen:
            click.echo(one.as_json())
    else:
        _print(seen)
    if any(one.verdict == "damaged" for one in seen):
        sys.exit(DAMAGED)
    if any(one.verdict == "not looked at" for one in seen):
        sys.exit(COULD_NOT)


class Seen:
    """One life after the look at it; without a report where it could not be looked at.

    `gone`: it was erased between being found and being looked at.
    """

    def __init__(
        self, holding: Holding, report: Report | None, reason: str = "", *, gone: bool = False
    ) -> None:
        self.holding, self.report, self.reason, self.gone = holding, report, reason, gone

    @property
    def verdict(self) -> str:
        if self.gone:
            return "erased meanwhile"
        if self.report is None:
            return "not looked at"
        return "sound" if self.report.sound else "damaged"

    @property
    def state(self) -> str:
        state = "sealed" if self.holding.sealed else "live" if self.holding.live else "open"
        return f"{state}, audio erased" if self.holding.erased else state

    def as_json(self) -> str:
        import msgspec

        shown: dict[str, Any] = {"session": self.holding.session, "life": self.holding.incarnation}
        shown |= {"verdict": self.verdict, "state": self.state}
        if self.report is None:
            shown["error"] = self.reason
        else:
            counted = msgspec.to_builtins(self.report)
            findings = [{"file": FILES[one["kind"]], **one} for one in counted["findings"]]
            names = ("events", "unknown", "payloads", "payload_bytes", "erased")
            shown |= {name: counted[name] for name in names} | {"findings": findings}
        return msgspec.json.encode(shown).decode()


def _look(store: SegmentLog, lives: list[Holding], *, quiet: bool) -> Iterator[Seen]:
    from antiphon.events.errors import LogError
    from antiphon.events.verify import verify

    with Looking(sum(map(bytes_of, lives)), quiet=quiet) as looking:
        for one in lives:
            looking.at(one)
            try:
                report = verify(store, one.session, incarnation=one.incarnation, watch=looking.watch)
            except (LogError, OSError) as error:
                seen = Seen(one, None, str(error))
            else:
                seen = Seen(one, _with_seal(one, report))
            if seen.verdict != "sound" and is_gone(store, one.session, one.incarnation):
                seen = Seen(one, None, "it was erased meanwhile", gone=True)
            yield seen


def _with_seal(holding: Holding, report: Report) -> Report:
    """A seal that is damaged looks like none, but its file says that there was one: it is read-only."""
    from msgspec.structs import replace

    from antiphon.events.verify import Finding

    if report.sealed or not report.sound or not holding.sealed:
        return report
    last = report.events - 1 if report.events else None
    return replace(report, findings=(Finding(kind="frame", reason="the seal is damaged", seq=last),))


def _print(seen: list[Seen]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("session", "life", "events", "audio", "state", "verdict"):
        right = name in ("life", "events", "audio")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for one in seen:
        events = "" if one.report is None else str(one.report.events)
        audio = "" if one.report is None or one.holding.erased else size(one.report.payload_bytes)
        table.add_row(
            one.holding.session, str(one.holding.incarnation), events, audio, one.state, one.verdict
        )
    Console(width=None if sys.stdout.isatty() else 110).print(table)
    for one in seen:
        _print_reasons(one)
    counts = {verdict: sum(one.verdict == verdict for one in seen) for verdict in _VERDICTS}
    click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no logs")


_VERDICTS = ("sound", "damaged", "not looked at", "erased meanwhile")


def _print_reasons(one: Seen) -> None:
    name = f"{one.holding.session}/{one.holding.incarnation}"
    if one.report is None:
        click.echo(f"{name}: {printable(one.reason)}")
        return
    for finding in one.report.findings[:SHOWN]:
        click.echo(f"{name}: {_sentence(finding)}")
    if len(one.report.findings) > SHOWN:
        click.echo(f"{name}: and {len(one.report.findings) - SHOWN} more; --json shows all of them")


def _sentence(finding: Finding) -> str:
    where = FILES[finding.kind]
    if finding.offset is not None:
        where += f" byte {finding.offset}"
    if finding.seq is not None:
        where += f", after event {finding.seq}" if finding.kind == "frame" else f", event {finding.seq}"
    return f"{where}: {printable(finding.reason)}"
