"""Entries of the conversation that did not come from the stage."""

from typing import Literal

from msgspec import Struct

from ..ids import ItemId, Seq
from .base import Event

PartKind = Literal["input_text", "output_text", "input_audio", "output_audio", "input_image"]


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of an item's content. `text` is a text's text or an audio's transcript (None: not known).

    `image` is the seq of the ImageReceived that holds an input_image.
    """

    kind: PartKind
    text: str | None = None
    image: Seq | None = None


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message or function entry as clients see it."""

    id: ItemId
    kind: Literal["message", "function_call", "function_call_output"] = "message"
    role: Literal["user", "assistant", "system"] | None = None
    content: tuple[Part, ...] = ()
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | None = None


class ItemAdded(Event, frozen=True, kw_only=True):
    """A client put an item into the conversation, after `previous` (None: first)."""

    item: Item
    previous: ItemId | None = None
    client_event: str | None = None


class ItemRemoved(Event, frozen=True, kw_only=True):
    """A client took an item out of the conversation."""

    item: ItemId
