"""conversation.item.create: items of text and images as they are, and what is spoken in them as audio.

Spoken parts go the way of all audio: appended and committed, the first of them by the item's id. What is
written or shown beside them is an item of its own, before them. Silent parts are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from antiphon.actors.session.commands import AddItem, Command, CommitInput, Image
from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import Item, Part, PartKind
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f
from .images import image_url

KINDS = ("message", "function_call", "function_call_output")
ROLES = ("user", "assistant", "system")
TEXTS: dict[str, PartKind] = {
    "input_text": "input_text",
    "output_text": "output_text",
    "text": "output_text",
}
AUDIO: dict[str, PartKind] = {
    "input_audio": "input_audio",
    "output_audio": "output_audio",
    "audio": "output_audio",
}

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")

Speak = Callable[[f.Content], list[Command]]
"""A spoken part as audio of the session, nothing if it is silent. Raises Undecodable."""


def create_item(frame: f.ItemCreate, speak: Speak) -> list[Command]:
    """What the frame asks for, in order. Raises Undecodable; then nothing was asked."""
    given, event = frame.item, frame.event_id
    _check(given, event)
    spoken = [part for part in given.content if part.audio is not None]
    if not spoken:
        return [_written(frame, given.content, given.id)]
    if given.type != "message" or given.role not in (None, "user"):
        raise _bad("only a user's message holds audio", "item.content", event)
    beside = [part for part in given.content if part.audio is None]
    name = None if given.id is None else f"{given.id}_image"
    asked: list[Command] = [_written(frame, beside, name)] if beside else []
    item = None if given.id is None else ItemId(given.id)
    for part in spoken:
        audio = speak(part)
        if audio:
            asked += [*audio, CommitInput(client_event=event, respond=False, any_length=True, item=item)]
            item = None
    return asked


def _check(given: f.Item, client_event: str | None) -> None:
    if given.type not in KINDS:
        raise _bad(f"items are {', '.join(KINDS)}", "item.type", client_event)
    if given.id is not None and not _ID.fullmatch(given.id):
        raise _bad("an item id is 1 to 128 of A-Z a-z 0-9 _ . : -", "item.id", client_event)
    if given.type == "message" and given.role not in (None, *ROLES):
        raise _bad(f"a role is {', '.join(ROLES)}", "item.role", client_event)
    if given.type == "function_call_output" and not isinstance(given.output, str):
        message = "the output of a function is a string"
        raise Undecodable("invalid_function_call_output", message, "item.output", client_event)


def _written(frame: f.ItemCreate, content: list[f.Content], name: str | None) -> AddItem:
    given, event = frame.item, frame.event_id
    read = [_part(part, event) for part in content]
    previous = {None: "", "root": None}.get(frame.previous_item_id, frame.previous_item_id)
    role = given.role or "user" if given.type == "message" else None
    item = Item(
        id=ItemId(name or ""),
        kind=given.type,  # type: ignore[arg-type]  # one of KINDS
        role=role,  # type: ignore[arg-type]  # one of ROLES
        content=tuple(part for part, _ in read),
        call_id=given.call_id,
        name=given.name,
        arguments=given.arguments,
        output=given.output if isinstance(given.output, str) else None,
    )
    return AddItem(
        client_event=event,
        item=item,
        previous=None if previous is None else ItemId(previous),
        images=tuple(image for _, image in read if image is not None),
    )


def _part(part: f.Content, client_event: str | None) -> tuple[Part, Image | None]:
    if part.type == "input_image":
        return Part(kind="input_image"), image_url(part.image_url, client_event)
    if part.type in AUDIO:  # of earlier talk, by its words
        return Part(kind=AUDIO[part.type], text=part.transcript or ""), None
    kind = TEXTS.get(part.type)
    if kind is None:
        message = f"content of type {part.type[:40]!r} cannot be put into an item"
        raise Undecodable("unsupported_content", message, "item.content", client_event)
    return Part(kind=kind, text=part.text or ""), None


def _bad(message: str, parameter: str, client_event: str | None) -> Undecodable:
    return Undecodable("invalid_value", message, parameter, client_event)
