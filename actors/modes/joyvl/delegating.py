"""Questions that another model answers while the watcher goes on.

Its answer is known to the watcher's model from the next tick on, as an exchange of its own, and the client is
told of it with the next decision. A stub's answer is there at the second tick behind the one that delegates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from antiphon.actors.session.effects import Answer, Effect
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.ids import Operation
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    ActionDecided,
    DelegationFailed,
    DelegationReady,
    DelegationSubmitted,
    Event,
    TickBegan,
)

from .personas import DELEGATE
from .prompt import delegating, latest_frames, question_of
from .routing import kind_of
from .watch import MOST_ASKED, Asked, Delegated, Watch, of, options

ENDPOINTS = {"chat": "delegation", "image": "delegation_image", "edit": "delegation_edit"}
"""Of the stage, by the kind of question."""
PNG = b"\x89PNG"
STUB_POLLS = 2
TEMPERATURE = 0.2
REMEMBERED = 64
"""Delegations, of which clients may be told, that are kept once they are over."""
MOST_PENDING = 8


def submit(state: Session, event: ActionDecided, at: Moment) -> list[Event]:
    """What a decision delegates. Of too many the last has failed at once."""
    kind = options(state).delegation
    if event.task is None or kind is None:
        return []
    question = question_of(event.question, event.text)
    chosen = kind_of(question) if kind == "router" else kind
    submitted = DelegationSubmitted(task=event.task, kind=chosen, question=question)
    if sum(one.is_pending for one in of(state).delegated) < MOST_PENDING:
        return [submitted]
    told = f"{MOST_PENDING} questions wait already"
    return [submitted, DelegationFailed(task=event.task, code="resource_exhausted", message=told)]


def ask(state: Session, event: DelegationSubmitted, operation: Operation) -> list[Effect]:
    delegated = next(one for one in of(state).delegated if one.task == event.task)
    if delegated.kind == "stub":
        return []
    return [
        Answer(
            operation=operation,
            fence=state.fence,
            conversation=delegating(_shown(delegated), options(state)),
            instructions=DELEGATE if delegated.kind == "chat" else "",
            voice="",
            max_output_tokens=options(state).delegation_tokens,
            temperature=TEMPERATURE,
            modalities=("text",),
            speed=None,
            verbatim=True,
            endpoint=ENDPOINTS[delegated.kind],
        )
    ]


def _shown(delegated: Delegated) -> Delegated:
    """With the frames that such a model is shown: to change one, the last."""
    frames = {"chat": delegated.frames, "edit": delegated.frames[-1:]}.get(delegated.kind, ())
    return replace(delegated, frames=frames)


def poll(state: Session, event: TickBegan, at: Moment) -> list[Event]:
    """Stubs whose time has come."""
    return [
        DelegationReady(task=one.task, digest=f"A stub's answer to: {one.question}")
        for one in of(state).delegated
        if one.kind == "stub" and one.is_pending and one.polls >= STUB_POLLS
    ]


def finished(watch: Watch) -> tuple[int, ...]:
    """Those that are over and that the client was not told of."""
    return tuple(one.task for one in watch.delegated if not one.is_pending and not one.reported)


def ready(delegated: Delegated) -> list[Event]:
    """It has been answered; by nothing at all is no answer."""
    digest = delegated.text.strip()
    if not digest:
        return [DelegationFailed(task=delegated.task, code="empty_answer", message="the model wrote nothing")]
    return [DelegationReady(task=delegated.task, digest=digest)]


def pictured(delegated: Delegated, image: bytes, at: Moment) -> list[Event | Draft]:
    """It has been answered by a picture."""
    media_type: Literal["image/jpeg", "image/png"]
    media_type = "image/png" if image.startswith(PNG) else "image/jpeg"
    digest = f"A picture was made: {delegated.question}"
    return [Draft(DelegationReady(task=delegated.task, digest=digest, media_type=media_type), at, image)]


def failed(delegated: Sequence[Delegated], code: str, message: str) -> list[Event]:
    """Those of them that wait for another model will have no answer."""
    return [
        DelegationFailed(task=one.task, code=code, message=message)
        for one in delegated
        if one.is_pending and one.kind != "stub"
    ]


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    watch = of(state)
    match event:
        case TickBegan():
            polled = tuple(replace(one, polls=one.polls + one.is_pending) for one in watch.delegated)
            return replace(state, own=replace(watch, delegated=polled))
        case DelegationSubmitted(task=task, kind=kind, question=question):
            frames = latest_frames(watch)
            new = Delegated(task, kind, question, Operation(state.seq), at.mono_ns, frames)
            kept = (*watch.delegated, new)[-REMEMBERED:]
            return replace(state, own=replace(watch, delegated=kept, delegations=task))
        case DelegationReady(task=task, digest=digest, media_type=media_type):
            asked = _as_exchange(watch, task, digest, watch.frames * options(state).frame_ms)
            image = state.seq if media_type else None
            moved = _changed(watch, (task,), digest=digest, image=image, frames=(), text="")
            return replace(state, own=replace(moved, asked=(*watch.asked, *asked)[-MOST_ASKED:]))
        case DelegationFailed(task=task, code=code):
            return replace(state, own=_changed(watch, (task,), error=code, frames=(), text=""))
        case ActionDecided(reported=reported) if reported:
            return replace(state, own=_changed(watch, reported, reported=True))
        case _:
            return state


def _as_exchange(watch: Watch, task: int, digest: str, at_ms: int) -> list[Asked]:
    return [
        Asked(f"[delegated] {one.question}", at_ms, watch.chunk, ((at_ms, digest),), delegated=True)
        for one in watch.delegated
        if one.task == task
    ]


def _changed(watch: Watch, tasks: Sequence[int], **members: object) -> Watch:
    moved = tuple(replace(one, **members) if one.task in tasks else one for one in watch.delegated)
    return replace(watch, delegated=moved)
