"""Pictures that an endpoint makes: what it is asked, and the file that it answers. Sans-I/O.

`image`: POST …/images/generations, from words. `edit`: POST …/chat/completions, from a picture and words; the
answer's message holds the picture, as a part of its content or in `images`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec

from antiphon.actors.stages.chat_backend.chunks import NotAnAnswer
from antiphon.actors.stages.contract import Turn
from antiphon.media.images import BadImage, examine

Json = dict[str, Any]

SIZE = "1024x1024"
MOST_BYTES = 8 * 1024 * 1024
"""Of the file."""


def generation(model: str, messages: tuple[Turn, ...]) -> Json:
    """A picture of the last words."""
    asked = {"prompt": messages[-1].text, "size": SIZE, "n": 1, "response_format": "b64_json"}
    return {"model": model, **asked} if model else asked


def made(answer: bytes) -> bytes:
    """The file in an answer of either kind. Raises NotAnAnswer."""
    try:
        body = msgspec.json.decode(answer)
        encoded = next(_encoded(body), None)
        contents = b"" if encoded is None else base64.b64decode(encoded, validate=True)
        if len(contents) > MOST_BYTES:
            raise NotAnAnswer(f"a picture of more than {MOST_BYTES} bytes")
        examine(contents)
    except (msgspec.DecodeError, binascii.Error, BadImage) as error:
        raise NotAnAnswer("an answer without a picture") from error
    return contents


def _encoded(body: Any) -> Iterator[str]:
    """Base64 of whatever pictures an answer holds, wherever servers put them."""
    if not isinstance(body, dict):
        return
    for one in _dicts(body.get("data")):
        if isinstance(one.get("b64_json"), str):
            yield one["b64_json"]
    for choice in _dicts(body.get("choices")):
        message = choice.get("message")
        if isinstance(message, dict):
            for part in (*_dicts(message.get("content")), *_dicts(message.get("images"))):
                url = part.get("image_url")
                url = url.get("url") if isinstance(url, dict) else url
                if isinstance(url, str) and url.startswith("data:image/"):
                    yield url.partition(",")[2]


def _dicts(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
