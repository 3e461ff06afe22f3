"""What serving processes ask of each other, over a Unix socket that each has in the server's own directory.

One question and one answer a connection, each a length (4 bytes, little-endian) and a MessagePack body. Asked
when a client comes back to another process than its session's, and when figures are read: never for a frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from struct import Struct as Layout
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from antiphon.actors.processes.runtime_dir import control_socket
from antiphon.events.ids import SessionId

LARGEST = 4 * 1024 * 1024
_LENGTH = Layout("<I")

log = structlog.get_logger(__name__)


class LetGo(Struct, frozen=True, tag="let_go"):
    """Park this session, so that the asking process can go on with it. Answered when its log is free."""

    session: SessionId


class Tell(Struct, frozen=True, tag="tell"):
    """Say what you measure."""


class MakeRoom(Struct, frozen=True, tag="make_room"):
    """A client was refused because the disk is full: erase what may be erased."""


class EndCall(Struct, frozen=True, tag="end_call"):
    """End the half-duplex call of that name, if it is here and that principal's."""

    session: SessionId
    principal: str | None


Question = LetGo | Tell | MakeRoom | EndCall


class Done(Struct, frozen=True, tag="done"):
    """`did`: whether there was anything to do."""

    did: bool = True


class Figures(Struct, frozen=True, tag="figures"):
    """The metrics page of a process."""

    worker: int
    page: bytes


Answer = Done | Figures
Answering = Callable[[Any], Awaitable[Answer]]
"""Given a Question."""

_encode = msgspec.msgpack.Encoder().encode
_question = msgspec.msgpack.Decoder(Question)
_answer = msgspec.msgpack.Decoder(Answer)


class Peers:
    """All serving processes of this server, as one of them sees them. Made on a running loop."""

    def __init__(self, directory: str, mine: int) -> None:
        self._directory, self.mine = Path(directory), mine
        self._server: asyncio.Server | None = None

    async def listen(self, answering: Answering) -> None:
        """Answer the others from now on. `answering` may raise: then they hear nothing."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                question: Question = _question.decode(await _read(reader))
                writer.write(_framed(await answering(question)))
                await writer.drain()
            except (OSError, EOFError, msgspec.MsgspecError) as error:
                log.warning("peers.not_answered", error=str(error))
            finally:
                writer.close()

        path = control_socket(self._directory, self.mine, os.getpid())
        self._server = await asyncio.start_unix_server(serve, str(path))

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def let_go(self, pid: int, session: SessionId) -> bool:
        """Have the process with that pid park the session. False: it does not have it, or is no more."""
        for path in self._directory.glob(f"serving-*-{pid}.sock"):
            answer = await _ask(path, LetGo(session))
            return isinstance(answer, Done) and answer.did
        return False

    async def figures(self, within_s: float) -> list[Figures]:
        """What the others measure; of those that say so in time."""
        asked = [_within(within_s, _ask(path, Tell())) for path in self._others()]
        return [answer for answer in await asyncio.gather(*asked) if isinstance(answer, Figures)]

    async def make_room(self, within_s: float) -> None:
        """Tell the others that the disk is full; the one whose business that is does something about it."""
        await asyncio.gather(*(_within(within_s, _ask(path, MakeRoom())) for path in self._others()))

    async def end_call(self, session: SessionId, principal: str | None, within_s: float) -> bool:
        """Have whichever of the others has the call end it. Whether one had."""
        asked = [_within(within_s, _ask(path, EndCall(session, principal))) for path in self._others()]
        return any(isinstance(one, Done) and one.did for one in await asyncio.gather(*asked))

    def _others(self) -> Sequence[Path]:
        own = control_socket(self._directory, self.mine, os.getpid())
        return [path for path in sorted(self._directory.glob("serving-*.sock")) if path != own]


async def _within(seconds: float, asked: Awaitable[Answer | None]) -> Answer | None:
    with contextlib.suppress(TimeoutError):
        return await asyncio.wait_for(asked, seconds)
    return None


async def _ask(path: Path, question: Question) -> Answer | None:
    """The answer; None: nobody is there, or nothing came."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            writer.write(_framed(question))
            answer: Answer = _answer.decode(await _read(reader))
            return answer
        finally:
            writer.close()
    except (OSError, EOFError, msgspec.MsgspecError):
        return None


def _framed(message: Question | Answer) -> bytes:
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


async def _read(reader: asyncio.StreamReader) -> bytes:
    """One body. Raises EOFError (asyncio's IncompleteReadError is one), ValidationError."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > LARGEST:
        raise msgspec.ValidationError(f"a message of {length} bytes")
    return await reader.readexactly(length)
