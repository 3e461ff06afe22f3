"""Clients who have sent much take turns, a piece each, and leave the loop to others."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from websockets.frames import Frame, Opcode

from antiphon.web.framing import Boundary
from antiphon.web.taking_turns import Line

SMALL = Frame(Opcode.TEXT, b"x" * 100).serialize(mask=True)
LARGE = Frame(Opcode.TEXT, b"x" * 70_000).serialize(mask=True)


class Busy:
    """Does so many pieces, and notes each."""

    def __init__(self, name: str, pieces: int, done: list[str]) -> None:
        self.name, self.left, self.done = name, pieces, done

    def __call__(self) -> bool:
        self.left -= 1
        self.done.append(self.name)
        return self.left > 0


async def turns_of_the_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_each_does_a_piece_in_turn_until_it_is_done() -> None:
    line, loop, done = Line(), asyncio.get_running_loop(), list[str]()
    for name, pieces in (("a", 3), ("b", 1), ("c", 2)):
        line.join(Busy(name, pieces, done), loop)
    await turns_of_the_loop(10)
    assert "".join(done) == "abcaca"
    line.join(Busy("again", 1, done), loop)
    await turns_of_the_loop(10)
    assert done[-1] == "again"


async def test_a_mistake_of_one_is_not_the_end_of_the_others() -> None:
    line, loop, done = Line(), asyncio.get_running_loop(), list[str]()
    told: list[str] = []
    loop.set_exception_handler(lambda _, context: told.append(str(context["exception"])))

    def fails() -> bool:
        raise ValueError("a mistake")

    line.join(Busy("a", 2, done), loop)
    line.join(fails, loop)
    line.join(Busy("b", 2, done), loop)
    await turns_of_the_loop(10)
    assert ("".join(done), told) == ("abab", ["a mistake"])
    line.join(Busy("again", 1, done), loop)
    await turns_of_the_loop(10)
    assert done[-1] == "again"


async def test_the_others_have_their_turn_of_the_loop_however_many_are_busy() -> None:
    """Each piece takes longer than all may have at once: one of them is done for each turn of the loop."""
    line, done, turns = Line(), list[str](), list[int]()
    loop = asyncio.get_running_loop()

    def slowly() -> bool:
        until = loop.time() + 0.002
        while loop.time() < until:
            pass
        done.append("piece")
        return len(done) < 10

    for _ in range(3):
        line.join(slowly, loop)
    for _ in range(20):
        await asyncio.sleep(0)
        turns.append(len(done))
    assert turns[-1] >= 10
    assert all(later - earlier <= 1 for earlier, later in pairwise(turns))


def test_what_is_of_one_frame_is_known_by_its_beginning() -> None:
    between = Boundary()
    assert between.is_one(SMALL)
    assert not between.is_one(SMALL * 2)
    assert between.is_one(LARGE[:5_000])
    between.pass_over(LARGE[:5_000])
    assert between.is_one(LARGE[5_000:])
    assert not between.is_one(LARGE[5_000:] + SMALL)
    between.pass_over(LARGE[5_000:] + SMALL[:1])
    assert not between.is_one(SMALL[1:] + SMALL)
