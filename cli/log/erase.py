"""`antiphon log erase`: what somebody said, gone for good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .lines import size
from .store import DATA, JSON, LIFE, SESSION, fail, open_store, told

if TYPE_CHECKING:
    from antiphon.events.store import Holding


@click.command("erase")
@SESSION
@DATA
@LIFE
@click.option("--audio", is_flag=True, help="Erase the audio; the events stay, and the log still verifies.")
@click.option("--all", "everything", is_flag=True, help="Erase the events as well.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON
def erase(
    session: str, data: Path, life: int | None, audio: bool, everything: bool, yes: bool, as_json: bool
) -> None:
    """Erase the audio of a session, or all of it. It cannot be undone.

    Takes every life of the session unless --life names one. A session that somebody is talking in is not
    erased. Repeating is harmless.

    Exit codes: 0 erased, 1 not erased.
    """
    from antiphon.events.ids import SessionId
    from antiphon.events.store import Scope

    if audio == everything:
        raise click.UsageError("say what to erase: --audio or --all")
    store, name = open_store(data), SessionId(session)
    scope = Scope.AUDIO if audio else Scope.ALL
    chosen = [one for one in store.holdings() if one.session == session and life in (None, one.incarnation)]
    freed = sum(_freed(one, everything) for one in chosen)
    if chosen and not yes and not _confirmed(chosen, everything, freed):
        fail("nothing was erased")
    with told():
        store.erase(name, scope, incarnation=life)
    if as_json:
        import msgspec

        lives = [one.incarnation for one in chosen]
        shown = {"session": session, "lives": lives, "scope": scope.value, "bytes": freed}
        click.echo(msgspec.json.encode(shown).decode())
    else:
        click.echo(f"erased {size(freed)}" if freed else "there was nothing left to erase")


def _freed(one: Holding, everything: bool) -> int:
    return (one.events_bytes if everything else 0) + (0 if one.erased else one.audio_bytes)


def _confirmed(chosen: list[Holding], everything: bool, freed: int) -> bool:
    what = "everything" if everything else "the audio"
    lives = ", ".join(str(one.incarnation) for one in chosen)
    lives = f" (lives {lives})" if len(chosen) > 1 else ""
    question = f"Erase {what} of {chosen[0].session}{lives}, {size(freed)}? It cannot be undone."
    return click.confirm(question, default=False, err=True)
