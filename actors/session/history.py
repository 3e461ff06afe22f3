"""The conversation: items in their places, and what the model is to see of them.

A response's place is where it was created; whatever is learnt later (a transcript, how much was heard)
fills its own slot. The model sees the user's words and the assistant's *heard* words, never what was
generated and not played. The answer to a deferred item stands right behind it, and of what came later the
model that gives it sees nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import ItemId
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    Event,
    InputCommitted,
    InputTranscribed,
    Item,
    ItemAdded,
    ItemRemoved,
    Part,
    ResponseCreated,
    ResponseEnded,
    ToolCalled,
)

from .commands import AddItem, AppendText, RemoveItem
from .heard import heard_text
from .question import Line
from .refusals import CannotRead, InvalidOutput, InvalidValue, ItemExists, ItemNotFound
from .state import Entry, Session

MOST_ITEMS = 10_000
MOST_TEXT = 16_000_000
"""Characters that a client may put into one conversation; checked when it adds many."""
MANY = 10_000
SHOWN_TEXT = 1_000_000
"""Characters of a conversation that a model is shown at most, the newest: none has room for more."""


def add_item(state: Session, command: AddItem, at: Moment) -> list[ItemAdded]:
    item = command.item
    if item.id and state.entry(item.id) is not None:
        raise ItemExists(f"an item {item.id} is already there", parameter="item.id")
    if len(state.entries) >= MOST_ITEMS:
        raise InvalidValue(f"a conversation holds at most {MOST_ITEMS} items")
    if _length(item) > MANY and sum(_length(entry.item) for entry in state.entries) > MOST_TEXT:
        raise InvalidValue(f"a conversation holds at most {MOST_TEXT} characters", parameter="item.content")
    previous = state.last_item if command.previous == "" else command.previous
    if previous is not None and state.entry(previous) is None:
        raise ItemNotFound(f"no item {previous} to stand behind", parameter="previous_item_id")
    if item.kind == "function_call_output" and state.config.strict:
        _check_output(state, item)
    placed = item if item.id else replace(item, id=ItemId(state.new_id("item")))
    return [ItemAdded(item=placed, previous=previous, client_event=command.client_event)]


def _check_output(state: Session, item: Item) -> None:
    """Of one call that is there, once, as text."""
    known = {entry.item.kind for entry in state.entries if entry.item.call_id == item.call_id}
    if not item.call_id or "function_call" not in known:
        raise InvalidOutput(f"no function was called as {item.call_id}", parameter="item.call_id")
    if item.output is None or "function_call_output" in known:
        raise InvalidOutput("a call has one output, and that is a text", parameter="item.output")


def append_text(state: Session, command: AppendText, at: Moment) -> list[ItemAdded]:
    """What the user writes while talking is a message of his."""
    if not state.abilities.reads:
        raise CannotRead("the stage behind this session takes no text", parameter="text")
    part = Part(kind="input_text", text=command.text)
    written = Item(id=ItemId(""), role="user", content=(part,))
    return add_item(state, AddItem(item=written, client_event=command.client_event), at)


def _length(item: Item) -> int:
    texts = [item.output, item.arguments, *(part.text for part in item.content)]
    return sum(len(text) for text in texts if text)


def remove_item(state: Session, command: RemoveItem, at: Moment) -> list[Event]:
    if state.entry(command.item) is None:
        raise ItemNotFound(f"no item {command.item}", parameter="item_id")
    return [ItemRemoved(item=command.item)]


def content_of(state: Session, entry: Entry) -> tuple[Part, ...]:
    """The item's content as it counts: for an assistant's response, what was heard of it."""
    if entry.response is None:
        return entry.item.content
    played = state.playback(entry.response)
    text = "" if played is None else heard_text(played, state.mono_ns)
    kind = "output_audio" if played is None or played.audible else "output_text"
    return (Part(kind=kind, text=text),)  # type: ignore[arg-type]  # both are PartKinds


def conversation(state: Session) -> tuple[Line, ...]:
    """Everything the model is to see, oldest first. What says and shows nothing is left out, and so is a call
    without its output, which stands right behind it wherever the client put it."""
    lines: list[Line] = []
    seen = _seen(state)
    outputs = {item.call_id: item for item, _ in seen if item.kind == "function_call_output"}
    calling = -1  # the assistant's line that calls belong to: with its outputs it is the latest
    for item, line in seen:
        if item.kind == "function_call":
            output = outputs.get(item.call_id)
            if output is None:
                continue
            if calling < 0:
                calling = len(lines)
                lines.append(Line("assistant"))
            lines[calling] = replace(lines[calling], calls=(*lines[calling].calls, item))
            lines.append(Line("tool", output.output or "", call=item))
        elif line is not None and (line.text or line.images):
            calling = len(lines) if line.role == "assistant" else -1
            lines.append(line)
    return tuple(lines)


def _seen(state: Session) -> list[tuple[Item, Line | None]]:
    """The items that count, oldest first, and of very many the newest; messages with what they say."""
    active, seen, shown = state.turns.active, list[tuple[Item, Line | None]](), 0
    later = active is not None and active.answers is not None and state.entry(active.item) is not None
    for entry in reversed(state.entries):
        if later:  # than the deferred item that is being answered
            later = active is not None and entry.item.id != active.item
            continue
        if not entry.shared or (active is not None and entry.response == active.response):
            continue
        line = _line(state, entry)
        seen.append((entry.item, line))
        shown += _length(entry.item) if line is None else len(line.text)
        if shown > SHOWN_TEXT:
            break
    return seen[::-1]


def _line(state: Session, entry: Entry) -> Line | None:
    if entry.item.kind != "message" or entry.item.role is None:
        return None
    content = content_of(state, entry)
    text = " ".join(part.text for part in content if part.text)
    return Line(entry.item.role, text, tuple(part.image for part in content if part.image is not None))


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case InputCommitted(outcome="silence" | "acknowledgement"):
            return state
        case InputCommitted(item=item, previous=previous):
            content = (Part(kind="input_audio"), *_shown_with(state, event))
            spoken = Item(id=item, role="user", content=content)
            return _insert(state, Entry(spoken), previous)
        case InputTranscribed(item=item, text=text):
            return _rewrite(state, item, Part(kind="input_audio", text=text))
        case ItemAdded(item=added, previous=previous):
            return _insert(state, Entry(added), previous)
        case ToolCalled(item=item, previous=previous):
            call = Item(
                id=item,
                kind="function_call",
                call_id=event.call_id,
                name=event.name,
                arguments=event.arguments,
            )
            spoken_by = state.entry(state.turns.active.item) if state.turns.active is not None else None
            return _insert(state, Entry(call, shared=spoken_by is None or spoken_by.shared), previous)
        case ItemRemoved(item=item):
            left = tuple(entry for entry in state.entries if entry.item.id != item)
            return replace(state, entries=left)
        case ResponseCreated(item=item, response=response, previous=previous, in_history=shared):
            answer = Entry(Item(id=item, role="assistant"), response, "in_progress", shared)
            return _insert(state, answer, previous)
        case ResponseEnded(response=response, outcome=outcome):
            status = "completed" if outcome == "completed" else "incomplete"
            ended = tuple(
                replace(entry, status=status) if entry.response == response else entry
                for entry in state.entries
            )
            return replace(state, entries=ended)
        case _:
            return state


def _insert(state: Session, entry: Entry, previous: ItemId | None) -> Session:
    """Behind `previous`; at the front without one. A place that has gone meanwhile means the end."""
    if previous is None:
        return replace(state, entries=(entry, *state.entries))
    if state.last_item == previous:
        return replace(state, entries=(*state.entries, entry))
    at_ = next(
        (k for k, known in enumerate(state.entries) if known.item.id == previous),
        len(state.entries) - 1,
    )
    return replace(state, entries=(*state.entries[: at_ + 1], entry, *state.entries[at_ + 1 :]))


def _shown_with(state: Session, event: InputCommitted) -> list[Part]:
    """Images that came with the audio, where the model is given them with the item and not as it hears."""
    if state.abilities.hears == "continuously":
        return []
    return [Part(kind="input_image", image=seq) for seq, _ in state.units.images]


def _rewrite(state: Session, item: ItemId, part: Part) -> Session:
    entries = tuple(
        replace(entry, item=replace(entry.item, content=(part, *entry.item.content[1:])))
        if entry.item.id == item
        else entry
        for entry in state.entries
    )
    return replace(state, entries=entries)
