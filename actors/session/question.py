"""What a model is asked: a conversation as it is to see it.

Where a mode puts its questions in its own way its slice says how (Slice.asks); otherwise the conversation
is asked about as history.py has it.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from antiphon.events.ids import Seq
from antiphon.events.vocabulary import Item

Role = Literal["user", "assistant", "system", "tool"]


class Piece(Struct, frozen=True, gc=False):
    """One of words, an image (the event that holds it) or input [from, until). See the contract's Piece."""

    text: str = ""
    image: Seq | None = None
    from_sample: int = 0
    until_sample: int = 0
    max_pixels: int = 0


class Line(Struct, frozen=True, gc=False):
    """What the model is to see of one entry: words, the seqs of images, calls of functions; or (role `tool`)
    the output of a `call`. Where there are `pieces` they are all of it, in their order."""

    role: Role
    text: str = ""
    images: tuple[Seq, ...] = ()
    calls: tuple[Item, ...] = ()
    call: Item | None = None
    pieces: tuple[Piece, ...] = ()


class Question(Struct, frozen=True, gc=False):
    """A conversation to which nothing is added, and parameters for whoever writes the answer."""

    conversation: tuple[Line, ...]
    sampling: dict[str, Any] = {}
