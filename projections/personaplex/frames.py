"""What a client of a continuous call is told, whichever of the two wires it is told by (wires.py)."""

from __future__ import annotations

from msgspec import Struct


class Frame(Struct, frozen=True, gc=False):
    pass


class Ready(Frame, frozen=True):
    """The model listens: what is sent from now on is heard."""


class Metadata(Frame, frozen=True):
    """Of a session that its client may come back to: by this token, which is good once."""

    session_id: str
    resume_token: str = ""


class Text(Frame, frozen=True):
    """A piece of what the model says, as it stands in its vocabulary: a word begins with its space."""

    text: str


class Audio(Frame, frozen=True):
    """Its sound: mono pcm16 at 24 kHz, 80 ms of it; the last of an event may be shorter."""

    pcm: bytes = b""


class Error(Frame, frozen=True):
    """`code` is stable, `message` is for people."""

    code: str
    message: str


class Done(Frame, frozen=True):
    """Everything that the client had sent before it finished has been answered."""
