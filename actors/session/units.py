"""Units: the input of a stage that hears in steps of a fixed length, one step at a time.

An append is a transaction of four moments. *Prepare*: what would be given next follows from the state alone.
*Submit*: UnitSubmitted, whose seq is the operation. *Commit*: the stage's last word of it (UnitCompleted).
*Roll back*: UnitRefused; its input is again the head of what is to be given, in order, and nothing is given
until the client says more, which begins a fresh chain. What a cancel overtook is void: the stage may have
heard it, and it is not given again unless the stage says that it did not.

Where answers come by themselves (`auto_response`) input streams: each whole unit is given as soon as it is
there. Else committed items are held until somebody asks for an answer to them. A unit is whole; only the end
of an item is filled up with silence, and an item that ends with a unit needs none. `final` is the unit that
ends the user's turn. Held units before it leave the model no choice but to listen.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from antiphon.events.ids import ItemId, Operation, Seq
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    EpochAdvanced,
    Event,
    ImageReceived,
    InputCleared,
    InputCommitted,
    ItemRemoved,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    SessionConfigured,
    TurnEnded,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)

from .state import STAGE_LOST, Held, Session, Unit, Units

STALE = "stale_fence"
"""Why a stage refuses a unit that a cancel overtook."""
MOST_SHOWN = 8
"""Images that came with audio and wait for an item, where input does not come in units: the newest."""

NOT_HEARD = ("silence", "acknowledgement")
"""Outcomes of a commit whose audio is given to nobody."""


def prepare(state: Session) -> UnitSubmitted | None:
    """What the stage would be given now; None while it is busy, or where nothing is due."""
    units, active = state.units, state.turns.active
    busy = units.flight is not None or (active is not None and active.operation is not None)
    asked = bool(state.proposals) and state.proposals[0].operation is not None
    if busy or asked or units.broken or not state.unit:
        return None
    item = next((one for one in units.held if one.until > units.given), None)
    if item is not None:
        return _held(state, item)
    start = max(units.given, units.floor)
    if not state.streams or state.buffer.appended - start < state.unit:
        return None
    return _unit(state, start, start + state.unit)


def _held(state: Session, item: Held) -> UnitSubmitted | None:
    """The next unit of a committed item."""
    if not state.streams and item.until > state.units.wanted:
        return None
    start = max(state.units.given, item.from_sample)
    until = min(start + state.unit, item.until)
    ends = until == item.until
    final = ends and (item.due if state.streams else item.until == state.units.wanted)
    unit = _unit(state, start, until, last=ends)
    return replace(unit, final=final, force_listen=not final and not state.streams)


def _unit(state: Session, start: int, until: int, *, last: bool = False) -> UnitSubmitted:
    """With the images that came meanwhile; with the `last` of an item those that came behind it, too."""
    seen = until + 1 if last else until
    return UnitSubmitted(
        work="unit",
        fence=state.fence,
        from_sample=Samples(start),
        until_sample=Samples(until),
        silence=Samples(state.unit - (until - start)),
        images=tuple(seq for seq, at_sample in state.units.images if at_sample < seen),
    )


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    if not state.abilities.unit_ms:
        return state
    units = state.units
    match event:
        case UnitSubmitted(work="unit"):
            return replace(state, units=_submitted(state, event, at))
        case UnitCompleted(operation=operation) if units.flight and units.flight.operation == operation:
            done = units.flight.until
            left = tuple(one for one in units.held if one.until > done)
            return replace(state, units=replace(units, flight=None, held=left))
        case UnitRefused(operation=operation, code=code):
            failed = code not in (STALE, STAGE_LOST)  # given again: at once, or when the stage is back
            return replace(state, units=_rolled_back(state, operation, failed=failed))
        case EpochAdvanced():
            return replace(state, units=replace(units, flight=None, void=units.flight, awaiting=False))
        case SessionConfigured(config=config) if config.auto_response and not state.streams:
            return replace(state, units=_begun_to_stream(state))
        case ModelListened(reason="continuation_limit") | TurnEnded():
            return replace(state, units=replace(units, awaiting=False))
        case WriterOpened(boot=boot) if boot != state.boot:
            flight = units.flight and replace(units.flight, asked_mono_ns=at.mono_ns)
            return replace(state, units=replace(units, flight=flight, paced_mono_ns=at.mono_ns))
        case _:
            return state


def _begun_to_stream(state: Session) -> Units:
    """What nobody asked about so far is not given: the stream begins with the open input."""
    units = state.units
    asked = tuple(one for one in units.held if one.until <= units.wanted)
    return replace(units, held=asked, floor=max(units.floor, state.buffer.open_from))


def _submitted(state: Session, event: UnitSubmitted, at: Moment) -> Units:
    units = state.units
    given = Unit(
        operation=Operation(state.seq),
        fence=event.fence,
        from_sample=event.from_sample,
        until=event.until_sample,
        silence=event.silence,
        final=event.final,
        force_listen=event.force_listen,
        images=event.images,
        asked_mono_ns=at.mono_ns,
    )
    silent = event.from_sample == event.until_sample
    return replace(
        units,
        flight=given,
        void=None,
        held=tuple(one for one in units.held if one.until > units.given),
        given=max(units.given, event.until_sample),
        images=tuple(image for image in units.images if image[0] not in event.images),
        awaiting=units.awaiting or (event.final and state.streams),
        silences=units.silences + 1 if silent else 0,
        paced_mono_ns=_paced(state, at) if silent else at.mono_ns,
    )


def _paced(state: Session, at: Moment) -> int:
    """A unit of silence was due one unit after the last; who is more than one unit late begins anew."""
    period = state.abilities.unit_ms * 1_000_000
    due = state.units.paced_mono_ns + period
    return due if at.mono_ns - due <= period else at.mono_ns


def _rolled_back(state: Session, operation: Operation, *, failed: bool) -> Units:
    """The input of a unit that the stage did not take comes first again. A commit that waited for it has
    failed: its item ends nobody's turn any more. One that came too late for its epoch is given at once."""
    units = state.units
    lost = next((unit for unit in (units.flight, units.void) if unit and unit.operation == operation), None)
    if lost is None:
        return units
    return replace(
        units,
        flight=None if lost is units.flight else units.flight,
        void=None,
        given=min(units.given, lost.from_sample),
        held=tuple(replace(one, due=False) for one in units.held) if failed else units.held,
        images=(*((seq, lost.from_sample) for seq in lost.images), *units.images),
        broken=failed,
        awaiting=units.awaiting and lost is not units.flight,
    )


def fold_input(state: Session, event: Event, at: Moment) -> Session:
    """What is to be given: committed, cleared, taken out, seen."""
    if not state.abilities.unit_ms:
        return _fold_images(state, event)
    units = state.units
    match event:
        case ImageReceived(at_sample=sample):
            seen = (*units.images, (Seq(state.seq), int(sample)))
            return replace(state, units=replace(units, images=seen))
        case InputCommitted():
            return replace(state, units=_committed(state, event))
        case InputCleared(until_sample=until):
            return replace(state, units=replace(_dropped(units, until), held=(), images=()))
        case ItemRemoved(item=item):
            left = tuple(one for one in units.held if one.item != item)
            return replace(state, units=replace(units, held=left))
        case _:
            return state


def _fold_images(state: Session, event: Event) -> Session:
    """Without units they wait for the next item, unless they came in one."""
    units, images = state.units, state.units.images
    match event:
        case ImageReceived(item=None, at_sample=sample):
            images = (*images, (Seq(state.seq), int(sample)))[-MOST_SHOWN:]
        case InputCommitted() | InputCleared():
            images = ()
    return state if images is units.images else replace(state, units=replace(units, images=images))


def _committed(state: Session, event: InputCommitted) -> Units:
    units, until = state.units, event.until_sample
    if event.outcome in NOT_HEARD:
        return replace(_dropped(units, until), images=()) if state.streams else units
    due = event.outcome == "asked"
    if state.streams and event.final and not due:
        return units
    if until <= units.given:  # all of it has been given: the model is only to go on
        return replace(units, awaiting=due, silences=0) if event.final else units
    item = Held(event.item, event.from_sample, until, due, event.client_event)
    return replace(units, held=(*units.held, item))


def _dropped(units: Units, until: int) -> Units:
    """Open input before `until` is not given any more; items that were committed before still are."""
    return replace(units, floor=max(units.floor, until))


def fold_answer(state: Session, event: Event, at: Moment) -> Session:
    """What an answer means for the input that it answers, or that waits behind it."""
    if not state.abilities.unit_ms:
        return state
    units = state.units
    match event:
        case ResponseCreated(asked=asked, answers=answers):
            wanted = _wanted(state, answers) if asked and not state.streams else units.wanted
            begun = replace(units, wanted=wanted, broken=False, awaiting=False, silences=0)
            return replace(state, units=begun)
        case ResponseEnded(outcome=outcome):
            return replace(state, units=_after(state, outcome))
        case _:
            return state


def _wanted(state: Session, answers: ItemId | None) -> int:
    """Up to where held input is part of the question: the deferred item, or all there is."""
    ends = [one.until for one in state.units.held if answers in (None, one.item)]
    return ends[-1] if ends else 0


def _after(state: Session, outcome: Literal["completed", "cancelled", "failed", "incomplete"]) -> Units:
    """Committed input that was not given goes with a cancelled answer, what was deferred with a failed."""
    units = replace(state.units, wanted=0)
    if outcome == "cancelled":
        until = state.buffer.open_from
        images = tuple(image for image in units.images if image[1] >= until)
        return replace(_dropped(units, until), held=(), images=images)
    if outcome == "failed":
        return replace(units, held=tuple(one for one in units.held if one.until <= state.units.wanted))
    return units
