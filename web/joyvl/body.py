"""What a client of the interaction server sends: a chat completion's request, with at least one image.

Of its messages those of the user count: images are frames, in order, and texts are what the user wants to
know. All else is passed over. Images are data URLs; none is fetched from anywhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.session.commands import Image
from antiphon.media.images import BadImage, examine
from antiphon.media.similarity import thumbnail

NO_FRAME = "interaction server requires at least one image_url frame"
MOST_BODY = 48 * 1024 * 1024
"""Bytes of a request."""
MOST_IMAGES = 256
MOST_QUERY = 65_536


class BadBody(Exception):
    """The request cannot be read; nothing of it was done."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.param = code, message, param


class NoFrame(BadBody):
    """There is no image in it."""

    def __init__(self) -> None:
        super().__init__("no_frame", NO_FRAME, "messages")


class Asked(Struct, frozen=True):
    """`session`: what the body calls it, if it does."""

    session: str
    frames: tuple[Image, ...]
    query: str | None


def read(raw: bytes) -> Asked:
    """Decodes the images to see whether that can be done. Raises BadBody."""
    body = read_object(raw)
    urls: list[str] = []
    texts: list[str] = []
    for part in _parts(body):
        kind = part.get("type")
        if kind == "image_url":
            urls.append(_url(part))
        elif kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"].strip())
    if not urls:
        raise NoFrame
    if len(urls) > MOST_IMAGES:
        raise BadBody("invalid_value", f"at most {MOST_IMAGES} images in one request", "messages")
    query = "\n".join(text for text in texts if text)
    if len(query) > MOST_QUERY:
        raise BadBody("invalid_value", f"a query has at most {MOST_QUERY} characters", "messages")
    return Asked(session_in(body), tuple(_image(url) for url in urls), query or None)


def read_object(raw: bytes) -> dict[str, Any]:
    """Raises BadBody."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadBody("invalid_json", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise BadBody("invalid_json", "the body is a JSON object")
    return body


def session_in(body: dict[str, Any]) -> str:
    """What the body calls the session; "": nothing."""
    named = (body.get(name) for name in ("session_id", "user"))
    return next((name for name in named if isinstance(name, str) and name), "")


def _parts(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise BadBody("invalid_type", "messages is a list", "messages")
    for message in messages:
        if not isinstance(message, dict):
            raise BadBody("invalid_type", "a message is an object", "messages")
        if message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield {"type": "text", "text": content}
            continue
        if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
            raise BadBody("invalid_type", "content is text, or a list of parts", "messages.content")
        yield from content


def _url(part: dict[str, Any]) -> str:
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, dict) else given
    if not isinstance(url, str):
        raise BadBody("invalid_image", "image_url has a url", "messages.content")
    return url


def _image(url: str) -> Image:
    head, comma, encoded = url.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise BadBody(
            "invalid_image", "an image is data:image/…;base64,…: none is fetched", "messages.content"
        )
    try:
        contents = base64.b64decode(encoded, validate=True)
        picture = examine(contents)
        thumbnail(contents)
    except (binascii.Error, BadImage, ValueError) as bad:
        raise BadBody("invalid_image", f"an image cannot be used: {bad}", "messages.content") from bad
    return Image(picture.media_type, contents)
