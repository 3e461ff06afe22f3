"""What the dialect must remember of the events so far."""

from __future__ import annotations

from msgspec import Struct

from antiphon.actors.modes.video.stream import Kept
from antiphon.events.ids import ResponseId
from antiphon.events.vocabulary import Config

from . import frames as f

NAME_LENGTH = 12
"""Hexadecimal digits by which an answer is called."""


class Answer(Struct, frozen=True, gc=False):
    """The answer being shown. `consumed` waits for its first output. `streams`: word by word."""

    response: ResponseId
    streams: bool
    consumed: f.FramesConsumed | None = None
    text: str = ""
    text_done: bool = False
    audio: bool = False

    @property
    def name(self) -> str:
        return named(self.response)


class View(Struct, frozen=True, gc=False):
    """`asked` is the question whose answer has not begun, as it will be told."""

    attachment: int
    config: Config = Config()
    kept: tuple[Kept, ...] = ()
    asked: tuple[bool, f.FramesConsumed | None] = (True, None)
    answer: Answer | None = None
    finished: bool = False


def named(response: ResponseId) -> str:
    """What clients call an answer."""
    return f"video-{response.rpartition('_')[2][:NAME_LENGTH]}"
