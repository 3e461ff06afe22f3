"""Events to bytes and back.

What is stored of an event is the msgpack array [type, version, cause, blob reference, body]; the body is a
map of the event's fields. Type and version stand outside the body so that a reader can keep an event it does
not know byte for byte. Which of those may be skipped is said by the frame, not by the body: `critical`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Union

import msgspec
from crc32c import crc32c
from msgspec import Raw, Struct

from .envelope import BlobRef, Draft, Stored, Unknown
from .errors import TooLarge, UnknownCritical
from .ids import Seq
from .units import Moment
from .upcast import UPCASTS, Upcasts, upcast
from .vocabulary import EVENT_TYPES, Event

MAX_EVENT = 1 << 20
"""Bytes of one stored event without its blob."""
MAX_BLOB = 16 << 20


class _Envelope(Struct, frozen=True, array_like=True):
    type: str
    version: int
    cause: Seq | None
    blob: BlobRef | None
    body: Raw


_encode = msgspec.msgpack.Encoder().encode
_open_envelope = msgspec.msgpack.Decoder(_Envelope).decode
_builtins = msgspec.msgpack.Decoder().decode


def encode(draft: Draft, audio_end: int) -> tuple[bytes, BlobRef | None]:
    """What to store of `draft`, and where its blob goes when the blob file ends at `audio_end`.

    Raises TooLarge.
    """
    blob, ref, event = draft.blob, None, draft.event
    if blob is not None:
        if len(blob) > MAX_BLOB:
            raise TooLarge("blob", size=len(blob), limit=MAX_BLOB)
        ref = BlobRef(audio_end, len(blob), crc32c(blob))
    if type(event) is Unknown:
        stored = _encode((event.type, event.event_version, draft.cause, ref, event.body))
    else:
        # The struct inside the array is encoded as its map: one pass, no copy of the body.
        stored = _encode((type(event).__name__, event.version, draft.cause, ref, event))
    if len(stored) > MAX_EVENT:
        raise TooLarge("event", size=len(stored), limit=MAX_EVENT)
    return stored, ref


def blob_of(stored: bytes | memoryview) -> BlobRef | None:
    """The blob reference of a stored event, without reading its body."""
    return _open_envelope(stored).blob


class Known(Struct, frozen=True, gc=False, array_like=True):
    """A stored event whose type and version are known before it is decoded: one class for each."""

    version: int
    cause: Seq | None
    blob: BlobRef | None
    event: Any


def _as_stored(type_: type[Event]) -> type[Struct]:
    """The class of what is stored of `type_` as it is today."""
    members = [
        ("version", Literal[type_.version]),
        ("cause", Seq | None),
        ("blob", BlobRef | None),
        ("event", type_),
    ]
    return msgspec.defstruct(
        type_.__name__, members, frozen=True, gc=False, array_like=True, tag=type_.__name__
    )


def _array_of(size: int) -> bytes:
    """What stands before `size` msgpack values to make an array of them."""
    return b"\xdd" + size.to_bytes(4, "big")


class Decoder:
    """Reads stored events into the types of one vocabulary."""

    def __init__(self, types: Iterable[type[Event]] = EVENT_TYPES, upcasts: Upcasts = UPCASTS) -> None:
        self._upcasts = upcasts
        known = tuple(types)
        self._known = {
            type_.__name__: (type_, type_.version, msgspec.msgpack.Decoder(type_).decode) for type_ in known
        }
        any_known: Any = Union[tuple(map(_as_stored, known))]  # noqa: UP007  # made of many
        self._decode_known: Callable[[bytes], list[Known]] = msgspec.msgpack.Decoder(list[any_known]).decode

    def decode(self, stored: bytes | memoryview, *, seq: int, at: Moment, critical: bool) -> Stored:
        """Raises msgspec.MsgspecError when the bytes are not a stored event."""
        envelope = _open_envelope(stored)
        known = self._known.get(envelope.type)
        event: Event
        if known is not None and known[1] == envelope.version:
            event = known[2](envelope.body)
        elif known is not None and self._can_upcast(envelope, known[1]):
            body: dict[str, Any] = _builtins(envelope.body)
            today = upcast(envelope.type, envelope.version, body, to=known[1], steps=self._upcasts)
            event = msgspec.convert(today, known[0])
        else:
            # A copy, because the body would otherwise keep the whole buffer it was read from alive.
            event = Unknown(type=envelope.type, event_version=envelope.version, body=envelope.body.copy())
        return Stored(Seq(seq), at, event, envelope.blob, envelope.cause, critical)

    def decode_all(self, stored: Sequence[bytes | memoryview]) -> list[Known] | None:
        """All of them in one step, if each is an event of today's version; None if any is not."""
        try:
            return self._decode_known(b"".join((_array_of(len(stored)), *stored)))
        except msgspec.MsgspecError:
            return None

    def _can_upcast(self, envelope: _Envelope, version: int) -> bool:
        steps = range(envelope.version, version)
        return bool(steps) and all((envelope.type, at) in self._upcasts for at in steps)


_today = Decoder()
decode, decode_all = _today.decode, _today.decode_all
"""Read stored events into today's vocabulary."""


def refuse_unknown_critical(stored: Stored) -> None:
    """For callers about to resume: raise UnknownCritical if skipping this event would falsify the state."""
    event = stored.event
    if stored.critical and isinstance(event, Unknown):
        raise UnknownCritical(event.type, event.event_version, seq=stored.seq)
