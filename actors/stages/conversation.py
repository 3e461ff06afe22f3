"""A conversation as a model is to see it. Part of the contract of stages."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Call(Struct, frozen=True):
    """A function of the client's that the model called. `arguments` is JSON text."""

    call_id: str
    name: str
    arguments: str


class Piece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of words, an image (a file) or sound, where a turn has them in an order of its own.

    `max_pixels`: to how many the endpoint is asked to reduce the image; 0: it is not asked.
    """

    text: str = ""
    image: bytes = b""
    pcm: bytes = b""
    max_pixels: int = 0


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the conversation as the model is to see it: as heard, not as generated.

    `images` (files) are what the user showed. An assistant's `calls` come behind its text, and right behind
    them the output of each: role `tool`, with the `call_id` and `name` of its call. Where there are `pieces`
    they are all the turn has to show; `text` is then what of it can be said in words.
    """

    role: Literal["user", "assistant", "system", "tool"]
    text: str = ""
    images: tuple[bytes, ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    name: str = ""
    pieces: tuple[Piece, ...] = ()


class PastUnit(Struct, frozen=True):
    """A unit that a stage heard before it was lost, and what it said of it: what a fresh one is primed with.

    `pcm` as in Listen. `tokens`: those of its last output (contract.Body). Of a unit that a cancel
    overtook there are none, and `text` is what was said before that.
    """

    pcm: bytes
    text: str = ""
    turn_ended: bool = False
    tokens: tuple[int, ...] = ()
