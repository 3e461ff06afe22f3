"""Behind the seam: a Thinker, with the drawing rules, hidden states and accounts that the stage uses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic_ns

from antiphon.actors.stages.minicpmo.thinker import SegmentEnded, Thinker, ThinkerDied, Token
from bench.thinker.figures import Run
from bench.thinker.units import Speaker, Told, paced


class Asked:
    """One append: says when it has ended, on whichever thread."""

    def __init__(self, listens: bool) -> None:
        self.told = Told(0, [], listens)
        self.tokens: list[int] = []
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __call__(self, what: Token | SegmentEnded | ThinkerDied) -> None:
        if isinstance(what, Token):
            self.told.tokens_ns.append(what.at_ns)
            self.tokens.append(what.id)
        elif isinstance(what, ThinkerDied):
            self.ended.get_loop().call_soon_threadsafe(self.ended.set_exception, what)
        else:
            self.ended.get_loop().call_soon_threadsafe(self.ended.set_result, None)


async def unit(thinker: Thinker, key: str, speaker: Speaker) -> Told:
    asked = Asked(speaker.listens)
    append = speaker.next()
    asked.told.asked_ns = monotonic_ns()
    thinker.append(key, append, asked)
    await asked.ended
    speaker.decoded(asked.tokens)
    return asked.told


def measure(
    thinker: Thinker, name: str, cases: list[tuple[int, int]], units: int, *, spread: bool
) -> Iterator[Run]:
    """`cases`: (sessions, context)."""
    for sessions, context in cases:
        told = asyncio.run(_run(thinker, sessions, context, units, spread))
        yield Run(name, "thinker", sessions, context, told)


async def _run(thinker: Thinker, sessions: int, context: int, units: int, spread: bool) -> list[Told]:
    facts = thinker.facts
    speakers = [Speaker(number, context, facts.vocabulary, facts.hidden) for number in range(sessions)]
    keys = [f"{context}-{sessions}-{number}" for number in range(sessions)]
    for key in keys:
        await asyncio.wrap_future(thinker.open(key))
    await asyncio.gather(*(unit(thinker, *one) for one in zip(keys, speakers, strict=True)))
    told = await paced(
        sessions, units, lambda number: unit(thinker, keys[number], speakers[number]), spread=spread
    )
    for key in keys:
        await asyncio.wrap_future(thinker.close(key))
    return told
