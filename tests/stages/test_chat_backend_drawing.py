"""What an endpoint for pictures is asked, and what counts as a picture."""

import base64
import json

import pytest

from antiphon.actors.stages.chat_backend.chunks import NotAnAnswer
from antiphon.actors.stages.chat_backend.drawing import MOST_BYTES, generation, made
from antiphon.actors.stages.contract import Turn
from tests.media.images import encoded, png

URL = f"data:image/png;base64,{encoded(png(9))}"


def test_a_picture_is_asked_for_by_the_last_words():
    asked = generation("", (Turn(role="system", text="no"), Turn(role="user", text="a cat")))
    assert asked == {"prompt": "a cat", "size": "1024x1024", "n": 1, "response_format": "b64_json"}
    assert generation("painter", (Turn(role="user", text="a cat"),))["model"] == "painter"


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"b64_json": encoded(png(9))}]},
        {"choices": [{"message": {"content": [{"type": "image_url", "image_url": {"url": URL}}]}}]},
        {"choices": [{"message": {"content": "Here.", "images": [{"image_url": URL}]}}]},
    ],
)
def test_wherever_a_server_puts_it_the_picture_is_found(answer):
    assert made(json.dumps(answer).encode()) == png(9)


@pytest.mark.parametrize(
    "answer",
    [
        b"{", b"[]", b"{}", b'{"data": [{"url": "http://elsewhere/cat.png"}]}', b'{"data": [{"b64_json": "***"}]}',
        b'{"data": [{"b64_json": "%s"}]}' % base64.b64encode(b"no picture"), b'{"choices": [{"message": null}]}',
        b'{"data": [{"b64_json": "%s"}]}' % base64.b64encode(png(9) + bytes(MOST_BYTES)),
    ],
)  # fmt: skip
def test_what_holds_no_picture_is_no_answer(answer):
    with pytest.raises(NotAnAnswer):
        made(answer)
