"""A recorded call, held again: by another model, with another prompt, by other thresholds.

Without another stage the recorded one plays: what it said, when it said it. Then the voice detector is the
recording, too, and no audio need be there: what changes is what the session decides. With another stage the
call's audio is given to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from antiphon.actors.session.configuration import MEMBERS
from antiphon.actors.stages.contract import Descriptor
from antiphon.events import vocabulary as v
from antiphon.events.envelope import BlobRef
from antiphon.events.errors import Erased
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Log

from ..sources import Life
from .backstage import Backstage
from .client import Client
from .names import Named, Renaming
from .recorded import RecordedEngine
from .rehearsal import Cast, Rehearsal
from .takes import Takes
from .wishes import CannotRerun, Script, script_of


class Asked(Struct, frozen=True):
    """What is to be otherwise. `config`: members of the session's configuration by dotted names. `backstage`:
    engines that are ready; without a model among them the recorded one plays, and without a voice detector
    the recorded scores do."""

    config: dict[str, Any] = {}
    backstage: Backstage = field(default_factory=Backstage)


class Rerun(Struct, frozen=True):
    """The new call, in a log in memory. `not_done`: what its client did in the recording and here could not.
    `aborted`: why the session could not go on, "" where it could."""

    log: MemoryLog
    session: SessionId
    not_done: tuple[str, ...]
    aborted: str


def rerun(
    life: Life, asked: Asked, *, code: str, progress: Callable[[float], None] = lambda _: None
) -> Rerun:
    """Hold the call again, as fast as the stage allows; the recorded one takes no time.

    Raises CannotRerun; Erased where another stage needs audio that is gone; LogError for a damaged log.
    """
    script = script_of(life.log.read(life.session, incarnation=life.incarnation))
    cast = _cast(script, asked)
    recorded_names, new = Named(), Named()
    for stored in life.log.read(life.session, incarnation=life.incarnation):
        recorded_names.note(stored.event)
    renaming = Renaming(recorded_names, new)
    client = Client(new, renaming, code=code, acknowledges=script.acknowledges)
    log = MemoryLog()
    rehearsal = Rehearsal(script, cast, log, renaming, client)
    payload = _payload(life.log, life, needed=not cast.recorded)
    if cast.recorded:
        takes = Takes(life.log.read(life.session, incarnation=life.incarnation))
        asked.backstage.employ("model", RecordedEngine(cast.abilities, takes, payload, rehearsal.after))
    rehearsal.employ(asked.backstage)
    rehearsal.run(payload, progress)
    return Rerun(log, rehearsal.session, tuple(rehearsal.not_done), client.aborted)


def needs_voice(script: Script, config: dict[str, Any]) -> bool:
    """Whether somebody must listen for speech, and the recording does not say what was heard."""
    detects = with_members(script.opened.config, config).turn_detection is not None
    return detects and not script.scored


def _cast(script: Script, asked: Asked) -> Cast:
    config = with_members(script.opened.config, asked.config)
    able = script.opened.abilities
    model, voice = asked.backstage.descriptor("model"), asked.backstage.descriptor("voice")
    if model is not None:
        able = _abilities(model, able)
    scored = script.scored or voice is not None
    if not scored and config.turn_detection is not None:
        config = replace(config, turn_detection=None)
    able = replace(able, detects_voice=scored or script.opened.abilities.detects_voice)
    changed = {path.partition(".")[0] for path in asked.config}
    return Cast(
        abilities=able,
        config=config,
        set={name: getattr(config, name) for name in changed},
        recorded=model is None,
        scored=voice is None,
    )


def _abilities(stage: Descriptor, before: v.Abilities) -> v.Abilities:
    """Raises CannotRerun for a stage that would need the client to behave in another way."""
    if (stage.hears, stage.unit_ms) != (before.hears, before.unit_ms) and before.unit_ms != stage.unit_ms:
        told = (
            f"the call was with a stage that hears {_hearing(before)}, {stage.name} hears {_hearing(stage)}"
        )
        raise CannotRerun(told)
    members = {name: getattr(stage, name) for name in v.Abilities.__struct_fields__ if hasattr(stage, name)}
    return replace(before, **members, stage=stage.name)


def _hearing(of: Any) -> str:
    return f"units of {of.unit_ms} ms" if of.unit_ms else str(of.hears)


def with_members(config: v.Config, members: dict[str, Any]) -> v.Config:
    """The configuration with members by dotted names (`turn_detection.threshold_permille`) as given, strings
    read as what the member takes. Raises CannotRerun for a name or a value that there is not."""
    built = msgspec.to_builtins(config)
    for path, given in members.items():
        *tables, name = path.split(".")
        if (tables or [name])[0] not in MEMBERS:
            raise CannotRerun(f"a session has no {path}; it has {', '.join(MEMBERS)}")
        table = built
        for one in tables:
            if not isinstance(table.get(one), dict):
                table[one] = {}
            table = table[one]
        table[name] = given
    try:
        changed = msgspec.convert(built, v.Config, strict=False)
    except msgspec.ValidationError as error:
        raise CannotRerun(f"{', '.join(members)}: {error}") from error
    for path in members:
        _check_there(changed, path)
    return changed


def _check_there(config: v.Config, path: str) -> None:
    there: Any = config
    for name in path.split("."):
        if isinstance(there, dict):  # a stage's own options, whatever they are
            return
        if not hasattr(there, name):
            raise CannotRerun(f"a session has no {path}")
        there = getattr(there, name)


def _payload(log: Log, life: Life, *, needed: bool) -> Callable[[BlobRef], bytes]:
    """Reads audio; silence where it was erased and is not needed."""

    def read(ref: BlobRef) -> bytes:
        try:
            return log.read_blob(life.session, ref, incarnation=life.incarnation)
        except Erased:
            if needed:
                raise
            return b""

    return read
