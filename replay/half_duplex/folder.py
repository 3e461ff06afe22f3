"""What lies in the recording's folder, by the names that the demo's tools look for.

    meta.json               which session, when, and how it was prepared
    recording.json          its turns, with the names of their sounds
    user_audio/NNN.wav      what the user said in a turn: mono pcm16 at 16 kHz, from 000
    ai_audio/turn_N.wav     what was answered, all that was generated: mono pcm16 at 24 kHz

Nothing of it is stored: `Folder` makes each file of the log. A name is looked up among those that there are
and never becomes a path. Where the audio was erased there are no sounds, and the turns name none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import numpy as np

from antiphon.events.envelope import BlobRef
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.events.units import SAMPLE_RATE, samples_to_ms
from antiphon.media.pcm import to_float
from antiphon.media.resample import resample
from antiphon.media.wav import write_wav

from .turns import Piece, Turn, read

Json = dict[str, Any]
APP = "half_duplex_audio"
USER_RATE = 16_000
META, RECORDING = "meta.json", "recording.json"


class Folder:
    """One life of one call. Raises NotACall, LogError."""

    def __init__(self, log: Log, session: SessionId, *, incarnation: int | None = None) -> None:
        self._payload = partial(log.read_blob, session, incarnation=incarnation)
        head = log.head(session, incarnation=incarnation)
        self.has_sound = not head.erased
        self.call = read(session, log.read(session, incarnation=incarnation))
        self._makers = dict(self._files())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._makers)

    def file(self, name: str) -> bytes | None:
        """The contents; None: there is no such file. Raises LogError."""
        make = self._makers.get(name)
        return None if make is None else make()

    def meta(self) -> Json:
        call = self.call
        ended = call.ended_ns
        return {
            "session_id": call.session,
            "app_type": APP,
            "created_at": _utc(call.opened_ns),
            "ended_at": None if ended is None else _utc(ended),
            "duration_s": None if ended is None else round((ended - call.opened_ns) / 1e9, 1),
            "worker_id": f"antiphon {call.program}",
            "title": None,
            "config": call.settings,
        }

    def recording(self) -> Json:
        call = self.call
        return {
            "session_id": call.session,
            "mode": APP,
            "worker_id": f"antiphon {call.program}",
            "start_ts": None if call.prepared_ns is None else round(call.prepared_ns / 1e9, 3),
            "config": call.settings,
            "turns": [self._turn(k, turn) for k, turn in enumerate(call.turns)],
        }

    def _turn(self, k: int, turn: Turn) -> Json:
        said_ms, made = samples_to_ms(turn.until_sample - turn.from_sample), _samples(turn)
        spoken: Json = {"type": "voice", "duration_ms": said_ms}
        answer: Json = {"text": turn.text, "status": turn.outcome}
        if self.has_sound:
            spoken["audio"] = user_audio(k)
        if self.has_sound and made:
            answer |= {"audio": ai_audio(k), "audio_duration_ms": samples_to_ms(made)}
        elapsed_ms = None if turn.ended_ms is None else round(turn.ended_ms - turn.asked_ms, 1)
        return {
            "turn_index": k,
            "request_ts_ms": turn.asked_ms,
            "input": spoken,
            "output": answer,
            "timing": {"elapsed_ms": elapsed_ms, "speech_input_ms": said_ms},
        }

    # --- the files ----------------------------------------------------------------------------------------

    def _files(self) -> Iterator[tuple[str, Callable[[], bytes]]]:
        yield META, lambda: _json(self.meta())
        yield RECORDING, lambda: _json(self.recording())
        for k, turn in enumerate(self.call.turns if self.has_sound else ()):
            yield user_audio(k), partial(self._said, turn)
            if turn.spoken:
                yield ai_audio(k), partial(self._answered, turn)

    def _said(self, turn: Turn) -> bytes:
        pcm = cut(self.call.heard, turn.from_sample, turn.until_sample, self._payload)
        return write_wav(resample(to_float(pcm), SAMPLE_RATE, USER_RATE), USER_RATE)

    def _answered(self, turn: Turn) -> bytes:
        pcm = b"".join(self._payload(piece.blob) for piece in turn.spoken)
        return write_wav(to_float(pcm), SAMPLE_RATE)


def user_audio(k: int) -> str:
    return f"user_audio/{k:03}.wav"


def ai_audio(k: int) -> str:
    return f"ai_audio/turn_{k}.wav"


def cut(heard: tuple[Piece, ...], start: int, stop: int, payload: Callable[[BlobRef], bytes]) -> bytes:
    """The input from sample `start` to `stop`: pcm16 at 24 kHz."""
    pcm = np.zeros(stop - start, "<i2")
    for piece in heard:
        begin = piece.until_sample - piece.samples
        first, last = max(begin, start), min(piece.until_sample, stop)
        if first < last:
            sound = np.frombuffer(payload(piece.blob), "<i2")
            pcm[first - start : last - start] = sound[first - begin : last - begin]
    return pcm.tobytes()


def _samples(turn: Turn) -> int:
    return sum(piece.samples for piece in turn.spoken)


def _utc(wall_ns: int) -> str:
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).isoformat(timespec="milliseconds")


def _json(value: Json) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
