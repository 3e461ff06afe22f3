"""What a client's frame may ask for: mostly commands of the session, and questions that are only answered.

A dialect's decoder reads frames in two steps. `parse` depends on nothing but the text, so it may be done
anywhere. `wishes` goes by what came before (half a sample, audio that is collected, where a stream stands):
it is done once for each frame and in order, but for those that are in a hurry.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.session.commands import Command
from antiphon.events.ids import ItemId


class AskItem(Struct, frozen=True):
    """A question about an item: answered, not decided."""

    item: ItemId
    client_event: str | None


class Beat(Struct, frozen=True):
    """The client says that it is there, and wants to hear the same."""

    client_event: str | None


Wish = Command | AskItem | Beat


def counted(wishes: list[Wish]) -> list[Wish]:
    """With the parts of each frame counted, but for its last."""
    counted_of: dict[str, int] = {}
    told: list[Wish] = []
    for wish, following in zip_longest(wishes, wishes[1:]):
        event = wish.client_event
        if event is None or not isinstance(wish, Command):
            told.append(wish)
        elif following is not None and following.client_event == event:
            part = counted_of[event] = counted_of.get(event, -1) + 1
            told.append(replace(wish, part=part))
        else:
            told.append(wish)
    return told


class Decoder(Protocol):
    """Client frames to wishes, for one connection. Frames are the dialect's own types; where it takes binary
    frames, those are bytes, which are not parsed."""

    hurried: frozenset[type]
    """Frames that do not wait for others before them that are still being read."""
    audio: frozenset[type]
    voiding: frozenset[type]
    """Frames after which uncommitted audio before them is not wanted any more."""

    def read(self, text: str) -> list[Wish]:
        """What the frame asks for: `parse`, then `wishes`. Raises Undecodable; then nothing was asked."""

    def parse(self, text: str) -> Any:
        """The frame. Raises Undecodable."""

    def wishes(self, frame: Any) -> list[Wish]:
        """What the frame asks for, in order. Raises Undecodable; then nothing was asked."""

    def at_once(self, frame: Any) -> list[Wish]:
        """The same of a frame in a hurry, while another is being read. Touches nothing between frames."""

    def begins(self, frame: Any) -> bool:
        """Whether what the frame asks for may begin an answer."""

    def flush(self) -> list[Wish]:
        """The audio collected so far, as commands."""

    def forget(self) -> None:
        """The audio collected so far is not wanted."""

    def keep_apart(self, frames: int) -> None:
        """So many frames of audio that have an id become commands of their own: some may be known already."""
