"""Half-duplex calls on a virtual clock, written into a log as they would be."""

from __future__ import annotations

from typing import TypeVar

from antiphon.actors.session import commands as c
from antiphon.events.envelope import Draft
from antiphon.events.store import Expect, Log
from tests.actors.modes.calls import PhoneCall
from tests.actors.session.given import Talk

L = TypeVar("L", bound=Log)


def written(call: Talk, log: L) -> L:
    """The log, with everything that happened in the call, its audio included."""
    lease, _ = log.open(call.state.id, expect=Expect.NEW, owner="test")
    for stored, payload in zip(call.stored, call.payloads, strict=True):
        draft = Draft(event=stored.event, at=stored.at, blob=payload, cause=stored.cause)
        log.append(lease, stored.seq, [draft]).result()
    log.seal(lease, "ended")
    return log


def two_turns() -> PhoneCall:
    call = PhoneCall()
    call.says_something("hello")
    call.say("Good morning.", 500)
    call.finish()
    call.plays_out()
    call.says_something("what is new")
    call.say("Nothing", 200)
    call.do(c.CloseSession(reason="client"))
    return call
