"""Memory in layers: chunks that are over are summed up, and summaries are, once there are enough of them.

One summary is written at a time, in the background of the ticks. One that fails is tried again after a while,
MOST_ATTEMPTS times in all; then what it was to be of is forgotten, and the log says so.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.effects import Answer, Effect
from antiphon.actors.session.state import Session
from antiphon.events.ids import Operation
from antiphon.events.units import SECOND_NS, Millis, Moment
from antiphon.events.vocabulary import (
    ChunkClosed,
    Event,
    LongTermAdded,
    MidTermAdded,
    SummaryAsked,
    SummaryFailed,
)

from .personas import LONG_SUMMARY, SUMMARY
from .prompt import summing_chunk, summing_summaries
from .watch import Chunk, Summary, Summing, Watch, of, options

MOST_ATTEMPTS = 3
AGAIN_S = 5
"""How long after a failure it is tried again."""
ENDPOINT = "summarizer"
MID = {"top_p": 0.9, "presence_penalty": 1.0}
LONG = {"top_p": 0.7, "top_k": 30, "presence_penalty": 0.5}
LONG_TEMPERATURE = 0.3


def go_on(state: Session, event: Event, at: Moment) -> list[Event]:
    """Whatever is to be summed up next, if nothing is being."""
    watch = of(state)
    if watch.summing is not None:
        return []
    if len(watch.mid_term) >= options(state).long_every:
        return [SummaryAsked(kind="long", chunk=watch.mid_term[-1].chunk)]
    return [SummaryAsked(kind="mid", chunk=watch.chunks[0].chunk)] if watch.chunks else []


def ask(state: Session, event: SummaryAsked, operation: Operation) -> list[Effect]:
    watch, chosen, mid = of(state), options(state), event.kind == "mid"
    return [
        Answer(
            operation=operation,
            fence=state.fence,
            conversation=summing_chunk(watch.chunks[0], chosen) if mid else summing_summaries(watch),
            instructions=SUMMARY if mid else LONG_SUMMARY,
            voice="",
            max_output_tokens=chosen.summary_tokens,
            temperature=chosen.temperature if mid else LONG_TEMPERATURE,
            modalities=("text",),
            speed=None,
            verbatim=True,
            sampling=MID if mid else LONG,
            endpoint=ENDPOINT if chosen.summarizer else "",
        )
    ]


def added(state: Session, summing: Summing) -> list[Event]:
    """The summary is written. One that says nothing has failed."""
    text, watch = summing.text.strip(), of(state)
    if not text:
        return failed(state, "empty_summary", "the model wrote nothing")
    if summing.kind == "mid":
        frames, frame_ms = watch.chunks[0].frames, options(state).frame_ms
        from_ms, until_ms = frames[0].at_ms, frames[-1].at_ms + frame_ms
        return [
            MidTermAdded(chunk=summing.chunk, from_ms=Millis(from_ms), until_ms=Millis(until_ms), text=text)
        ]
    first, last = watch.mid_term[0], watch.mid_term[-1]
    return [
        LongTermAdded(
            chunk=summing.chunk, from_ms=Millis(first.from_ms), until_ms=Millis(last.until_ms), text=text
        )
    ]


def failed(state: Session, code: str, message: str) -> list[Event]:
    """The summary that is being written, if one is, comes to nothing."""
    summing = of(state).summing
    if summing is None or summing.failed_mono_ns is not None:
        return []
    final = summing.attempt >= MOST_ATTEMPTS
    return [SummaryFailed(kind=summing.kind, chunk=summing.chunk, code=code, message=message, final=final)]


def due_ns(state: Session) -> int | None:
    """When a summary that failed is tried again."""
    summing = of(state).summing
    if summing is None or summing.failed_mono_ns is None:
        return None
    return summing.failed_mono_ns + AGAIN_S * SECOND_NS


def try_again(state: Session, at: Moment) -> list[Event]:
    due, summing = due_ns(state), of(state).summing
    if due is None or at.mono_ns < due or summing is None:
        return []
    return [SummaryAsked(kind=summing.kind, chunk=summing.chunk, attempt=summing.attempt + 1)]


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    watch = of(state)
    match event:
        case ChunkClosed(chunk=chunk):
            frames = tuple(frame for moment in watch.moments for frame in moment.frames)
            waiting = (*watch.chunks, Chunk(chunk, frames)) if options(state).memory else ()
            return replace(state, own=replace(watch, chunks=waiting, moments=(), chunk=chunk + 1))
        case SummaryAsked(kind=kind, chunk=chunk, attempt=attempt):
            summing = Summing(kind, chunk, attempt, Operation(state.seq), at.mono_ns)
            return replace(state, own=replace(watch, summing=summing))
        case SummaryFailed(final=True):
            return replace(state, own=_without_summing(watch, event.kind))
        case SummaryFailed() if watch.summing is not None:
            summing = replace(watch.summing, failed_mono_ns=at.mono_ns)
            return replace(state, own=replace(watch, summing=summing))
        case MidTermAdded(chunk=chunk, from_ms=from_ms, until_ms=until_ms, text=text):
            added_ = (*watch.mid_term, Summary(chunk, from_ms, until_ms, text))
            return replace(state, own=replace(watch, summing=None, chunks=watch.chunks[1:], mid_term=added_))
        case LongTermAdded(chunk=chunk, from_ms=from_ms, until_ms=until_ms, text=text):
            most = options(state).long_window
            kept = (*watch.long_term, Summary(chunk, from_ms, until_ms, text))[-most:]
            return replace(state, own=replace(watch, summing=None, mid_term=(), long_term=kept))
        case _:
            return state


def _without_summing(watch: Watch, kind: str) -> Watch:
    """What could not be summed up is forgotten."""
    if kind == "mid":
        return replace(watch, summing=None, chunks=watch.chunks[1:])
    return replace(watch, summing=None, mid_term=())
