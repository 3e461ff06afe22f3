"""`antiphon log state`: what the server knew of a session at any event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .lines import printable
from .store import DATA, JSON, LIFE, SESSION, fail, open_store, told

if TYPE_CHECKING:
    from antiphon.replay.states import StateAt


@click.command("state")
@SESSION
@DATA
@JSON
@LIFE
@click.option(
    "--at", "seq", type=click.IntRange(min=0), metavar="SEQ", help="After this event; the last, unless told."
)
def state(session: str, data: Path, as_json: bool, life: int | None, seq: int | None) -> None:
    """Show the state of a session after an event: the events before it, folded.

    For people only what is not as it usually is; --json is all of it.
    """
    import msgspec

    from antiphon.events.ids import SessionId
    from antiphon.replay.states import state_at

    store = open_store(data)
    with told():
        events = store.read(SessionId(session), incarnation=life)
        found = state_at(SessionId(session), events, seq)
    if found is None:
        fail(
            f"session {session} has no event {seq}" if seq is not None else f"session {session} has no events"
        )
    if as_json:
        click.echo(msgspec.json.encode(found.state))
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: StateAt) -> Iterator[str]:
    from antiphon.actors.session.history import conversation
    from antiphon.replay.lines import type_of
    from antiphon.replay.states import shown

    yield f"after event {found.last.seq}, {found.seconds:.3f} s, {printable(type_of(found.last.event))}"
    lines = conversation(found.state)
    if lines:
        yield click.style("what a model is told now", bold=True)
        yield from (f"  {line.role:<9}  {printable(line.text)}" for line in lines)
    yield click.style("state", bold=True)
    yield from _tree(shown(found.state), 1)


def _tree(value: Any, depth: int) -> Iterator[str]:
    """Indented: a member a line, what it holds below it."""
    space = "  " * depth
    if isinstance(value, dict):
        for key, one in value.items():
            if isinstance(one, dict | list) and one:
                yield f"{space}{printable(key)}"
                yield from _tree(one, depth + 1)
            else:
                yield f"{space}{printable(key)}: {printable(str(one))}"
        return
    for number, one in enumerate(value):
        if isinstance(one, dict | list) and one:
            yield f"{space}{number}"
            yield from _tree(one, depth + 1)
        else:
            yield f"{space}{printable(str(one))}"
