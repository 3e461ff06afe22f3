"""`antiphon serve`: run the server until it is told to stop."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from . import joyvl, minicpmo, moshi

if TYPE_CHECKING:
    from antiphon.actors.processes.fork_server import ForkServer
    from antiphon.web.settings import Settings

KEYS = ("ANTIPHON_KEYS", "ANTIPHON_OPERATOR_KEYS")


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="TCP port (8765).")
@click.option("--host", help="Address to bind (127.0.0.1). Others need an API key.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that serve clients (1).")
@click.option("--data", type=click.Path(file_okay=False), help="Where the sessions' logs are kept.")
@click.option(
    "--stage", help="What answers: cascade, chat, minicpmo, moshi, scripted, echo, or an installed engine."
)
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file.")
@click.option(
    "--keep-audio", metavar="TIME", help="Erase audio this long after its session, e.g. 30d (none)."
)
@click.option("--keep-events", metavar="TIME", help="Erase the whole log this long after its session (none).")
@click.option("--max-data", metavar="SIZE", help="Erase the oldest beyond this size, e.g. 20GB (none).")
@click.option("--no-audio-log", is_flag=True, default=None, help="Keep no audio once a session is over.")
@click.option("--min-free", metavar="SIZE", help="With less free disk no session begins (1GB).")
@click.option(
    "--tls-certificate", metavar="FILE", help="Serve https and wss: a PEM certificate (and its chain)."
)
@click.option(
    "--tls-key", metavar="FILE", help="The certificate's private key, a PEM file without a passphrase."
)
@click.option("--static", metavar="DIR", help="The official Moshi client, built: served at /moshi/.")
@click.option("--llm-url", help="An OpenAI-compatible endpoint that answers in the language model's place.")
@click.option("--llm-model", help="The model to ask for at --llm-url.")
@joyvl.options
@minicpmo.OPTIONS.add
@moshi.OPTIONS.add
def serve(config: Path | None, llm_url: str | None, llm_model: str | None, **flags: Any) -> None:
    """Serve conversations. The page to talk through is at http://HOST:PORT/.

    Settings come from --config, then from ANTIPHON_* variables, then from these flags. API keys come from
    ANTIPHON_KEYS or the file; the key for --llm-url from ANTIPHON_LLM_API_KEY.

    TIME is a whole number and s, m, h, d or w; SIZE one and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB; both may
    be none.
    """
    from antiphon.actors.processes import service_manager
    from antiphon.actors.processes.fork_server import ForkServer

    inherited = {
        name: value for name, value in os.environ.items() if name not in (*KEYS, service_manager.VARIABLE)
    }
    with ForkServer(inherited) as forks:  # first of all: it imports what serves while we read the settings
        _launch(_settings(config, flags, {"llm_url": llm_url, "llm_model": llm_model}), forks)


def _settings(config: Path | None, flags: dict[str, Any], model: dict[str, str | None]) -> Settings:
    """What is to be served, looked at before anything is started that would need it."""
    from antiphon.web import peers_page, tls
    from antiphon.web.settings import SettingsError, load

    of_stages = [(options, options.taken_out(flags)) for options in (minicpmo.OPTIONS, moshi.OPTIONS)]
    try:
        watching = joyvl.settings_of(joyvl.taken_out(flags))
        settings = load(config, flags={**flags, **watching})
        tls.context(settings)
        peers_page.check(settings)
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
    for options, given in of_stages:
        settings = options.put_in(settings, given)
    settings = _with_model(settings, model)
    _check_data(Path(settings.data))
    if tls.key_is_exposed(settings):
        click.echo(f"antiphon: everybody on this machine can read {settings.tls_key}: chmod 600 it", err=True)
    return settings


def _launch(settings: Settings, forks: ForkServer) -> NoReturn:
    from antiphon.actors.processes.errors import LaunchError
    from antiphon.actors.processes.launcher import launch
    from antiphon.web import logs

    for name in KEYS:
        os.environ.pop(name, None)  # the serving processes have them; nobody else needs to inherit them
    logs.configure(settings.log_level)
    try:
        sys.exit(launch(_plan(settings), forks))
    except LaunchError as error:
        raise click.ClickException(str(error)) from error


def _check_data(data: Path) -> None:
    """Say what is wrong with the data directory before anything is started that would need it."""
    from antiphon.events.errors import LogError
    from antiphon.events.segments.layout import Layout

    try:
        Layout(data)
        (data / "logs").mkdir(exist_ok=True)
    except (LogError, OSError) as error:
        raise click.ClickException(f"the sessions' logs cannot be kept in {data}: {error}") from error
    if not os.access(data / "sessions", os.W_OK):
        raise click.ClickException(f"the sessions' logs cannot be kept in {data}: it cannot be written")


def _with_model(settings: Settings, model: dict[str, str | None]) -> Settings:
    """The settings with the endpoint that answers, and with the best stage that this installation can run."""
    given = {name: value for name, value in model.items() if value}
    stages = dict(settings.stages)
    for name in ("cascade", "chat"):
        stages[name] = {**settings.stage_settings(name), **given}
    settings = msgspec.structs.replace(settings, stages=stages)
    if settings.stage != "cascade" or _installed("moonshine_voice", "hibari", "onnxruntime", "silero_vad"):
        return settings
    if "llm_url" not in stages["cascade"]:
        raise click.ClickException(
            "the embedded models are not installed: run `make setup`, or serve with --stage echo or --llm-url"
        )
    chat = {name: value for name, value in stages["cascade"].items() if name.startswith("llm_")}
    click.echo("antiphon: without the embedded models there is no ear and no voice: text only", err=True)
    return msgspec.structs.replace(settings, stage="chat", stages={**stages, "chat": chat})


def _plan(settings: Settings) -> Any:
    from antiphon.actors.processes.launcher import LaunchPlan, StagePlan

    stages = [
        StagePlan(name="model", engine=settings.stage, settings=settings.stage_settings(settings.stage))
    ]
    if _hears(settings.stage) and _installed("onnxruntime", "silero_vad"):
        path = settings.duplex_session.server_vad_model_path
        given = {"model_path": path} if path else {}
        stages.append(StagePlan(name="voice", engine="vad", settings=settings.stage_settings("vad") | given))
    return LaunchPlan(
        host=settings.host,
        port=settings.port,
        data_dir=Path(settings.data),
        stages=tuple(stages),
        workers=settings.workers,
        settings=msgspec.to_builtins(settings),
    )


def _hears(stage: str) -> bool:
    return stage != "chat"


def _installed(*packages: str) -> bool:
    """Whether parts of the [cascade] extra are there; without a detector server VAD is refused by name."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in packages)
