"""What a projection is: a pure fold from stored events to a view and the frames a client sees.

The same stored events always give the same frames, ids included, so a frame sent once can be sent again by
projecting again. What an attachment adds when it sends a frame is what no event holds: the audio, which lies
in the blob file, and secrets, of which only a hash is kept. Frames are compared without either.

Bump `version` of a dialect whenever equal events would give other frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Protocol

from antiphon.actors.session.attachment import FRAMES_PER_EVENT
from antiphon.events.envelope import Stored
from antiphon.events.ids import Seq
from antiphon.events.vocabulary import Terms


def frame_number(seq: Seq, k: int) -> int:
    """`server_event_seq` of an event's k-th frame: it grows, never restarts, and no dialect changes it."""
    return seq * FRAMES_PER_EVENT + k


def seq_of(number: int) -> int:
    """Of the event that the frame of that number is of."""
    return max(number, 0) // FRAMES_PER_EVENT


def expires_at(opened: Stored, terms: Terms) -> int | None:
    """When a session's time is over, in Unix seconds; None: never. The turn of that moment may still end.

    `opened` is its SessionOpened.
    """
    lasts_s = terms.max_session_s
    return None if lasts_s is None else int(opened.at.wall_ns / 1e9 + lasts_s)


class Projection(Protocol):
    """One dialect. Views and frames are the dialect's own types."""

    version: int

    def begin(self, attachment: int) -> Any:
        """The view of the attachment of that number before the first event."""

    def adopt(self, view: Any, attachment: int) -> Any:
        """The view of another attachment that has seen the same: of the one that takes its place."""

    def step(self, view: Any, stored: Stored) -> tuple[Any, Sequence[Any]]:
        """The view after the event, and its frames in order: the k-th has the number frame_number(seq, k)."""

    def encode(self, frame: Any) -> bytes:
        """The frame as it goes over the wire, but for audio and secrets: their places are empty."""

    def meaning(self, frame: Any, stored: Stored) -> bytes:
        """What a frame of that event says, in whatever version of the dialect: its words, the CRC32C of its
        audio, how a response ended. b"" where that is nothing."""


class Digest:
    """Rolls over the frames that one attachment was sent. Two BLAKE2b-128: of their bytes, of what they say.

    The audio of a frame counts as the CRC32C of its blob, in both: it was checked when it was written.
    """

    __slots__ = ("_bytes", "_meaning")

    def __init__(self) -> None:
        self._bytes, self._meaning = blake2b(digest_size=16), blake2b(digest_size=16)

    def add(self, encoded: bytes, meaning: bytes) -> None:
        """A frame as `Projection.encode` and `Projection.meaning` give it."""
        self._bytes.update(encoded + meaning)
        if meaning:
            self._meaning.update(meaning)

    def of_bytes(self) -> bytes:
        return self._bytes.digest()

    def of_meaning(self) -> bytes:
        return self._meaning.digest()
