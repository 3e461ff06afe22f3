"""Sessions that no process serves: what their logs say, and the end of those that nobody comes back to.

Folding a long log takes long, and on the loop others wait for it: it is done in slices.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from antiphon.events.codec import refuse_unknown_critical
from antiphon.events.ids import SessionId
from antiphon.events.store import Expect, Log
from antiphon.events.units import Moment

from .checkpoints import Checkpoints
from .session import commands
from .session.decide import decide
from .session.evolve import refold
from .session.state import Session

KEPT_UNTIL = "kept-until"
"""What is kept beside the log of a session that nobody has come to yet: wall time in ns."""
SLICE = 256
"""Events folded between two turns of the loop: about a millisecond."""


async def fold_in_slices(checkpoints: Checkpoints, session: SessionId) -> Session:
    """The state that the log of the latest life leaves. Raises NoSuchSession, Corrupt, UnknownCritical."""
    state, behind = checkpoints.state(session)
    for stored in behind:
        refuse_unknown_critical(stored)
        state = refold(state, stored)
        if stored.seq % SLICE == SLICE - 1:
            await asyncio.sleep(0)
    return state


def end_abandoned(log: Log, session: SessionId, writer: commands.OpenWriter, now: Moment) -> None:
    """End a session that no process serves and to which nobody has come back, and seal its log.

    `log` must answer at once. Raises LogError: Locked where somebody serves it after all.
    """
    lease, head = log.open(session, expect=Expect.RESUME, owner=f"antiphon {writer.code}, ending it")
    try:
        state = Session(session)
        for stored in log.read(session, incarnation=head.incarnation):
            refuse_unknown_critical(stored)
            state = refold(state, stored)
        if state.phase == "open":
            opened = replace(writer, writer_epoch=lease.writer_epoch, alone=True)
            for command in (opened, commands.Expire()):
                decision = decide(state, command, now)
                if decision.drafts:
                    log.append(lease, state.seq, decision.drafts).result()
                state = decision.state
        log.seal(lease, "abandoned")
    finally:
        log.release(lease)
