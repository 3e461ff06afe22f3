"""Which software fills a stage, by name. An engine's module is imported only in the stage's own process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from antiphon.actors.stages.contract import Engine, EngineRefused

ENGINES: dict[str, str] = {
    "echo": "antiphon.actors.stages.echo.engine:EchoEngine",
    "scripted": "antiphon.actors.stages.scripted.engine:ScriptedEngine",
    "vad": "antiphon.actors.stages.vad.engine:VadEngine",
    "chat": "antiphon.actors.stages.chat_backend.engine:ChatEngine",
    "cascade": "antiphon.actors.stages.cascade.engine:CascadeEngine",
}


def load_engine(name: str, settings: dict[str, Any], progress: Callable[[str], None]) -> Engine:
    """Import and construct the engine, which loads its models: seconds, and all the memory it will need.

    `progress` is called with short sentences for people. Raises EngineRefused for an unknown name, for a
    missing extra, and for whatever the engine itself will not start with.
    """
    path = ENGINES.get(name)
    if path is None:
        raise EngineRefused("unknown_engine", f"no engine {name!r}; there are {', '.join(ENGINES)}")
    module, _, attribute = path.partition(":")
    try:
        constructor = getattr(import_module(module), attribute)
    except ModuleNotFoundError as missing:
        raise EngineRefused("not_installed", f"engine {name!r} needs the module {missing.name}") from missing
    engine: Engine = constructor(settings, progress=progress)
    return engine
