"""The turns of a call: what the user said, and what was answered. A fold over one life's events.

Every segment that was kept is a turn, in the order of speaking; one without an answer is `unanswered`. A call
that was prepared anew goes on counting, and its times are those since it was prepared first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.vocabulary import (
    AudioSpoken,
    CallPrepared,
    InputAppended,
    InputCommitted,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    TextSpoken,
    WriterOpened,
)
from antiphon.replay.errors import RecordingError

MODE = "half_duplex"


class NotACall(RecordingError):
    """The log is of another kind of session."""

    code = "not_a_call"

    def __init__(self, mode: str) -> None:
        super().__init__(f"this is a session of mode {mode or 'none'}, not a half-duplex call")


class Piece(Struct, frozen=True, gc=False):
    """Audio of one event: `samples` of pcm16 at 24 kHz that end at `until_sample` on their clock."""

    until_sample: int
    samples: int
    blob: BlobRef


class Turn(Struct, frozen=True):
    """`outcome`: how the answer ended; `unanswered` and `open` where it did not begin, or not end. Moments
    are milliseconds since the call was prepared."""

    item: ItemId
    from_sample: int
    until_sample: int
    asked_ms: float
    response: ResponseId | None = None
    outcome: str = "unanswered"
    text: str = ""
    spoken: tuple[Piece, ...] = ()
    ended_ms: float | None = None


class Call(Struct, frozen=True):
    """A call as it was. Wall times are nanoseconds; None: not yet, or nobody saw it."""

    session: str
    program: str = ""
    mode: str = ""
    opened_ns: int = 0
    prepared_ns: int | None = None
    prepared_mono_ns: int = 0
    ended_ns: int | None = None
    settings: dict[str, Any] = {}
    heard: tuple[Piece, ...] = ()
    turns: tuple[Turn, ...] = ()


def read(session: str, events: Iterable[Stored]) -> Call:
    """Raises NotACall, and what reading the events raises."""
    call = Call(session)
    heard: list[Piece] = []
    for stored in events:
        if isinstance(stored.event, InputAppended) and stored.blob is not None:
            heard.append(Piece(stored.event.until_sample, stored.event.samples, stored.blob))
        else:
            call = _fold(call, stored)
    if call.mode != MODE:
        raise NotACall(call.mode)
    return replace(call, heard=tuple(heard))


def _fold(call: Call, stored: Stored) -> Call:
    match stored.event:
        case WriterOpened(code=code):
            return replace(call, program=code)
        case SessionOpened(mode=mode):
            return replace(call, mode=mode, opened_ns=stored.at.wall_ns)
        case CallPrepared(settings=settings, number=number):
            call = replace(call, settings=settings)
            at = stored.at
            return call if number > 1 else replace(call, prepared_ns=at.wall_ns, prepared_mono_ns=at.mono_ns)
        case SessionClosed() | SessionExpired() | SessionFailed():
            return replace(call, ended_ns=stored.at.wall_ns)
        case InputCommitted(item=item, from_sample=from_sample, until_sample=until):
            turn = Turn(item, from_sample, until, _since(call, stored))
            return replace(call, turns=(*call.turns, turn))
        case _:
            return _fold_answer(call, stored)


def _fold_answer(call: Call, stored: Stored) -> Call:
    match stored.event:
        case ResponseCreated(response=response, answers=item):
            k = _asked(call, item)
            return call if k is None else _with(call, k, response=response, outcome="open")
        case TextSpoken(response=response, text=text) if (k := _of(call, response)) is not None:
            return _with(call, k, text=call.turns[k].text + text)
        case AudioSpoken(response=response, samples=samples, until_sample=until) if stored.blob is not None:
            k = _of(call, response)
            piece = Piece(until, samples, stored.blob)
            return call if k is None else _with(call, k, spoken=(*call.turns[k].spoken, piece))
        case ResponseEnded(response=response, outcome=outcome) if (k := _of(call, response)) is not None:
            return _with(call, k, outcome=outcome, ended_ms=_since(call, stored))
        case _:
            return call


def _asked(call: Call, item: ItemId | None) -> int | None:
    """Which turn an answer is to: the one it names, else the latest."""
    places = range(len(call.turns))
    if item is None:
        return len(call.turns) - 1 if call.turns else None
    return next((k for k in places if call.turns[k].item == item), None)


def _of(call: Call, response: ResponseId) -> int | None:
    return next((k for k in range(len(call.turns)) if call.turns[k].response == response), None)


def _with(call: Call, k: int, **changes: Any) -> Call:
    turns = call.turns
    return replace(call, turns=(*turns[:k], replace(turns[k], **changes), *turns[k + 1 :]))


def _since(call: Call, stored: Stored) -> float:
    return round((stored.at.mono_ns - call.prepared_mono_ns) / 1e6, 1)
