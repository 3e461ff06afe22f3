"""What is heard and seen of a recorded session, and taken away.

GET    /api/logs/ID/peaks          what waveforms are drawn of: ?from_ms=&to_ms=&columns= (peaks.py)
GET    /api/logs/ID/sound          a WAV file of ?from_ms=&to_ms=; with generated=1 also what nobody heard
GET    /api/logs/ID/images/SEQ     the image of an event
POST   /api/logs/ID/download       the recording (`antiphon log export`); the key may be a form's `api_key`
DELETE /api/logs/ID/audio          erases the sound, of every life of the session, for good
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import IO, Any

from litestar import Response, delete, get, post
from litestar.datastructures import State
from litestar.response import Stream

from antiphon.events.envelope import BlobRef
from antiphon.events.errors import LogError
from antiphon.events.ids import SessionId
from antiphon.events.store import Log, Scope
from antiphon.events.units import ms_to_samples
from antiphon.replay import recording
from antiphon.replay.errors import RecordingError
from antiphon.replay.inspect.peaks import columns
from antiphon.replay.sound import excerpt, write_wav
from antiphon.web.callers import Asked, Missing, answer
from antiphon.web.half_duplex.dialect import named

from .asked import flag, number, session_of

LONGEST_MS = 7 * 24 * 3_600_000
MOST_COLUMNS = 4_096
LONGEST_SOUND_MS = 60_000
PIECE = 1 << 16


@get("/api/logs/{name:str}/peaks")
async def peaks(request: Asked, state: State, name: str) -> Stream:
    session = session_of(request, state, name)
    start, stop = _between(request, LONGEST_MS)
    count = number(request, "columns", 1_000, MOST_COLUMNS, 1)
    async with state.server.desk.look(session) as inspection:
        await inspection.reach(LONGEST_MS)
        payload = _silent_without(state.server.store, session)
        made = columns(inspection.life, payload, ms_to_samples(start), ms_to_samples(stop), count)
        return Stream(made, media_type="application/octet-stream")


@get("/api/logs/{name:str}/sound")
async def sound(request: Asked, state: State, name: str) -> Response[bytes]:
    session = session_of(request, state, name)
    start, stop = _between(request, LONGEST_SOUND_MS)
    async with state.server.desk.look(session) as inspection:
        await inspection.reach(LONGEST_MS)
        placed = inspection.life.placed(generated=flag(request, "generated"))
        wanted, made = excerpt(placed, ms_to_samples(start), ms_to_samples(stop)), BytesIO()
        await asyncio.to_thread(write_wav, wanted, partial(state.server.store.read_blob, session), made)
        return Response(made.getvalue(), media_type="audio/wav")


@get("/api/logs/{name:str}/images/{seq:int}", sync_to_thread=True)
def image(request: Asked, state: State, name: str, seq: int) -> Response[bytes]:
    session, store = session_of(request, state, name), state.server.store
    for stored in store.read(session, start=seq, stop=seq + 1):
        media_type = getattr(stored.event, "media_type", "")
        if stored.blob is not None and media_type.startswith("image/"):
            return Response(store.read_blob(session, stored.blob), media_type=media_type)
    raise Missing


@post("/api/logs/{name:str}/download", status_code=200)
async def download(request: Asked, state: State, name: str) -> Response[Any]:
    """Made in a file of its own before the first byte is sent: it is checked from end to end meanwhile."""
    form = await request.form()
    server: Any = state.server
    server.doors.admit_operator(request.headers, (), str(form.get("api_key", "")) or None)
    session = named(name)
    made = tempfile.TemporaryFile(dir=server.settings.data)  # noqa: SIM115  # closed when it has been sent
    try:
        await asyncio.to_thread(recording.write, server.store, session, made)
    except RecordingError as error:
        made.close()
        return answer(409, error.code, str(error))
    except BaseException:
        made.close()
        raise
    headers = {"content-disposition": f'attachment; filename="{session}.antiphon.zip"'}
    return Stream(_pieces(made), media_type="application/zip", headers=headers)


@delete("/api/logs/{name:str}/audio", status_code=200)
async def erase_audio(request: Asked, state: State, name: str) -> dict[str, str]:
    """Not while somebody is talking in it: then it is refused as `locked`."""
    session, server = session_of(request, state, name), state.server
    await asyncio.to_thread(server.store.erase, session, Scope.AUDIO)
    server.catalogue.forget(session)
    return {"session": session, "erased": "audio"}


def _between(request: Asked, longest_ms: int) -> tuple[int, int]:
    start = number(request, "from_ms", 0, LONGEST_MS)
    return start, number(request, "to_ms", start + 1_000, start + longest_ms, start + 1)


def _silent_without(store: Log, session: SessionId) -> Callable[[BlobRef], bytes]:
    """Audio that was erased or is damaged looks silent: `antiphon log verify` says which it is."""

    def payload(ref: BlobRef) -> bytes:
        with contextlib.suppress(LogError):
            return store.read_blob(session, ref)
        return b""

    return payload


def _pieces(made: IO[bytes]) -> Iterator[bytes]:
    with made:
        made.seek(0)
        while piece := made.read(PIECE):
            yield piece
