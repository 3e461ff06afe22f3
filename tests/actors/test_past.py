"""What a stage that comes back is told of the units before, of whatever a log can say of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from antiphon.actors.past import BLOCK, past
from antiphon.actors.session import commands
from antiphon.actors.stages import contract
from antiphon.events.envelope import BlobRef, Draft, Stored
from antiphon.events.ids import Fence, Operation, Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect, Log
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import Event, InputAppended, UnitCompleted, UnitSubmitted

from .test_stage_port import UNIT, Conversation, S, only_listen, streaming

PIECE = UNIT // 10
_numbers = count(1)


def sound(first: int, samples: int = UNIT) -> bytes:
    """Samples that count, so that each can be told from the next."""
    return (np.arange(first, first + samples) % 30_000).astype("<i2").tobytes()


def hears(talk: Conversation, unit: int) -> contract.Listen:
    """What the stage is given of a unit of sound."""
    talk.ask(commands.AppendAudio(pcm=sound(unit * UNIT)))
    return only_listen(talk.process)


def says(talk: Conversation, listen: contract.Listen, body: contract.Body) -> None:
    """All that is said of it."""
    output = contract.Output(listen.fence, listen.operation, next(_numbers), 0, True, body)  # type: ignore[arg-type]
    talk.loop.stage_said("model", output)


def told(log: Log, most: int = 9) -> list[contract.PastUnit]:
    return list(past(log, S, 0, most))


def test_a_unit_that_a_barge_in_overtook_was_heard_all_the_same() -> None:
    talk = streaming()
    says(talk, hears(talk, 0), contract.Said("Well"))
    hears(talk, 1)
    talk.ask(commands.CancelResponse())
    says(talk, hears(talk, 2), contract.Consumed())
    assert told(talk.log) == [
        contract.PastUnit(sound(0), "Well"),
        contract.PastUnit(sound(UNIT)),
        contract.PastUnit(sound(2 * UNIT)),
    ]


def test_a_unit_that_came_too_late_for_its_epoch_was_not_heard_and_is_told_once() -> None:
    talk = streaming()
    says(talk, hears(talk, 0), contract.Said("Well"))
    void = hears(talk, 1)
    talk.ask(commands.CancelResponse())
    says(talk, void, contract.Failed("stale_fence", "it is over"))
    again = only_listen(talk.process)
    assert again.pcm == void.pcm
    says(talk, again, contract.Consumed())
    assert [unit.pcm for unit in told(talk.log)] == [sound(0), sound(UNIT)]


def test_the_tokens_of_a_unit_are_told_again_by_the_numbers_that_the_stage_gave_them() -> None:
    talk = streaming()
    says(talk, hears(talk, 0), contract.Consumed(tokens=(1,)))
    says(talk, hears(talk, 1), contract.Said("Well", tokens=(2, 7, 3)))
    says(talk, hears(talk, 2), contract.Finished(tokens=(8, 4, 3)))
    assert [unit.tokens for unit in told(talk.log)] == [(1,), (2, 7, 3), (8, 4, 3)]


class Counting(MemoryLog):
    """Counts what is read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.events = self.blobs = 0

    def read(self, session: SessionId, **where: Any) -> Iterator[Stored]:  # type: ignore[override]
        for stored in super().read(session, **where):
            self.events += 1
            yield stored

    def read_blob(self, session: SessionId, ref: BlobRef, **where: Any) -> bytes:  # type: ignore[override]
        self.blobs += 1
        return super().read_blob(session, ref, **where)


def long_call(units: int) -> Counting:
    """Twelve events for each unit: its input comes in ten pieces."""
    log = Counting()
    lease, _ = log.open(S, expect=Expect.NEW, owner="t")
    seqs = count()

    def append(event: Event, blob: bytes | None = None) -> int:
        seq = next(seqs)
        log.append(lease, Seq(seq), [Draft(event, Moment(0, 0), blob)])
        return seq

    for begins in range(0, units * UNIT, UNIT):
        for first in range(begins, begins + UNIT, PIECE):
            until = Samples(first + PIECE)
            append(InputAppended(samples=Samples(PIECE), until_sample=until), sound(first, PIECE))
        given = {"from_sample": Samples(begins), "until_sample": Samples(begins + UNIT)}
        operation = append(UnitSubmitted(work="unit", fence=Fence(S, 0, 0, 0), **given))
        append(UnitCompleted(operation=Operation(operation)))
    return log


def test_of_a_long_log_the_end_is_read_and_each_event_of_it_once() -> None:
    log = long_call(1_000)
    assert [unit.pcm for unit in told(log, most=3)] == [sound(n * UNIT) for n in (997, 998, 999)]
    assert (log.events, log.blobs) == (BLOCK, 30)


def test_units_that_lie_further_back_are_told_too() -> None:
    log = long_call(1_000)
    assert [unit.pcm for unit in told(log, most=700)] == [sound(n * UNIT) for n in range(300, 1_000)]
    assert (log.events, log.blobs) == (12_000, 7_000)
