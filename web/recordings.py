"""What was recorded of a half-duplex call, over HTTP, for whoever may see it: its own key, or an operator's.

    GET /api/sessions/ID                    meta.json
    GET /api/sessions/ID/recording          recording.json
    GET /api/sessions/ID/assets/NAME        a file of the recording's folder, for instance ai_audio/turn_0.wav
    GET /api/sessions/ID/download           the folder as a zip file

All of it is made of the log (replay/half_duplex). A NAME is looked up, it never becomes a path.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from litestar import MediaType, Response, get
from litestar.datastructures import State
from litestar.response import Stream

from antiphon.actors.naming import first_of
from antiphon.events.errors import LogError
from antiphon.replay.errors import RecordingError
from antiphon.replay.half_duplex.folder import META, RECORDING, Folder

from .callers import Missing, Request, caller, recorded

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TYPES = {".wav": "audio/wav", ".json": MediaType.JSON}


@get("/api/sessions/{session_id:str}", sync_to_thread=True)
def session_meta(request: Request, state: State, session_id: str) -> Response[bytes]:
    return _file(_folder(request, state, session_id), META)


@get("/api/sessions/{session_id:str}/recording", sync_to_thread=True)
def session_recording(request: Request, state: State, session_id: str) -> Response[bytes]:
    return _file(_folder(request, state, session_id), RECORDING)


@get("/api/sessions/{session_id:str}/assets/{name:path}", sync_to_thread=True)
def session_asset(request: Request, state: State, session_id: str, name: str) -> Response[bytes]:
    return _file(_folder(request, state, session_id), str(name).removeprefix("/"))


@get("/api/sessions/{session_id:str}/download", sync_to_thread=True)
def session_download(request: Request, state: State, session_id: str) -> Stream:
    """File by file: what is held is one of them. Erased while it is sent it ends in the middle of itself."""
    folder = _folder(request, state, session_id)
    named_so = {"content-disposition": f'attachment; filename="{session_id}.zip"'}
    return Stream(_packed(folder, session_id), media_type="application/zip", headers=named_so)


class _Passing(io.RawIOBase):
    """Holds what was written until it is taken. It cannot seek, and zipfile asks for that."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        self._held += memoryview(data)
        return len(memoryview(data))

    def take(self) -> bytes:
        taken = bytes(self._held)
        self._held.clear()
        return taken


def _packed(folder: Folder, session_id: str) -> Iterator[bytes]:
    passing = _Passing()
    with zipfile.ZipFile(passing, "w") as made:
        for name in folder.names:
            made.writestr(f"{session_id}/{name}", _contents(folder, name))
            yield passing.take()
    yield passing.take()


def _folder(request: Request, state: State, session_id: str) -> Folder:
    """Raises Denied, Missing."""
    server: Any = state.server
    who, session, store = caller(request, server.doors), recorded(session_id), server.recorded
    try:
        life = store.head(session).incarnation
        opened = first_of(store, session)
        if opened is None or not who.may_see(opened.principal):
            raise Missing
        return Folder(store, session, incarnation=life)
    except (LogError, RecordingError):
        raise Missing from None


def _file(folder: Folder, name: str) -> Response[bytes]:
    suffix = name[name.rfind(".") :]
    return Response(_contents(folder, name), media_type=TYPES.get(suffix, "application/octet-stream"))


def _contents(folder: Folder, name: str) -> bytes:
    try:
        contents = folder.file(name)
    except LogError:  # it was erased meanwhile
        contents = None
    if contents is None:
        raise Missing
    return contents
