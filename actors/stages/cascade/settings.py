"""What can be chosen about the cascade: section [stage.cascade]."""

from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.stages.chat_backend.endpoints import Seconds
from antiphon.actors.stages.contract import EngineRefused


class CascadeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`llm_url` puts a chat server in the embedded language model's place, with `llm_sees` one that takes
    images, and with `llm_hears` one that takes sound; `gguf_path` another model file.

    `lanes` answers are written at once and `threads` compute them (both: embedded model only).
    """

    llm_url: str = ""
    llm_model: str = ""
    llm_sees: bool = False
    llm_hears: bool = False
    llm_key_file: str = ""
    llm_connect_s: Seconds = 5.0
    llm_first_word_s: Seconds = 60.0
    llm_idle_s: Seconds = 30.0
    gguf_path: str = ""
    max_sessions: int = 8
    lanes: int = 2
    threads: int = 2


def read_settings(settings: dict[str, Any]) -> CascadeSettings:
    """Raises EngineRefused, naming the setting."""
    try:
        chosen = msgspec.convert(settings, CascadeSettings)
    except msgspec.ValidationError as error:
        raise EngineRefused("bad_settings", f"[stage.cascade] {error}") from error
    for name in ("max_sessions", "lanes", "threads"):
        if getattr(chosen, name) < 1:
            raise EngineRefused("bad_settings", f"[stage.cascade] {name} is at least 1")
    if chosen.llm_url and chosen.gguf_path:
        raise EngineRefused("bad_settings", "[stage.cascade] either llm_url or gguf_path, not both")
    for name in ("llm_sees", "llm_hears", "llm_key_file"):
        if getattr(chosen, name) and not chosen.llm_url:
            raise EngineRefused("bad_settings", f"[stage.cascade] {name} is said of llm_url")
    return chosen
