"""A tick: frames come, the model is asked, and what it says is decided upon.

What a tick brings counts only once it has succeeded: a failed one leaves the frames before it, the query and
the chunk as they were. A chunk that is full is closed by the tick behind it. A reply that says what the last
one said is silence, until there has been a silence between them.
"""

from __future__ import annotations

import difflib
import itertools

from msgspec.structs import replace

from antiphon.actors.session.effects import Answer, Effect
from antiphon.actors.session.mode import Happened
from antiphon.actors.session.refusals import ActiveResponse, CannotSee, InvalidValue
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.ids import Operation, Seq
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    ActionDecided,
    ChunkClosed,
    Event,
    FrameObserved,
    PersonaSet,
    TickBegan,
    TickFailed,
)

from .commands import SetPersona, Tick
from .delegating import finished
from .personas import PERSONAS
from .prompt import watching
from .tokens import SILENCE, Said, parse
from .watch import MOST_ASKED, MOST_TOLD, Asked, Present, Remembered, Seen, Watch, of, options

MOST_FRAMES = 256
"""Of a chunk and a tick together: what one request to a model may show."""
MOST_BYTES = 32 * 1024 * 1024
"""Of the same: it fits into one message to a stage."""
SAMPLING = {
    "top_p": 0.9,
    "top_k": 40,
    "repetition_penalty": 1.1,
    "presence_penalty": 1.5,
    "skip_special_tokens": False,
}


def tick(state: Session, command: Tick, at: Moment) -> Happened:
    watch, chosen = of(state), options(state)
    if not state.abilities.sees:
        raise CannotSee("the stage behind this server takes no images")
    if watch.present is not None:
        raise ActiveResponse("a frame of this session is still being decided")
    size = sum(len(one.data) for one in command.frames)
    if len(command.frames) > MOST_FRAMES or size > MOST_BYTES:
        raise InvalidValue(f"at most {MOST_FRAMES} images of {MOST_BYTES} bytes together are shown at once")
    closes = _is_full(watch, len(command.frames), size, chosen.chunk_frames)
    seqs = itertools.count(state.seq)
    seen = [Draft(FrameObserved(media_type=one.media_type), at, one.data) for one in command.frames]
    query = (command.query or "").strip() or None
    new = query if query is not None and (watch.query is None or query != watch.query.query) else None
    began = TickBegan(
        tick=watch.ticks + 1,
        frames=tuple(Seq(next(seqs)) for _ in seen),
        size=size,
        query=new,
        skipped=chosen.force_silence and new is None and watch.query is None,
    )
    return [*seen, *([ChunkClosed(chunk=watch.chunk)] if closes else []), began]


def _is_full(watch: Watch, more: int, size: int, chunk_frames: int) -> bool:
    """Whether the chunk is over: by its frames, or because no more of them can be shown at once."""
    shown = sum(len(moment.frames) for moment in watch.moments)
    weight = sum(moment.size for moment in watch.moments)
    return shown > 0 and (shown >= chunk_frames or shown + more > MOST_FRAMES or weight + size > MOST_BYTES)


def skip(state: Session, event: TickBegan, at: Moment) -> list[Event]:
    """Without a query there is nothing to decide."""
    if not event.skipped:
        return []
    reported = finished(of(state))
    return [ActionDecided(tick=event.tick, action="silence", raw=SILENCE, skipped=True, reported=reported)]


def ask(state: Session, event: TickBegan, operation: Operation) -> list[Effect]:
    watch, chosen = of(state), options(state)
    if event.skipped:
        return []
    return [
        Answer(
            operation=operation,
            fence=state.fence,
            conversation=watching(watch, chosen.max_pixels),
            instructions=PERSONAS[watch.persona],
            voice="",
            max_output_tokens=chosen.max_tokens,
            temperature=chosen.temperature,
            modalities=("text",),
            speed=None,
            verbatim=True,
            sampling=SAMPLING,
        )
    ]


def decided(state: Session, present: Present) -> list[Event]:
    """What the model's words come to."""
    watch = of(state)
    said, raw = parse(present.raw), present.raw.strip()
    repeated = said.action == "response" and _repeats(said.text, watch.last, options(state).dedup_threshold)
    if repeated:
        said, raw = Said("silence"), SILENCE
    delegates = said.action == "delegate" and options(state).delegation is not None
    return [
        ActionDecided(
            tick=present.tick,
            action=said.action,
            text=said.text,
            question=said.question,
            raw=raw or SILENCE,
            repeated=repeated,
            reported=finished(watch),
            task=watch.delegations + 1 if delegates else None,
        )
    ]


def _repeats(text: str, last: str, threshold: float) -> bool:
    if not text or not last:
        return False
    if text == last:
        return True
    one, other = text.strip().lower(), last.strip().lower()
    return threshold < 1.0 and difflib.SequenceMatcher(None, one, other).ratio() >= threshold


def failed(state: Session, code: str, message: str) -> list[Event]:
    """The tick under way, if there is one, comes to nothing."""
    present = of(state).present
    return [] if present is None else [TickFailed(tick=present.tick, code=code, message=message)]


def set_persona(state: Session, command: SetPersona, at: Moment) -> list[Event]:
    if command.persona not in PERSONAS:
        raise InvalidValue(f"there is no persona {command.persona[:80]!r}", parameter="persona")
    same = of(state).persona == command.persona
    return [] if same else [PersonaSet(persona=command.persona)]


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    watch = of(state)
    match event:
        case TickBegan():
            moved = replace(watch, present=_present(state, event, at), ticks=event.tick)
            return replace(state, own=replace(moved, seen_mono_ns=at.mono_ns))
        case ActionDecided() if watch.present is not None:
            moved = _remembering(watch, watch.present, event, options(state).frame_ms)
            return replace(state, own=replace(moved, present=None, seen_mono_ns=at.mono_ns))
        case TickFailed():
            return replace(state, own=replace(watch, present=None, seen_mono_ns=at.mono_ns))
        case PersonaSet(persona=persona):
            return replace(state, own=replace(watch, persona=persona, seen_mono_ns=at.mono_ns))
        case _:
            return state


def _present(state: Session, event: TickBegan, at: Moment) -> Present:
    watch, frame_ms = of(state), options(state).frame_ms
    frames = tuple(Seen(seq, (watch.frames + place) * frame_ms) for place, seq in enumerate(event.frames))
    operation, now_ns = Operation(state.seq), at.mono_ns
    return Present(event.tick, frames, event.query, operation, now_ns, now_ns, size=event.size)


def _remembering(watch: Watch, present: Present, event: ActionDecided, frame_ms: int) -> Watch:
    query, asked = watch.query, watch.asked
    if present.query is not None:
        if query is not None and query.told:
            asked = (*asked, replace(query, chunk=watch.chunk))[-MOST_ASKED:]
        query = Asked(present.query, watch.frames * frame_ms, watch.chunk)
    if event.action != "silence" and event.text and query is not None:
        told = (*query.told, (present.frames[-1].at_ms, event.text))[-MOST_TOLD:]
        query = replace(query, told=told)
    return replace(
        watch,
        frames=watch.frames + len(present.frames),
        moments=(*watch.moments, Remembered(present.frames, present.query, event.raw, present.size)),
        query=query,
        asked=asked,
        last=_last(watch.last, event),
    )


def _last(last: str, event: ActionDecided) -> str:
    """A silence that the model chose forgets what was said; one that was made of a repetition does not."""
    match event.action:
        case "silence":
            return last if event.repeated else ""
        case "response":
            return event.text or last
        case _:
            return last
