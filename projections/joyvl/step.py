"""step(view, stored): the answer that an event amounts to. Each tick has one, and a refusal is one, too."""

from __future__ import annotations

from msgspec import UNSET, Struct
from msgspec.structs import replace

from antiphon.actors.modes.joyvl.prompt import long_term_text
from antiphon.actors.modes.joyvl.tokens import Said, token_form
from antiphon.actors.modes.joyvl.watch import Delegated, Watch, of
from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId, derived_id

from . import frames as f


class View(Struct, frozen=True):
    """The whole session: its memory is part of each answer."""

    attachment: int
    state: Session = Session(SessionId(""))


def step(view: View, stored: Stored) -> tuple[View, list[f.Frame]]:
    """The view after the event, and the answer to its tick."""
    before, event = view.state, stored.event
    if isinstance(event, v.SessionOpened):
        before = replace(before, id=event.session)
    after = replace(view, state=refold(before, stored))
    match event:
        case v.ActionDecided():
            return after, [_decided(before, after.state, stored, event)]
        case v.TickFailed(code=code, message=message):
            return after, [f.failed(code, message)]
        case v.CommandRefused(code=code, message=message, parameter=parameter):
            return after, [f.failed(code, message, "invalid_request_error", parameter)]
        case _:
            return after, []


def _decided(before: Session, after: Session, stored: Stored, event: v.ActionDecided) -> f.Decided:
    said = Said(event.action, event.text, event.question)
    return f.Decided(
        id=f"intchat-{_id(after, stored)}",
        created=stored.at.wall_ns // 1_000_000_000,
        model=after.config.model,
        choices=(f.Choice(f.Message(token_form(said))),),
        interaction=_interaction(of(before), of(after), stored, event),
    )


def _id(state: Session, stored: Stored) -> str:
    """32 hexadecimal digits."""
    halves = (derived_id("tick", state.id, state.incarnation, stored.seq, k) for k in range(2))
    return "".join(half.rpartition("_")[2][:16] for half in halves)


def _interaction(before: Watch, after: Watch, stored: Stored, event: v.ActionDecided) -> f.Interaction:
    began = before.present.began_mono_ns if before.present is not None else stored.at.mono_ns
    told = [_ended(one) for one in after.delegated if one.task in event.reported]
    if event.task is not None:
        question = event.question or event.text
        told.append(f.Delegation(task_id=_task(event.task), status="submitted", question=question))
    return f.Interaction(
        action=event.action,
        spoke=event.action != "silence",
        text=event.text,
        delegated_question=event.question,
        delegation=told[-1] if told else None,
        delegations=tuple(told),
        chunk_index=after.chunk,
        frame_index=after.frames,
        inference_skipped=event.skipped,
        latency_ms=round((stored.at.mono_ns - began) / 1e6, 1),
        memory=_memory(after),
    )


def _ended(delegated: Delegated) -> f.Delegation:
    return f.Delegation(
        task_id=_task(delegated.task),
        status="error" if delegated.digest is None else "ready",
        question=delegated.question,
        digest=UNSET if delegated.digest is None else delegated.digest,
        media=UNSET if delegated.image is None else "",
        code=UNSET if delegated.error is None else delegated.error,
    )


def _task(task: int) -> str:
    return f"deleg-{task}"


def _memory(watch: Watch) -> f.Memory:
    summaries = (f.SummaryShown(one.chunk, one.span, one.text) for one in watch.mid_term)
    return f.Memory(long_term_text(watch), tuple(summaries))
