"""Which software fills a stage, by name. An engine's module is imported only in the stage's own process.

Installed packages offer engines of their own as entry points of the group `antiphon.stages`:

    [project.entry-points."antiphon.stages"]
    parrot = "parrot:Parrot"
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from antiphon.actors.stages.contract import Engine, EngineRefused

GROUP = "antiphon.stages"
VOICE = "vad"
ENGINES: dict[str, str] = {
    "echo": "antiphon.actors.stages.echo.engine:EchoEngine",
    "scripted": "antiphon.actors.stages.scripted.engine:ScriptedEngine",
    VOICE: "antiphon.actors.stages.vad.engine:VadEngine",
    "chat": "antiphon.actors.stages.chat_backend.engine:ChatEngine",
    "cascade": "antiphon.actors.stages.cascade.engine:CascadeEngine",
    "moshi": "antiphon.actors.stages.moshi.engine:MoshiEngine",
    "minicpmo": "antiphon.actors.stages.minicpmo.engine:MiniCpmOEngine",
}


def engines() -> dict[str, str]:
    """Every engine by its name. What is called like one of ours is ours."""
    from importlib.metadata import entry_points  # it takes its time, and is needed for others' engines only

    return {point.name: point.value for point in entry_points(group=GROUP)} | ENGINES


def models() -> list[str]:
    """Those that can be a model stage; ours that only detect voices cannot."""
    return [name for name in engines() if name != VOICE]


def is_known(name: str) -> bool:
    return name in ENGINES or name in engines()


def load_engine(name: str, settings: dict[str, Any], progress: Callable[[str], None]) -> Engine:
    """Import and construct the engine, which loads its models: seconds, and all the memory it will need.

    `progress` is called with short sentences for people. Raises EngineRefused for an unknown name, for a
    missing extra, and for whatever the engine itself will not start with.
    """
    path = ENGINES.get(name) or engines().get(name)
    if path is None:
        raise EngineRefused("unknown_engine", f"no engine {name!r}; there are {', '.join(engines())}")
    module, _, attribute = path.partition(":")
    try:
        constructor = getattr(import_module(module), attribute)
    except ModuleNotFoundError as missing:
        raise EngineRefused("not_installed", f"engine {name!r} needs the module {missing.name}") from missing
    engine: Engine = constructor(settings, progress=progress)
    return engine
