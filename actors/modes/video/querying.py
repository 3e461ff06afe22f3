"""How a question is asked, and what is remembered of it.

The answer under way ends first, whatever becomes of the question. Without images there is nothing to ask
about: what was heard waits for the next question then. Parameters that no model takes fail the question, and
what was heard goes with it.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from antiphon.actors.session import fence
from antiphon.actors.session.answers import created
from antiphon.actors.session.commands import CreateResponse
from antiphon.actors.session.heard import full_text
from antiphon.actors.session.mode import Happened
from antiphon.actors.session.refusals import NoFrames
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.ids import ItemId
from antiphon.events.units import BYTES_PER_SAMPLE, Moment, Samples
from antiphon.events.vocabulary import (
    CommandRefused,
    Event,
    InputCleared,
    ResponseCreated,
    ResponseEnded,
    VideoQueried,
)

from .commands import Query
from .hearing import appended
from .sampling import Invalid, checked
from .seeing import sampled
from .stream import of, options

SUPERSEDED = "superseded"
"""Why an answer ends when the next question comes."""
INVALID_SAMPLING = "invalid_sampling_params"
REMEMBERED = 2
"""Answers whose playback is followed: the one before, whose end may be reported late, and the latest."""


def query(state: Session, command: Query, at: Moment) -> Happened:
    stream = of(state)
    if stream.finished:
        return []
    ended = _interrupted(state)
    heard = appended(state, command.pcm, command.sent_bytes, at) if command.sent_bytes else []
    happened: list[Event | Draft] = [*ended, *heard]
    if not stream.kept:
        if not happened:
            raise NoFrames("No frames buffered")
        return [*happened, _refused(state, NoFrames.code, "No frames buffered")]
    start, until = _open_sound(state, heard)
    try:
        sampling = checked(options(state).sampling)
    except Invalid as invalid:
        told = _refused(state, INVALID_SAMPLING, f"Failed to build request: {invalid}")
        return [*happened, *([InputCleared(until_sample=Samples(until))] if until > start else []), told]
    if options(state).audio_in_video and until > start:
        sampling["mm_processor_kwargs"] = {"use_audio_in_video": True}
    asked = VideoQueried(
        item=ItemId(state.new_id("item")),
        text=command.text,
        frames=sampled(stream.kept, options(state).num_frames),
        from_sample=Samples(start),
        until_sample=Samples(until),
        sampling=sampling,
        streams=command.streams,
    )
    return [*happened, asked]


def _interrupted(state: Session) -> list[Event]:
    active = state.turns.active
    if active is None:
        return []
    ended = ResponseEnded(response=active.response, outcome="cancelled", reason=SUPERSEDED)
    return [fence.advance(state, SUPERSEDED), ended]


def _open_sound(state: Session, heard: list[Event | Draft]) -> tuple[int, int]:
    """What was heard and belongs to no question, once that has happened."""
    if any(isinstance(one, InputCleared) for one in heard):
        return state.buffer.appended, state.buffer.appended
    more = sum(len(one.blob or b"") for one in heard if isinstance(one, Draft))
    return state.buffer.open_from, state.buffer.appended + more // BYTES_PER_SAMPLE


def _refused(state: Session, code: str, message: str) -> CommandRefused:
    return CommandRefused(code=code, message=message, attachment=state.attached.current)


def answer(state: Session, event: VideoQueried, at: Moment) -> list[ResponseCreated]:
    """Sampling parameters that every kind of stage knows are told to it as such."""
    begun = created(state, CreateResponse())
    tokens, temperature = event.sampling.get("max_tokens"), event.sampling.get("temperature")
    return [replace(begun, max_output_tokens=tokens, temperature=temperature)]


def fold(state: Session, event: Event, at: Moment) -> Session:
    stream = of(state)
    match event:
        case VideoQueried():
            return replace(state, own=replace(stream, query=event))
        case ResponseEnded(outcome=outcome, response=response):
            moved = replace(stream, query=None)
            played, query = state.playback(response), stream.query
            if outcome in ("completed", "incomplete") and played is not None and query is not None:
                moved = replace(moved, exchange=(query.text, full_text(played)))
            return _forgetting(replace(state, own=moved))
        case _:
            return state


def _forgetting(state: Session) -> Session:
    """Streams are long: of earlier answers nothing is kept but the last exchange."""
    kept: dict[str, Any] = {"entries": state.entries[-REMEMBERED:], "played": state.played[-REMEMBERED:]}
    return replace(state, **kept)
