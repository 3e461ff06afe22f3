"""What only the client of a stream may ask."""

from __future__ import annotations

from antiphon.actors.session.commands import Image
from antiphon.actors.session.saying import Command
from antiphon.events.vocabulary import Labels


class Show(Command, frozen=True, kw_only=True):
    """An image of the stream. `similarity`: to the last one that was kept, where the stream is filtered.

    `image` None: `size` bytes that are none.
    """

    image: Image | None
    size: int
    labels: Labels = Labels()
    similarity: float | None = None


class AppendSound(Command, frozen=True, kw_only=True):
    """What is heard beside the images: PCM as in AppendAudio, which came as `sent_bytes`.

    None sent: it is the end of what came before, which resampling had held back.
    """

    pcm: bytes
    sent_bytes: int


class Query(Command, frozen=True, kw_only=True):
    """Answer a question about the images, with whatever was heard and, behind that, `pcm`."""

    text: str = ""
    pcm: bytes = b""
    sent_bytes: int = 0
    streams: bool = True


class Finish(Command, frozen=True, kw_only=True):
    """Nothing more comes."""
