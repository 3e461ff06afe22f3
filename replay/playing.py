"""A recorded client as frames of the Realtime protocol: what to send to a live server, and when.

The frames are those of plain `/v1/realtime`, which every Realtime server takes. What that protocol cannot say
(playback acknowledgements, hints of a client's own detector) is left out. Ids are the live session's, as it
announces them: the third answer there is the third answer here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.session import commands as c
from antiphon.events import vocabulary as v
from antiphon.events.envelope import BlobRef

from .rerun.names import Named
from .rerun.wishes import Script, Wish

Payload = Callable[[BlobRef], bytes]


class Due(Struct, frozen=True):
    """Frames that are to be sent so long after the call's beginning. `named`: what they speak of, by kind
    and place, to be put in where the frame says so (`item_id`, `response_id`)."""

    at_s: float
    frames: tuple[dict[str, Any], ...]
    named: tuple[str, int] | None = None


def opening(script: Script) -> dict[str, Any]:
    """The session as its client configured it in the end, before anything was said."""
    config = script.opened.config
    for wish in script.wishes:
        if isinstance(wish.command, c.AppendAudio | c.AddItem):
            break
        if isinstance(wish.command, c.Configure):
            given = {
                field: getattr(wish.command, field)
                for field in v.Config.__struct_fields__
                if getattr(wish.command, field, msgspec.UNSET) is not msgspec.UNSET
            }
            config = msgspec.structs.replace(config, **given)
    return session_of(config)


def session_of(config: v.Config) -> dict[str, Any]:
    """A configuration as the protocol's session object."""
    detection = config.turn_detection
    heard = None
    if detection is not None:
        heard = {
            "type": "server_vad",
            "threshold": detection.threshold_permille / 1000,
            "prefix_padding_ms": detection.prefix_padding_ms,
            "silence_duration_ms": detection.silence_duration_ms,
            "create_response": detection.create_response,
            "interrupt_response": detection.interrupt_response,
        }
    session: dict[str, Any] = {
        "type": "realtime",
        "output_modalities": list(config.output_modalities),
        "audio": {"input": {"turn_detection": heard}},
    }
    if config.instructions:
        session["instructions"] = config.instructions
    if config.voice:
        session["audio"]["output"] = {"voice": config.voice}
    if config.tools:
        session |= {"tools": list(config.tools), "tool_choice": config.tool_choice}
    return session


def frames(script: Script, named: Named, payload: Payload) -> Iterator[Due]:
    """Everything the client does once the call is set up, in order. `named` are the recorded call's names."""
    set_up = True
    for wish in script.wishes:
        if isinstance(wish.command, c.AppendAudio | c.AddItem):
            set_up = False
        write = _WRITERS.get(type(wish.command))
        if write is None or (set_up and isinstance(wish.command, c.Configure)):
            continue
        yield Due(wish.at_ns / 1e9, (write(wish, payload),), _named(wish.command, named))


def _named(command: c.Command, named: Named) -> tuple[str, int] | None:
    for kind in ("response", "item"):
        name = getattr(command, kind, None)
        place = named.place(kind, name) if isinstance(name, str) else None
        if place is not None:
            return kind, place
    return None


def _append(wish: Wish, payload: Payload) -> dict[str, Any]:
    pcm = b"" if wish.blob is None else payload(wish.blob)
    audio = base64.b64encode(pcm or bytes(2 * wish.samples)).decode()
    return {"type": "input_audio_buffer.append", "audio": audio}


def _configure(wish: Wish, payload: Payload) -> dict[str, Any]:
    command: Any = wish.command
    session: dict[str, Any] = {"type": "realtime"}
    for name in ("instructions", "tool_choice"):
        if getattr(command, name) is not msgspec.UNSET:
            session[name] = getattr(command, name)
    for name in ("tools", "output_modalities"):
        if getattr(command, name) is not msgspec.UNSET:
            session[name] = list(getattr(command, name))
    if command.turn_detection is not msgspec.UNSET:
        built = session_of(v.Config(turn_detection=command.turn_detection))
        session["audio"] = built["audio"]
    return {"type": "session.update", "session": session}


def _add(wish: Wish, payload: Payload) -> dict[str, Any]:
    command: Any = wish.command
    images = iter(wish.images)
    content = []
    for part in command.item.content:
        if part.kind == "input_image" and (seen := next(images, None)) is not None:
            url = f"data:{seen.media_type};base64,{base64.b64encode(payload(seen.blob)).decode()}"
            content.append({"type": "input_image", "image_url": url})
        else:
            content.append({"type": part.kind, "text": part.text or ""})
    item: dict[str, Any] = {"type": command.item.kind}
    if command.item.kind == "message":
        item |= {"role": command.item.role, "content": content}
    else:
        members = ("call_id", "name", "arguments", "output")
        item |= {name: one for name in members if (one := getattr(command.item, name)) is not None}
    return {"type": "conversation.item.create", "item": item}


def _create(wish: Wish, payload: Payload) -> dict[str, Any]:
    command: Any = wish.command
    response: dict[str, Any] = {}
    if command.instructions is not None:
        response["instructions"] = command.instructions
    if command.modalities is not None:
        response["output_modalities"] = list(command.modalities)
    if command.metadata is not None:
        response["metadata"] = command.metadata
    if not command.in_history:
        response["conversation"] = "none"
    return {"type": "response.create", "response": response}


_WRITERS: dict[type[c.Command], Callable[[Wish, Payload], dict[str, Any]]] = {
    c.AppendAudio: _append,
    c.Configure: _configure,
    c.AddItem: _add,
    c.CreateResponse: _create,
    c.CommitInput: lambda wish, payload: {"type": "input_audio_buffer.commit"},
    c.ClearInput: lambda wish, payload: {"type": "input_audio_buffer.clear"},
    c.CancelResponse: lambda wish, payload: {"type": "response.cancel"},
    c.BargeIn: lambda wish, payload: {"type": "response.cancel"},
    c.ClearOutput: lambda wish, payload: {"type": "output_audio_buffer.clear"},
    c.RemoveItem: lambda wish, payload: {"type": "conversation.item.delete", "item_id": ""},
    c.TruncateItem: lambda wish, payload: {
        "type": "conversation.item.truncate",
        "item_id": "",
        "content_index": wish.command.content_index,  # type: ignore[attr-defined]
        "audio_end_ms": wish.command.audio_end_ms,  # type: ignore[attr-defined]
    },
}
