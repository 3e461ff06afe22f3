"""What a serving process and a stage write to each other's Unix stream socket.

A frame is a length (4 bytes, little-endian) and one MessagePack body. This codec does no I/O: the shells are
serving_end.py (serving side) and processes/stage_server.py (stage side).

* A stage speaks first: `Loading` while its engine loads, then `Hello` (or `LoadFailed`); only then commands.
* Many messages make one write: each side collects what one turn of its loop has to say.
* Nothing grows without bound. A session has at most WINDOW operations at a stage whose outcome is not yet in
  the log; one more is refused with `WindowFull` before it is sent. The credit comes back when the last output
  of an operation is acknowledged, so a session whose appends stall stops by itself. The stage keeps the same
  account (desk/desk.py) and answers what exceeds it with `Failed("busy")`.
* A cancel waits for no audio. Neither side works while it reads, so what lies before a cancel on the socket
  delays it by its decoding only; `cancels_first` then takes it out of the order of what came with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct as Layout
from typing import ClassVar, Generic, TypeVar

import msgspec
from msgspec import Struct

from antiphon.actors.stages.contract import Cancel, Descriptor, Open, StageCommand, StageMessage

LINK_VERSION = 1
FRAME_LIMIT = 48 * 1024 * 1024
"""Bytes of one frame: five minutes of one uncut utterance fit, and all images of one question."""
WINDOW = 32
"""Operations of one session at one stage that are not yet in the log."""
BACKLOG_LIMIT = 64 * 1024 * 1024
"""Bytes that may wait for a slow reader on either side; beyond it the connection is given up."""

_LENGTH = Layout("<I")


class Hello(Struct, frozen=True, tag="hello"):
    """The engine is ready; from now on commands are taken."""

    version: int
    descriptor: Descriptor


class Loading(Struct, frozen=True, tag="loading"):
    """The engine is not ready yet; `progress` is for people. Said on connecting and whenever it changes."""

    progress: str


class LoadFailed(Struct, frozen=True, tag="load_failed"):
    """The engine cannot be started as configured; it will not become ready by waiting."""

    code: str
    reason: str


StageGreeting = Hello | Loading | LoadFailed
FromStage = StageGreeting | StageMessage


class LinkError(Exception):
    """Base of what can be wrong with a link. `code` is stable."""

    code: ClassVar[str] = "link_error"


class FrameTooLarge(LinkError):
    """A message does not fit in a frame, or the peer announces one that would not."""

    code = "frame_too_large"

    def __init__(self, length: int) -> None:
        super().__init__(f"a frame of {length} bytes exceeds {FRAME_LIMIT}")
        self.length = length


class LinkBroken(LinkError):
    """The peer does not speak this protocol: the connection is of no more use."""

    code = "link_broken"


class LinkNotReady(LinkError):
    """The stage is not connected and ready: nothing was sent."""

    code = "not_ready"


class WindowFull(LinkError):
    """The session has WINDOW operations at the stage that are not in the log yet: nothing was sent."""

    code = "window_full"


M = TypeVar("M")

_encode = msgspec.msgpack.Encoder().encode


def encode(messages: Sequence[StageCommand | FromStage]) -> bytes:
    """All of `messages` as frames, ready for one write. Raises FrameTooLarge; then nothing may be sent."""
    return b"".join([encode_one(message) for message in messages])


def encode_one(message: StageCommand | FromStage) -> bytes:
    """The message as a frame. Raises FrameTooLarge."""
    body = _encode(message)
    if len(body) > FRAME_LIMIT:
        raise FrameTooLarge(len(body))
    return _LENGTH.pack(len(body)) + body


class Decoder(Generic[M]):
    """Bytes in, whole messages out. Of no more use after it has raised."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[M]) -> None:
        self._decode = decoder.decode
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[M]:
        """The messages that `chunk` completes, in order. Raises FrameTooLarge or LinkBroken."""
        if not self._rest:
            messages, used = self._frames(chunk)
            self._rest += memoryview(chunk)[used:]
            return messages
        self._rest += chunk
        messages, used = self._frames(self._rest)
        del self._rest[:used]
        return messages

    def _frames(self, held: bytes | bytearray) -> tuple[list[M], int]:
        messages: list[M] = []
        at, body, end = 0, _LENGTH.size, len(held)
        with memoryview(held) as view:
            while body <= end:
                (length,) = _LENGTH.unpack_from(held, at)
                if length > FRAME_LIMIT:
                    raise FrameTooLarge(length)
                if body + length > end:
                    break
                at = body + length
                try:
                    messages.append(self._decode(view[body:at]))
                except msgspec.DecodeError as error:
                    raise LinkBroken(f"undecodable frame: {error}") from error
                body = at + _LENGTH.size
        return messages, at


_command_decoder = msgspec.msgpack.Decoder(StageCommand)
_message_decoder = msgspec.msgpack.Decoder(FromStage)


def command_decoder() -> Decoder[StageCommand]:
    """For the stage: what serving processes write."""
    return Decoder(_command_decoder)


def message_decoder() -> Decoder[FromStage]:
    """For the serving side: what a stage writes."""
    return Decoder(_message_decoder)


def cancels_first(batch: list[StageCommand]) -> list[StageCommand]:
    """The commands of one read with the cancels moved to the front.

    Work of the epochs they void is then refused instead of begun. A batch that opens a session keeps its
    order: a cancel must not precede the session it belongs to.
    """
    if Cancel not in map(type, batch):
        return batch
    cancels = [command for command in batch if type(command) is Cancel]
    if len(cancels) == len(batch) or any(type(command) is Open for command in batch):
        return batch
    return cancels + [command for command in batch if type(command) is not Cancel]
