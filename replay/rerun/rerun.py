"""A recorded call, held again: by another model, with another prompt, by other thresholds.

Without another stage the recorded one plays: what it said, when it said it. Where the recording has scores of
a voice detector they are told again, whoever else is there. So no audio need be there: what changes is what
the session decides. With another stage the call's audio is given to that, and to a live voice detector where
speech is to be heard of which there are no scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from antiphon.actors.modes.half_duplex.commands import Prepare
from antiphon.actors.session import commands as c
from antiphon.actors.session.configuration import MEMBERS
from antiphon.actors.stages.contract import Descriptor
from antiphon.events import vocabulary as v
from antiphon.events.envelope import BlobRef
from antiphon.events.errors import Erased
from antiphon.events.memory import MemoryLog

from ..sources import Life
from .backstage import Backstage
from .client import Client
from .names import Named, Renaming
from .recorded import RecordedEngine
from .rehearsal import Cast, Rehearsal
from .takes import Payload, Takes
from .wishes import CannotRerun, Script, script_of


class Changes(Struct, frozen=True):
    """What is to be otherwise. `config`: members of the session's configuration by dotted names. `backstage`:
    engines that are ready; without a model among them the recorded one plays. A voice detector among them is
    listened to where the recording has no scores; without one nobody listens there."""

    config: dict[str, Any] = {}
    backstage: Backstage = field(default_factory=Backstage)


class Rerun(Struct, frozen=True):
    """The new call, kept in memory. `not_done`: what its client did in the recording and here could not.
    `aborted`: why the session could not go on, "" where it could."""

    life: Life
    not_done: tuple[str, ...]
    aborted: str


def rerun(
    life: Life, changes: Changes, *, code: str, progress: Callable[[float], None] = lambda _: None
) -> Rerun:
    """Hold the call again, as fast as the stage allows; the recorded one takes no time.

    Raises CannotRerun; Erased where a stage needs audio that is gone; LogError for a damaged log.
    """
    script = script_of(life.events())
    cast = _cast(script, changes)
    recorded_names, new = Named(), Named()
    for stored in life.events():
        recorded_names.note(stored.event)
    renaming = Renaming(recorded_names, new)
    client = Client(new, renaming, code=code, acknowledges=script.acknowledges)
    log = MemoryLog()
    rehearsal = Rehearsal(script, cast, log, renaming, client)
    or_silence = _or_silence(life)
    if cast.recorded:
        engine = RecordedEngine(cast.abilities, Takes(life.events()), or_silence, rehearsal.after)
        changes.backstage.employ("model", engine)
    rehearsal.employ(changes.backstage)
    needed = not cast.recorded or cast.listened
    try:
        rehearsal.run(life.payload if needed else or_silence, progress)
    finally:  # the next call finds the engines as this one did
        changes.backstage.clear()
        if cast.recorded:
            changes.backstage.dismiss("model")
    again = Life(rehearsal.session, log, rehearsal.session, incarnation=0)
    return Rerun(again, tuple(rehearsal.not_done), client.aborted)


def needs_voice(script: Script, config: dict[str, Any]) -> bool:
    """Whether somebody must listen for speech, and the recording does not say what was heard."""
    detection: v.TurnDetection | UnsetType | None = with_members(script.opened.config, config).turn_detection
    changed = any(_member(path) == "turn_detection" for path in config)
    for wish in () if script.scored else script.wishes:
        if isinstance(wish.command, c.AppendAudio) and detection is not None:
            return True
        change = wish.command.configuration if isinstance(wish.command, Prepare) else wish.command
        if isinstance(change, c.Configure) and change.turn_detection is not UNSET and not changed:
            detection = change.turn_detection
    return False


def _cast(script: Script, changes: Changes) -> Cast:
    config = with_members(script.opened.config, changes.config)
    able = script.opened.abilities
    model, voice = changes.backstage.descriptor("model"), changes.backstage.descriptor("voice")
    if model is not None:
        able = _abilities(model, able)
    needed = needs_voice(script, changes.config)
    if needed and voice is None:
        config = replace(config, turn_detection=None)
    detects = script.opened.abilities.detects_voice or script.scored or (needed and voice is not None)
    return Cast(
        abilities=replace(able, detects_voice=detects),
        config=config,
        set={name: getattr(config, name) for name in map(_member, changes.config)},
        recorded=model is None,
        listened=needed and voice is not None,
    )


def _member(path: str) -> str:
    return path.partition(".")[0]


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


def _or_silence(life: Life) -> Payload:
    """Reads audio; what was erased is silence."""

    def read(ref: BlobRef) -> bytes:
        try:
            return life.payload(ref)
        except Erased:
            return b""

    return read
