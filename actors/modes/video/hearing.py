"""What is heard beside the images. It waits for a question, and goes with the first one, answered or not.

More than MOST_BYTES of it is thrown away, all of it, and the client is told.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.effects import Effect
from antiphon.actors.session.mode import Happened
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.ids import Operation
from antiphon.events.units import BYTES_PER_SAMPLE, Moment, Samples
from antiphon.events.vocabulary import CommandRefused, Event, InputAppended, InputCleared, VideoQueried

from .commands import AppendSound
from .stream import of

MOST_BYTES = 4 * 1024 * 1024
"""As it comes, at 16 kHz: 131 s."""
PIECE = 1024 * 1024
"""Bytes of one event at most."""
OVERFLOW = "audio_overflow"


def append_sound(state: Session, command: AppendSound, at: Moment) -> Happened:
    stream = of(state)
    if stream.finished or not (command.sent_bytes or stream.heard_bytes):
        return []  # the end of sound that was thrown away
    return appended(state, command.pcm, command.sent_bytes, at)


def appended(state: Session, pcm: bytes, sent_bytes: int, at: Moment) -> list[Event | Draft]:
    """The sound behind what there is, or what it means that there is no room for it."""
    if of(state).heard_bytes + sent_bytes > MOST_BYTES:
        refused = CommandRefused(
            code=OVERFLOW, message="Audio buffer overflow", attachment=state.attached.current
        )
        return [InputCleared(until_sample=Samples(state.buffer.appended)), refused]
    until, events = state.buffer.appended, list[Event | Draft]()
    for start in range(0, len(pcm), PIECE):
        piece = pcm[start : start + PIECE]
        samples = Samples(len(piece) // BYTES_PER_SAMPLE)
        until += samples
        came = 0 if start else sent_bytes
        event = InputAppended(samples=samples, until_sample=Samples(until), sent_bytes=came)
        events.append(Draft(event=event, at=at, blob=piece))
    return events


def ask_nobody(state: Session, event: InputAppended, operation: Operation) -> list[Effect]:
    """Nobody listens before there is a question."""
    return []


def fold(state: Session, event: Event, at: Moment) -> Session:
    stream = of(state)
    match event:
        case InputAppended(sent_bytes=sent_bytes):
            return replace(state, own=replace(stream, heard_bytes=stream.heard_bytes + sent_bytes))
        case InputCleared():
            return replace(state, own=replace(stream, heard_bytes=0))
        case VideoQueried(until_sample=until):
            heard = replace(state.buffer, open_from=until)
            return replace(state, buffer=heard, own=replace(stream, heard_bytes=0))
        case _:
            return state
