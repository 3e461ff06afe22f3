"""The events that bench.log stores: a conversation as it is spoken, a quarter of each kind.

Input audio and output audio of 80 ms (3,840 bytes) each, playback acknowledgements, transcript deltas.
"""

from __future__ import annotations

import random

import msgspec

from antiphon.events.envelope import Draft
from antiphon.events.ids import Operation, ResponseId
from antiphon.events.units import Millis, Moment, Samples
from antiphon.events.vocabulary import AudioSpoken, InputAppended, PlaybackAcknowledged, TextSpoken

AUDIO_BYTES = 3840
SAMPLES = AUDIO_BYTES // 2
RESPONSE = ResponseId("resp_4f0c2a9be1d37c586e21")
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog")
WALL_NS = 1_790_000_000_000_000_000
_PAYLOADS = [random.Random(n).randbytes(AUDIO_BYTES) for n in range(64)]


def conversation(count: int) -> list[Draft]:
    """The first `count` events, ready to be appended."""
    return [_draft(n) for n in range(count)]


def _draft(n: int) -> Draft:
    at, turn = Moment(mono_ns=n * 20_000_000, wall_ns=WALL_NS + n * 20_000_000), n // 4
    until = Samples((turn + 1) * SAMPLES)
    match n % 4:
        case 0:
            return Draft(
                InputAppended(samples=Samples(SAMPLES), until_sample=until), at, blob=_PAYLOADS[n % 64]
            )
        case 1:
            spoken = AudioSpoken(
                response=RESPONSE,
                samples=Samples(SAMPLES),
                until_sample=until,
                operation=Operation(7),
                index=n,
            )
            return Draft(spoken, at, blob=_PAYLOADS[n % 64])
        case 2:
            return Draft(PlaybackAcknowledged(response=RESPONSE, heard_ms=Millis(turn * 80)), at)
        case _:
            said = TextSpoken(
                response=RESPONSE,
                text=f" {WORDS[turn % len(WORDS)]}",
                from_sample=until,
                operation=Operation(7),
                index=n,
            )
            return Draft(said, at)


def typed_bytes(drafts: list[Draft]) -> int:
    """What any store must keep of them: the name of each type, its version, the body, and the payload."""
    return sum(
        len(type(draft.event).__name__)
        + 1
        + len(msgspec.msgpack.encode(draft.event))
        + len(draft.blob or b"")
        for draft in drafts
    )
