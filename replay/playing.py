"""A recorded client as frames of the Realtime protocol: what to send to a live server, and when.

The frames are those of plain `/v1/realtime`, which every Realtime server takes. What that protocol cannot say
(playback acknowledgements, hints of a client's own detector) is left out. Ids are the live session's, as it
announces them: the third item there is the third item here, and so are the functions that its model calls.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from antiphon.actors.session import commands as c
from antiphon.events import vocabulary as v
from antiphon.events.envelope import BlobRef

from .rerun.names import Named, NoCounterpart
from .rerun.wishes import Script, Wish

Json = dict[str, Any]
Payload = Callable[[BlobRef], bytes]
Name = tuple[str, int, tuple[str, ...]]
"""A thing by its kind (`item`, `call`) and its place among those, and where in a frame its id stands."""
PREVIOUS = "previous_item_id"


class Due(Struct, frozen=True):
    """A frame that is to be sent so long after the call's beginning. `about`: what it speaks of; the ids that
    stand there are the recorded call's."""

    at_s: float
    frame: Json
    about: tuple[Name, ...] = ()

    def addressed(self, names: Mapping[str, Sequence[str]]) -> Json:
        """The frame with the ids of another call, whose things are in `names` by kind, in their order.

        Where the item is missing that it was to stand behind, it stands at the end. Raises NoCounterpart.
        """
        frame: Json = msgspec.to_builtins(self.frame)
        for kind, place, (*tables, member) in self.about:
            table, there = frame, names[kind]
            for one in tables:
                table = table[one]
            if place < len(there):
                table[member] = there[place]
            elif member == PREVIOUS:
                del table[member]
            else:
                raise NoCounterpart(f"{kind} {place}")
        return frame


def opening(script: Script) -> Json:
    """The session as its client configured it in the end, before anything was said."""
    config = script.opened.config
    for wish in script.wishes:
        if isinstance(wish.command, c.AppendAudio | c.AddItem):
            break
        if isinstance(wish.command, c.Configure):
            given = {
                field: getattr(wish.command, field)
                for field in v.Config.__struct_fields__
                if getattr(wish.command, field, UNSET) is not UNSET
            }
            config = msgspec.structs.replace(config, **given)
    return session_of(config)


def session_of(config: v.Config) -> Json:
    """A configuration as the protocol's session object."""
    session: Json = {
        "type": "realtime",
        "output_modalities": list(config.output_modalities),
        "audio": {"input": {"turn_detection": _turn_detection(config.turn_detection)}},
    }
    if config.instructions:
        session["instructions"] = config.instructions
    if config.voice:
        session["audio"]["output"] = {"voice": config.voice}
    if config.max_output_tokens is not None:
        session["max_output_tokens"] = config.max_output_tokens
    if config.tools:
        session |= {"tools": list(config.tools), "tool_choice": config.tool_choice}
    return session


def _turn_detection(detection: v.TurnDetection | None) -> Json | None:
    if detection is None:
        return None
    return {
        "type": "server_vad",
        "threshold": detection.threshold_permille / 1000,
        "prefix_padding_ms": detection.prefix_padding_ms,
        "silence_duration_ms": detection.silence_duration_ms,
        "create_response": detection.create_response,
        "interrupt_response": detection.interrupt_response,
    }


def frames(script: Script, named: Named, payload: Payload) -> Iterator[Due]:
    """Everything the client does once the call is set up, in order. `named` are the recorded call's names."""
    set_up = True
    for wish in script.wishes:
        if isinstance(wish.command, c.AppendAudio | c.AddItem):
            set_up = False
        write = _WRITERS.get(type(wish.command))
        if write is None or (set_up and isinstance(wish.command, c.Configure)):
            continue
        yield Due(wish.at_ns / 1e9, write(wish, payload), tuple(_about(wish.command, named)))
        if isinstance(wish.command, c.CommitInput) and wish.command.respond:  # asked for with it, elsewhere
            yield Due(wish.at_ns / 1e9, {"type": "response.create", "response": {}})


def _about(command: c.Command, named: Named) -> Iterator[Name]:
    """What a client named itself (a call that it made up) is called so in every call."""
    ids: list[tuple[str, str | None, tuple[str, ...]]] = []
    match command:
        case c.RemoveItem(item=item) | c.TruncateItem(item=item):
            ids = [("item", item, ("item_id",))]
        case c.AddItem(item=added, previous=previous):
            ids = [("item", previous, (PREVIOUS,))]
            if added.kind == "function_call_output":
                ids.append(("call", added.call_id, ("item", "call_id")))
    for kind, name, path in ids:
        place = None if name is None else named.place(kind, name)
        if place is not None:
            yield kind, place, path


def _append(wish: Wish, payload: Payload) -> Json:
    pcm = b"" if wish.blob is None else payload(wish.blob)
    audio = base64.b64encode(pcm or bytes(2 * wish.samples)).decode()
    return {"type": "input_audio_buffer.append", "audio": audio}


def _configure(wish: Wish, payload: Payload) -> Json:
    command: Any = wish.command
    session: Json = {"type": "realtime"}
    for name in ("instructions", "tool_choice"):
        if getattr(command, name) is not UNSET:
            session[name] = getattr(command, name)
    for name in ("tools", "output_modalities"):
        if getattr(command, name) is not UNSET:
            session[name] = list(getattr(command, name))
    if command.max_output_tokens is not UNSET:
        session["max_output_tokens"] = command.max_output_tokens or "inf"
    audio: Json = {}
    if command.turn_detection is not UNSET:
        audio["input"] = {"turn_detection": _turn_detection(command.turn_detection)}
    if command.voice is not UNSET:
        audio["output"] = {"voice": command.voice or None}
    return {"type": "session.update", "session": session | ({"audio": audio} if audio else {})}


def _add(wish: Wish, payload: Payload) -> Json:
    command: Any = wish.command
    images = iter(wish.images)
    content = []
    for part in command.item.content:
        if part.kind == "input_image" and (seen := next(images, None)) is not None:
            url = f"data:{seen.media_type};base64,{base64.b64encode(payload(seen.blob)).decode()}"
            content.append({"type": "input_image", "image_url": url})
        else:
            content.append({"type": part.kind, "text": part.text or ""})
    item: Json = {"type": command.item.kind}
    if command.item.kind == "message":
        item |= {"role": command.item.role, "content": content}
    else:
        members = ("call_id", "name", "arguments", "output")
        item |= {name: one for name in members if (one := getattr(command.item, name)) is not None}
    previous = "root" if command.previous is None else command.previous
    return {"type": "conversation.item.create", PREVIOUS: previous, "item": item}


def _create(wish: Wish, payload: Payload) -> Json:
    command: Any = wish.command
    response: Json = {}
    for name in ("instructions", "max_output_tokens", "metadata"):
        if getattr(command, name) is not None:
            response[name] = getattr(command, name)
    if command.modalities is not None:
        response["output_modalities"] = list(command.modalities)
    if command.voice is not None:
        response["audio"] = {"output": {"voice": command.voice}}
    if not command.in_history:
        response["conversation"] = "none"
    return {"type": "response.create", "response": response}


_WRITERS: dict[type[c.Command], Callable[[Wish, Payload], Json]] = {
    c.AppendAudio: _append,
    c.Configure: _configure,
    c.AddItem: _add,
    c.CreateResponse: _create,
    c.CommitInput: lambda wish, payload: {"type": "input_audio_buffer.commit"},
    c.ClearInput: lambda wish, payload: {"type": "input_audio_buffer.clear"},
    c.CancelResponse: lambda wish, payload: {"type": "response.cancel"},
    c.BargeIn: lambda wish, payload: {"type": "response.cancel"},
    c.ClearOutput: lambda wish, payload: {"type": "output_audio_buffer.clear"},
    c.RemoveItem: lambda wish, payload: {
        "type": "conversation.item.delete",
        "item_id": wish.command.item,  # type: ignore[attr-defined]
    },
    c.TruncateItem: lambda wish, payload: {
        "type": "conversation.item.truncate",
        "item_id": wish.command.item,  # type: ignore[attr-defined]
        "content_index": wish.command.content_index,  # type: ignore[attr-defined]
        "audio_end_ms": wish.command.audio_end_ms,  # type: ignore[attr-defined]
    },
}
