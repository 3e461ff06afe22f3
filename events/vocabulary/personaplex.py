"""What is of calls over the Moshi wire only."""

from typing import ClassVar

from .base import Event


class InputUndecodable(Event, frozen=True, kw_only=True):
    """A piece of the client's compressed stream could not be decoded: `size` bytes of it are lost. The stream
    goes on with the next page that can be."""

    ancillary: ClassVar[bool] = True
    size: int
    message: str


class InputFinished(Event, frozen=True, kw_only=True):
    """The client sends no more sound. The session ends once the stage has been given what there is, the last
    unit filled up with silence, and has answered it."""
