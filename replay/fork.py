"""A fork: a new session that has everything up to one event of a recorded one, and goes on from there.

The copy has its own id and its own token, and a fact that says whence it comes (SessionForked). Nobody is
connected to it; whoever presents the token goes on with it, in any dialect, and what was being answered at
that event is asked again. Ids of items and responses stay as they were. What clients of the original were
sent was sent under another name, so the copy has no digests of that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.revival import KEPT_UNTIL
from antiphon.actors.session.commands import Fork
from antiphon.actors.session.decide import decide
from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Draft, Stored, Unknown
from antiphon.events.errors import Erased
from antiphon.events.ids import Fence, SessionId
from antiphon.events.store import Expect, Lease, Log, Scope
from antiphon.events.units import Moment

from .errors import RecordingError
from .sources import Life
from .states import after

BOOT = "forked"
"""Monotonic times of the original mean nothing to whoever goes on."""
_MOST_EVENTS, _MOST_BYTES = 256, 4 * 1024 * 1024
"""Events of one batch, and the audio in it."""


class CannotFork(RecordingError):
    code = "cannot_fork"


class Forked(Struct, frozen=True):
    session: SessionId
    events: int
    answering: bool
    """An answer was under way, and will be asked again."""


class ForkAsked(Struct, frozen=True, kw_only=True):
    """Which session to make. `at`: the last event that is copied; None: the last before the client went.
    `token`: the secret that its client will present. It is kept for `keep_s` before it counts as abandoned.
    `stage`: which it goes on with, if not with the original's; it must hear alike."""

    session: SessionId
    token: str
    now: Moment
    at: int | None = None
    keep_s: float = 3600.0
    stage: str = ""


def fork(life: Life, to: Log, asked: ForkAsked) -> Forked:
    """Copy the life, as far as is asked, into a new session of `to`.

    Raises CannotFork where there is no such event, or no session to go on with; UnknownCritical; LogError.
    """
    state, last = _folded(life, asked.at)
    lease, _ = to.open(asked.session, expect=Expect.NEW, owner="fork")
    try:
        events = _copy(life, to, lease, asked, last, state.attached.count)
    except BaseException:  # half a past is none
        to.release(lease)
        to.erase(asked.session, Scope.ALL)
        raise
    to.release(lease)
    return Forked(asked.session, events, state.turns.active is not None)


def _copy(life: Life, to: Log, lease: Lease, asked: ForkAsked, last: Stored, latest: int) -> int:
    """How many events it has then."""
    wall_ns = asked.now.wall_ns
    until = str(wall_ns + int(asked.keep_s * 1e9)).encode()
    to.keep_derived(asked.session, lease.incarnation, KEPT_UNTIL, until)
    copied = Session(asked.session)
    for batch in _batches(life, asked, last, _Renamed(asked, lease.incarnation, latest)):
        to.append(lease, copied.seq, batch).result()
        for draft in batch:
            copied = refold(copied, Stored(copied.seq, draft.at, draft.event, cause=draft.cause))
    command = Fork(session=life.session, incarnation=life.incarnation, source_seq=last.seq)
    decision = decide(copied, command, Moment(last.at.mono_ns, wall_ns))
    to.append(lease, copied.seq, decision.drafts).result()
    return copied.seq + len(decision.drafts)


def _batches(life: Life, asked: ForkAsked, last: Stored, renamed: _Renamed) -> Iterator[list[Draft]]:
    """The events of the copy, some at a time; none of the lists is empty."""
    batch: list[Draft] = []
    shift_ns, size = asked.now.wall_ns - last.at.wall_ns, 0
    for stored in life.events(stop=last.seq + 1):
        moment = Moment(stored.at.mono_ns, stored.at.wall_ns + shift_ns)
        payload = _payload(life, stored)
        batch.append(Draft(renamed.event(stored.event), moment, payload, stored.cause))
        size += len(payload or b"")
        if len(batch) == _MOST_EVENTS or size > _MOST_BYTES or stored.seq == last.seq:
            yield batch
            batch, size = [], 0


def _folded(life: Life, at: int | None) -> tuple[Session, Stored]:
    state, last = Session(life.session), None
    for stored in life.events():
        if at is not None and stored.seq > at:
            break
        then = after(state, (stored,))
        if at is None and (then.phase == "closed" or state.attached.current > then.attached.current):
            break  # the call ended, or its client went
        state, last = then, stored
    if last is None or (at is not None and last.seq < at):
        raise CannotFork(f"{life.name} has no event {at}")
    if state.phase == "new":
        raise CannotFork(f"at event {last.seq} the session had not begun")
    if state.phase == "closed":
        raise CannotFork(f"at event {last.seq} the session had ended; fork it at an earlier one")
    if not state.attached.count:
        raise CannotFork(f"at event {last.seq} nobody had been connected yet")
    return state, last


def _payload(life: Life, stored: Stored) -> bytes | None:
    """The sound of what was erased is silence: what was said stands in the events."""
    if stored.blob is None:
        return None
    try:
        return life.payload(stored.blob)
    except Erased:
        return bytes(stored.blob.length)


class _Renamed:
    """Events of the original as they stand in the copy. `latest`: whose token is the copy's."""

    def __init__(self, asked: ForkAsked, incarnation: int, latest: int) -> None:
        self._session, self._incarnation, self._stage = asked.session, incarnation, asked.stage
        self._token, self._latest = hashlib.sha256(asked.token.encode()).digest(), latest

    def event(self, event: v.Event) -> v.Event:
        match event:
            case Unknown():
                return event
            case v.SessionOpened():
                able = replace(event.abilities, stage=self._stage or event.abilities.stage)
                opened = replace(event, abilities=able, session=self._session)
                return replace(opened, incarnation=self._incarnation)
            case v.WriterOpened():
                return replace(event, boot=BOOT)
            case v.ClientAttached() | v.ClientResumed():
                mine = event.attachment == self._latest
                return replace(event, token=self._token if mine else b"")
            case v.FramesSent():
                return replace(event, digest=b"", meaning=b"")
            case _:
                return self._with_fences(event)

    def _with_fences(self, event: v.Event) -> v.Event:
        mine = {"session": self._session, "incarnation": self._incarnation}
        members = {field.name: getattr(event, field.name) for field in msgspec.structs.fields(event)}
        fences = {name: replace(one, **mine) for name, one in members.items() if isinstance(one, Fence)}
        return replace(event, **fences) if fences else event
