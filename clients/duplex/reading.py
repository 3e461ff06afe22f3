"""Messages to events."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec

from .events import KINDS, Event


def read(text: str, at: float) -> Event:
    """A frame as it came. Never raises: what cannot be read is told as an event, too."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        return own("client.unreadable", at, text=text)
    shown = {**body, "raw": body, "at": at}
    for kind in (KINDS.get(body["type"], Event), Event):
        try:
            return msgspec.convert(shown, kind)
        except msgspec.ValidationError:
            continue
    return Event(type=body["type"], raw=body, at=at)


def received(message: str | bytes) -> Event:
    """A message that has just come. Binary ones are no part of the protocol: they are told as unreadable."""
    text = message if isinstance(message, str) else f"({len(message)} bytes)"
    return read(text, time.monotonic())


def own(type_: str, at: float, **members: Any) -> Event:
    """An event of the client's own."""
    body = {"type": type_, **members}
    return msgspec.convert({**body, "raw": body, "at": at}, KINDS.get(type_, Event))
