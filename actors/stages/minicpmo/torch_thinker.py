"""A thinker in plain torch: slots, ragged appends in one step, a context that can be cut.

Sessions that have something to add and sessions that generate are in the same step; a long append (a session
given anew) goes by itself, a piece between two steps. One thread owns the model. Its row of a batch is a
session's slot, and the lowest free slot is taken, so batches stay small.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from msgspec import Struct

from .drawing import forced, numbers
from .nets.decoder import MARGIN
from .nets.draws import Draws
from .nets.pieces import Stepper
from .nets.steps import Steps
from .thinker import (
    Append,
    Facts,
    Health,
    Key,
    Piece,
    Rejected,
    Said,
    SegmentEnded,
    ThinkerDied,
    Token,
    check,
)

GATHER_S = 0.003
"""How long a first step waits for those who may come with it: who comes later waits for a whole step."""
SHORT = 80
"""Positions that an append may add in a step together with others: a unit with an image."""


class _Segment(Struct):
    """What is under way in a slot."""

    append: Append
    said: Said
    left: deque[Piece]
    tokens: list[int]
    states: list[Any]
    added: int = 0


class _Slot(Struct):
    """A session."""

    number: int
    """Of the slot."""
    context: int = 0
    appended: int = 0
    segment: _Segment | None = None
    closing: Future[None] | None = None


class TorchThinker:
    """Implements Thinker. `characters` says how many characters each token has."""

    def __init__(
        self, steps: Steps, facts: Facts, characters: Sequence[int], progress: Callable[[str], None]
    ) -> None:
        self.facts, self._characters = facts, characters
        decoder = steps.decoder
        self._steps = Stepper(steps)
        self._draws = Draws(decoder.slots, facts.vocabulary, decoder.device)
        self._free = list(range(decoder.slots))
        self._slots: dict[Key, _Slot] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._died = ""
        self._step_ms = 0.0
        self._steps.warm(self._draws, SHORT, progress)
        self._thread = threading.Thread(target=self._run, name="torch-thinker", daemon=True)
        self._thread.start()

    # --- from any thread ----------------------------------------------------------------------------------

    def open(self, key: Key) -> Future[None]:
        with self._changed:
            self._alive()
            if key in self._slots:
                raise Rejected("out_of_order", f"{key} is open")
            if not self._free or len(self._slots) >= self.facts.places:
                raise Rejected("resource_exhausted", f"all {self.facts.places} places are taken")
            self._slots[key] = _Slot(heapq.heappop(self._free))
        return _done()

    def append(self, key: Key, append: Append, said: Said) -> None:
        with self._changed:
            slot = self._slot(key)
            if append.number != slot.appended:
                raise Rejected("out_of_order", f"append {append.number}, {slot.appended} is next")
            check(self.facts, slot.context, append)
            slot.appended += 1
            slot.segment = _Segment(append, said, deque(append.pieces), [], [])
            self._changed.notify()

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        with self._changed:
            slot = self._slot(key)
            if not 0 <= context_len <= slot.context:
                raise Rejected("out_of_order", f"{context_len} of {slot.context} positions")
            slot.context = context_len
            slot.appended = slot.appended if context_len else 0
        return _done()

    def close(self, key: Key) -> Future[None]:
        with self._changed:
            self._alive()
            slot = self._slots.get(key)
            if slot is None:
                return _done()
            slot.closing = slot.closing or Future()
            self._changed.notify()
            return slot.closing

    def health(self) -> Health:
        with self._changed:
            held = sum(slot.context for slot in self._slots.values())
            return Health(sessions=len(self._slots), kv_tokens=held, step_ms=self._step_ms, died=self._died)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _alive(self) -> None:
        if self._died:
            raise ThinkerDied(self._died)

    def _slot(self, key: Key) -> _Slot:
        self._alive()
        slot = self._slots.get(key)
        if slot is None or slot.closing is not None:
            raise Rejected("out_of_order", f"{key} is not open")
        if slot.segment is not None:
            raise Rejected("busy", f"an append of {key} is under way")
        return slot

    # --- on the thread that owns the model ----------------------------------------------------------------

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._wait()
                    if self._stopped:
                        return
                self._let_go()
                self._turn()
        except Exception as problem:  # noqa: BLE001  # whatever torch raises, nobody may wait for ever
            self._die(f"{type(problem).__name__}: {problem}")

    def _wait(self) -> None:
        """For something to do; and, where all were at rest, a moment for the rest of them."""
        if self._stopped or self._work():
            return
        while not (self._stopped or self._work()):
            self._changed.wait()
        until = time.monotonic() + GATHER_S
        while self._absent() and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)

    def _absent(self) -> bool:
        """Whether there is a step to be made, and somebody at rest who may want to be in it."""
        if self._stopped or not any(slot.segment for slot in self._slots.values()):
            return False
        return any(slot.segment is None and slot.closing is None for slot in self._slots.values())

    def _work(self) -> bool:
        return any(slot.segment or slot.closing for slot in self._slots.values())

    def _let_go(self) -> None:
        with self._changed:
            leaving = [(key, slot) for key, slot in self._slots.items() if slot.closing is not None]
        for key, slot in leaving:
            if slot.segment is not None:
                self._end(slot, slot.segment, "aborted")
            with self._changed:
                del self._slots[key]
                heapq.heappush(self._free, slot.number)
            assert slot.closing is not None
            slot.closing.set_result(None)

    def _turn(self) -> None:
        """One step for all, and a piece of the longest append."""
        with self._changed:
            active = [(slot, slot.segment) for slot in self._slots.values() if slot.segment is not None]
        began = time.monotonic_ns()
        short = [(slot, segment) for slot, segment in active if _left(segment) <= SHORT]
        if short:
            self._step(short, together=True)
        long = [(slot, segment) for slot, segment in active if _left(segment) > SHORT]
        if long:
            self._step(min(long, key=lambda one: _left(one[1])), together=False)
        self._step_ms = (time.monotonic_ns() - began) / 1e6

    def _step(self, those: Any, *, together: bool) -> None:
        members: list[tuple[_Slot, _Segment]] = those if together else [those]
        added = {
            slot.number: (slot.context, _taken(segment, SHORT if together else MARGIN))
            for slot, segment in members
        }
        states, scores = self._steps.step(added)
        drawing: list[tuple[_Slot, _Segment]] = []
        for slot, segment in members:
            count = sum(len(piece) for piece in added[slot.number][1])
            slot.context += count
            if segment.tokens:
                if self.facts.gives_hidden:
                    segment.states.append(states[slot.number].clone())
            else:
                segment.added += count
            if not segment.left:
                drawing.append((slot, segment))
        self._draw(drawing, scores)

    def _draw(self, members: list[tuple[_Slot, _Segment]], scores: dict[int, Any]) -> None:
        chosen: dict[int, int] = {}
        free: list[tuple[_Slot, _Segment]] = []
        for slot, segment in members:
            append = segment.append
            if not segment.tokens:
                self._draws.begin(slot.number, append.drawing)
            must = forced(append.drawing, segment.tokens, append.max_tokens, self._characters)
            if must is None:
                free.append((slot, segment))
            else:
                chosen[slot.number] = must
        if free:
            chosen |= self._chosen(free, scores)
        if members:
            order = [slot.number for slot, _ in members]
            self._draws.drawn(order, [chosen[number] for number in order])
        at_ns = time.monotonic_ns()
        for slot, segment in members:
            self._take(slot, segment, chosen[slot.number], at_ns)

    def _chosen(self, free: list[tuple[_Slot, _Segment]], scores: dict[int, Any]) -> dict[int, int]:
        slots = [slot.number for slot, _ in free]
        tokens = self._draws.choose(
            self._steps.stacked(scores, slots),
            slots,
            [len(segment.tokens) for _, segment in free],
            [numbers(segment.append.drawing, len(segment.tokens)) for _, segment in free],
        )
        return dict(zip(slots, tokens, strict=True))

    def _take(self, slot: _Slot, segment: _Segment, token: int, at_ns: int) -> None:
        segment.tokens.append(token)
        segment.said(Token(token, at_ns))
        if token in segment.append.stop:
            self._end(slot, segment, "stop")
        elif len(segment.tokens) == segment.append.max_tokens:
            self._end(slot, segment, "length")
        else:
            segment.left.append((token,))

    def _end(self, slot: _Slot, segment: _Segment, why: Any) -> None:
        """The last token was drawn and not fed: the context ends before it."""
        hidden = None
        if why != "aborted" and self.facts.gives_hidden:
            hidden = self._steps.as_rows(segment.states, self.facts.hidden)
        with self._changed:
            slot.segment = None
        segment.said(
            SegmentEnded(
                why=why,
                last_token=segment.tokens[-1] if segment.tokens else -1,
                n_in=segment.added,
                n_out=len(segment.tokens),
                context_len=slot.context,
                hidden=hidden,
            )
        )

    def _die(self, why: str) -> None:
        with self._changed:
            self._died = why
            slots = tuple(self._slots.values())
        for slot in slots:
            if slot.segment is not None:
                slot.segment.said(ThinkerDied(why))
            if slot.closing is not None:
                slot.closing.set_exception(ThinkerDied(why))


def _left(segment: _Segment) -> int:
    return sum(len(piece) for piece in segment.left)


def _taken(segment: _Segment, most: int) -> list[Piece]:
    """The next positions of an append, `most` at most."""
    taken: list[Piece] = []
    while segment.left and most > 0:
        piece = segment.left.popleft()
        if len(piece) > most:
            segment.left.appendleft(piece[most:])
            piece = piece[:most]
        taken.append(piece)
        most -= len(piece)
    return taken


def _done() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done
