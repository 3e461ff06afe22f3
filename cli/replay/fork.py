"""`antiphon replay fork`: a live session that goes on from any moment of a recorded one."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..log.store import JSON, LIFE, complete, open_store, told
from .lives import DATA, one_life

if TYPE_CHECKING:
    from antiphon.replay.fork import Forked


@click.command()
@click.argument("what", metavar="SESSION|RECORDING", shell_complete=complete)
@DATA
@LIFE
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="The last event that it has; else that before the client went.",
)
@click.option("--stage", default="", help="Go on with this stage, where the server has another by now.")
@click.option(
    "--url", default="http://127.0.0.1:8765", show_default=True, help="The server that serves --data."
)
@click.option(
    "--keep", "keep_s", type=click.FloatRange(min=1), default=3600, show_default=True, metavar="SECONDS",
    help="How long it waits for somebody to come.",
)  # fmt: skip
@JSON
def fork(
    what: str,
    data: Path,
    life: int | None,
    at: int | None,
    stage: str,
    url: str,
    keep_s: float,
    as_json: bool,
) -> None:
    """Make a session that has everything of a recorded one up to event SEQ, and can be gone on with.

    It is written into --data, where a server may be running. Whoever has the token that is printed goes on
    with it: in the page, by the URL, or with `session.resume`. The recorded session stays as it is.

    Event numbers are those of `antiphon log show`.
    """
    from antiphon.events.ids import SessionId
    from antiphon.events.units import Moment
    from antiphon.replay.fork import ForkAsked
    from antiphon.replay.fork import fork as fork_off

    session, token = SessionId(f"sess_{secrets.token_hex(12)}"), secrets.token_urlsafe(32)
    now = Moment(time.monotonic_ns(), time.time_ns())
    asked = ForkAsked(session=session, token=token, now=now, at=at, keep_s=keep_s, stage=stage)
    with told():
        made = fork_off(one_life(what, data, life), open_store(data, make=True), asked)
    _tell(made, token, f"{url.rstrip('/')}/#session_id={session}&resume_token={token}", as_json=as_json)


def _tell(made: Forked, token: str, page: str, *, as_json: bool) -> None:
    import msgspec

    if as_json:
        facts = msgspec.to_builtins(made) | {"resume_token": token, "page": page}
        click.echo(msgspec.json.encode(facts).decode())
        return
    click.echo(f"session  {made.session}\ntoken    {token}\nevents   {made.events}\npage     {page}")
    if made.answering:
        click.echo("An answer was under way; it is asked again when somebody comes.", err=True)
