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
from antiphon.events.store import Log, Scope
from antiphon.events.units import ms_to_samples
from antiphon.replay import recording
from antiphon.replay.errors import RecordingError
from antiphon.replay.inspect.peaks import columns
from antiphon.replay.sound import write_wav
from antiphon.web.callers import Missing, Request, answer, recorded

from .asked import check_life, flag, looked_into, number, session_of
from .desk import Inspection

LONGEST_MS = 7 * 24 * 3_600_000
MOST_COLUMNS = 4_096
LONGEST_SOUND_MS = 60_000
PIECE = 1 << 16


@get("/api/logs/{name:str}/peaks")
async def peaks(request: Request, state: State, name: str) -> Stream:
    session = session_of(request, state, name)
    start, stop = _between(request, LONGEST_MS)
    count = number(request, "columns", 1_000, MOST_COLUMNS, 1)
    async with looked_into(request, state, session) as inspection:
        await inspection.read_whole()
        payload = _silent_without(_payload(state.server.recorded, inspection))
        made = columns(inspection.life, payload, ms_to_samples(start), ms_to_samples(stop), count)
        return Stream(made, media_type="application/octet-stream")


@get("/api/logs/{name:str}/sound")
async def sound(request: Request, state: State, name: str) -> Response[bytes]:
    session = session_of(request, state, name)
    start, stop = _between(request, LONGEST_SOUND_MS)
    generated = flag(request, "generated")
    async with looked_into(request, state, session) as inspection:
        await inspection.read_whole()
        wav = await asyncio.to_thread(_wav, state.server.recorded, inspection, start, stop, generated)
        return Response(wav, media_type="audio/wav")


@get("/api/logs/{name:str}/images/{seq:int}", sync_to_thread=True)
def image(request: Request, state: State, name: str, seq: int) -> Response[bytes]:
    session, store = session_of(request, state, name), state.server.recorded
    life = store.head(session).incarnation
    check_life(request, life)
    for stored in store.read(session, incarnation=life, start=seq, stop=seq + 1):
        media_type = getattr(stored.event, "media_type", "")
        if stored.blob is not None and media_type.startswith("image/"):
            contents = store.read_blob(session, stored.blob, incarnation=life)
            return Response(contents, media_type=media_type)
    raise Missing


@post("/api/logs/{name:str}/download", status_code=200)
async def download(request: Request, state: State, name: str) -> Response[Any]:
    """Made in a file of its own before the first byte is sent: it is checked from end to end meanwhile."""
    form = await request.form()
    server: Any = state.server
    server.doors.admit_operator(request.headers, (), str(form.get("api_key", "")) or None)
    session = recorded(name)
    life = server.recorded.head(session).incarnation
    check_life(request, life)
    made = tempfile.TemporaryFile(dir=server.settings.data)  # noqa: SIM115  # closed when it has been sent
    try:
        await asyncio.to_thread(recording.write, server.recorded, session, made, incarnation=life)
    except RecordingError as error:
        made.close()
        return answer(409, error.code, str(error))
    except BaseException:
        made.close()
        raise
    headers = {"content-disposition": f'attachment; filename="{session}.antiphon.zip"'}
    return Stream(_pieces(made), media_type="application/zip", headers=headers)


@delete("/api/logs/{name:str}/audio", status_code=200)
async def erase_audio(request: Request, state: State, name: str) -> dict[str, str]:
    """Not while somebody is talking in it: then it is refused as `locked`."""
    session = session_of(request, state, name)
    await asyncio.to_thread(state.server.recorded.erase, session, Scope.AUDIO)
    return {"session": session, "erased": "audio"}


def _between(request: Request, longest_ms: int) -> tuple[int, int]:
    start = number(request, "from_ms", 0, LONGEST_MS)
    return start, number(request, "to_ms", start + 1_000, start + longest_ms, start + 1)


def _wav(store: Log, of: Inspection, start_ms: int, stop_ms: int, generated: bool) -> bytes:
    laid, made = of.life.laid(generated=generated), BytesIO()
    write_wav(laid.between(ms_to_samples(start_ms), ms_to_samples(stop_ms)), _payload(store, of), made)
    return made.getvalue()


def _payload(store: Log, of: Inspection) -> Callable[[BlobRef], bytes]:
    return partial(store.read_blob, of.session, incarnation=of.incarnation)


def _silent_without(payload: Callable[[BlobRef], bytes]) -> Callable[[BlobRef], bytes]:
    """Audio that was erased or is damaged looks silent: `antiphon log verify` says which it is."""

    def found(ref: BlobRef) -> bytes:
        with contextlib.suppress(LogError):
            return payload(ref)
        return b""

    return found


def _pieces(made: IO[bytes]) -> Iterator[bytes]:
    with made:
        made.seek(0)
        while piece := made.read(PIECE):
            yield piece
