"""What a call is held again with: the stage, its settings, and the session's configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from ..log.store import fail

if TYPE_CHECKING:
    from antiphon.actors.session.commands import StageRole
    from antiphon.replay.rerun.backstage import Backstage
    from antiphon.replay.rerun.rerun import Changes
    from antiphon.replay.sources import Life

STAGE_SETTING = "stage."
VOICE = "vad"
PERMILLE = "turn_detection.threshold"


class Chosen(Struct, frozen=True):
    """`stage` "": the recorded one. `settings`: of the stages, by their names."""

    stage: str
    config: dict[str, Any]
    settings: dict[str, dict[str, Any]]

    def changes(self, life: Life, backstage: Backstage, say: Callable[[str], None]) -> Changes:
        """What the call is to be held again with. Engines that it needs and that are not backstage yet are
        loaded, and `say` is told so. Ends the program where one is not to be had; raises CannotRerun."""
        from antiphon.replay.rerun.rerun import Changes, needs_voice
        from antiphon.replay.rerun.wishes import script_of

        script = script_of(life.events())
        if self.stage and backstage.desk("model") is None:
            self._employ("model", self.stage, backstage, say)
        if needs_voice(script, self.config) and backstage.desk("voice") is None:
            self._employ("voice", VOICE, backstage, say)
        return Changes(config=self.config, backstage=backstage)

    def _employ(self, role: StageRole, name: str, backstage: Backstage, say: Callable[[str], None]) -> None:
        from antiphon.actors.stages.contract import EngineRefused
        from antiphon.actors.stages.registry import load_engine

        say(f"loading {name}")
        try:
            backstage.employ(role, load_engine(name, self.settings.get(name, {}), say))
        except EngineRefused as refused:
            fail(refused.message)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="Change this (repeatable)."),
        click.option(
            "--config",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A server's TOML file: its [stage.NAME] tables are the stages' settings.",
        ),
        click.option("--stage", help="What answers instead of the recording: cascade, chat, scripted, ..."),
    ):
        command = option(command)
    return command


def chosen(*, stage: str | None, config: Path | None, given: tuple[str, ...]) -> Chosen:
    """Read the options. Raises BadParameter."""
    from antiphon.web.settings import SettingsError, load

    try:
        stages = {name: dict(table) for name, table in load(config, flags={}).stages.items()}
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
    session: dict[str, Any] = {}
    for one in given:
        name, is_given, value = one.partition("=")
        if not is_given or not name:
            raise click.BadParameter(f"{one} is not NAME=VALUE", param_hint="--set")
        if name.startswith(STAGE_SETTING) and stage:
            stages.setdefault(stage, {})[name.removeprefix(STAGE_SETTING)] = _value(value)
        elif name.startswith(STAGE_SETTING):
            raise click.BadParameter(f"{one} is a stage's, and no --stage is named", param_hint="--set")
        elif name == PERMILLE:
            session["turn_detection.threshold_permille"] = _permille(value)
        else:
            session[name] = _value(value)
    return Chosen(stage or "", session, stages)


def named(*, stage: str | None, config: Path | None, given: tuple[str, ...]) -> str:
    """For the head of a column."""
    return ", ".join([f"by {stage}"] * bool(stage) + [f"with {one}" for one in given]) or "unchanged"


def _value(text: str) -> Any:
    """JSON where it is some, else the text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _permille(text: str) -> int:
    try:
        return round(float(text) * 1000)
    except ValueError as error:
        raise click.BadParameter(f"{PERMILLE} is a number from 0 to 1", param_hint="--set") from error
