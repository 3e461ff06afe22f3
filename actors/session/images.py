"""Images: what the user shows, with his voice or in an item.

They belong to a moment of the input (a stage that hears in units is given them with the unit of that moment)
and are named by the seq of their ImageReceived, whose blob is the file as it came.
"""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from antiphon.events.envelope import Draft
from antiphon.events.ids import ItemId, Seq
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import Event, ImageReceived, ItemAdded

from .commands import AddItem, AppendAudio, Image
from .refusals import Backpressure, CannotSee, InvalidImage, Unsupported
from .state import Session

MOST_WAITING = 128
"""Images that the stage has not been given."""
MOST_OF_ITEM = 8
MOST_BYTES_OF_ITEM = 4 * 1024 * 1024


def with_audio(state: Session, command: AppendAudio, at: Moment) -> list[Draft]:
    """What was seen while this audio was heard; it comes before the audio."""
    if not command.images:
        return []
    _check(state, command.images)
    return _received(state, command.images, None, at)


def with_item(state: Session, command: AddItem, added: ItemAdded, at: Moment) -> list[Event | Draft]:
    """The item with its images before it, and its parts naming them."""
    item = added.item
    parts = [part for part in item.content if part.kind == "input_image"]
    if not parts and not command.images:
        return [added]
    if item.role != "user" or len(parts) != len(command.images):
        told = "images stand in a user's message, one for each of its input_image parts"
        raise InvalidImage(told, parameter="item.content")
    if not state.abilities.sees:
        raise Unsupported("the stage behind this session takes no images", parameter="item.content")
    _check(state, command.images)
    weight = sum(len(image.data) for image in command.images)
    if len(parts) > MOST_OF_ITEM or weight > MOST_BYTES_OF_ITEM:
        told = f"an item holds at most {MOST_OF_ITEM} images of {MOST_BYTES_OF_ITEM} bytes together"
        raise Backpressure(told, parameter="item.content")
    seqs = itertools.count(state.seq)
    named = tuple(
        replace(part, image=Seq(next(seqs))) if part.kind == "input_image" else part for part in item.content
    )
    shown = replace(added, item=replace(item, content=named))
    return [*_received(state, command.images, item.id, at), shown]


def _check(state: Session, images: tuple[Image, ...]) -> None:
    if not state.abilities.sees:
        raise CannotSee("the stage behind this session takes no images")
    if len(state.units.images) + len(images) > MOST_WAITING:
        raise Backpressure(f"{MOST_WAITING} images wait already for the stage")


def _received(state: Session, images: tuple[Image, ...], item: ItemId | None, at: Moment) -> list[Draft]:
    here = Samples(state.buffer.appended)
    return [
        Draft(ImageReceived(media_type=image.media_type, at_sample=here, item=item), at, image.data)
        for image in images
    ]
