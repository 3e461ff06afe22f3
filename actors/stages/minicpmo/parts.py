"""What the stage is made of, from a checkpoint's folder. Imports torch only where it is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from antiphon.actors.stages.contract import EngineRefused

from . import handing
from .options import MiniCpmOSettings
from .shapes import Shape, read_shape
from .thinker import Embeddings, Facts, Thinker
from .words import Words, read_words

Progress = Callable[[str], None]
HOW_TO_INSTALL = (
    "MiniCPM-o on torch is not installed: `make minicpmo`, or pip install torch, then pip install "
    "'antiphon[minicpmo]'"
)


class Ears(Protocol):
    """Used by one thread."""

    def hear(self, hearing: Any, second: NDArray[np.float32]) -> Embeddings: ...


class Eyes(Protocol):
    """Used by one thread."""

    def see(self, file: bytes) -> Embeddings:
        """Raises BadImage."""


class Conditions(Protocol):
    def of(self, words: handing.Words, *, last: bool) -> Embeddings: ...


class Parts(Struct, frozen=True):
    """`hearing` makes what `ears` keep of one stream; a checkpoint without vision has no `eyes`. `talker` is
    a thinker over the codec's tokens."""

    shape: Shape
    words: Words
    thinker: Thinker
    ears: Ears
    hearing: Callable[[], Any]
    eyes: Eyes | None
    conditions: Conditions
    talker: Thinker
    talker_is_random: bool

    def stop(self) -> None:
        self.thinker.stop()
        self.talker.stop()


def load_parts(chosen: MiniCpmOSettings, progress: Progress) -> Parts:
    """Everything loaded and warm. Raises EngineRefused."""
    folder = Path(chosen.model)
    shape = read_shape(folder)
    words = read_words_or_refuse(folder, shape)
    try:
        from .nets.loading import load
    except ModuleNotFoundError as missing:
        raise EngineRefused("not_installed", f"{HOW_TO_INSTALL} ({missing})") from missing
    return load(chosen, folder, shape, words, progress)


def read_words_or_refuse(folder: Path, shape: Shape) -> Words:
    try:
        return read_words(folder, shape.vocab_size)
    except ModuleNotFoundError as missing:
        raise EngineRefused("not_installed", f"{HOW_TO_INSTALL} ({missing})") from missing


def thinker_facts(chosen: MiniCpmOSettings, shape: Shape, name: str) -> Facts:
    """Of a thinker that holds what the settings ask for."""
    length = min(chosen.context_tokens, shape.max_position_embeddings)
    return Facts(
        name=name,
        max_sessions=chosen.max_sessions,
        context_tokens=length,
        kv_tokens=chosen.max_sessions * length,
        hidden=shape.hidden_size,
        vocabulary=shape.vocab_size,
        can_truncate=True,
        gives_hidden=True,
    )
