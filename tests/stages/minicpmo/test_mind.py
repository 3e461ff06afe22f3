"""The next append as a function of what is known, over whole sessions."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.actors.stages.minicpmo import segments
from antiphon.actors.stages.minicpmo.layout import positions
from antiphon.actors.stages.minicpmo.mind import (
    ContextFull,
    Mind,
    Plan,
    Rules,
    SessionPart,
    begun_by,
    interrupted,
    largest_unit,
    learnt,
    plan,
)
from antiphon.actors.stages.minicpmo.segments import Sampling
from antiphon.actors.stages.minicpmo.window import EARLIER_KEPT, UNITS_KEPT, Window, bounded
from tests.stages.minicpmo.making import SPECIALS, flat, heard, rules

S = SPECIALS
OWN = (1, 2, 3)

word = st.integers(10, 200)
said = st.one_of(
    st.just((S.listen,)),
    st.lists(word, min_size=1, max_size=18).map(lambda words: (S.speak, *words, S.chunk_eos)),
    st.lists(word, min_size=0, max_size=17).map(lambda words: (*words, S.turn_eos, S.chunk_eos)),
)
units = st.lists(st.tuples(said, st.integers(0, 1)), min_size=1, max_size=40)


PART = SessionPart((OWN,), len(OWN))


class Context:
    """What a thinker's context holds."""

    def __init__(self, ruled: Rules) -> None:
        self.ruled, self.mind, self.held = ruled, Mind(sampling=Sampling(), part=PART), list[object]()
        self.appends = 0

    def hear(self, mark: int, generated: tuple[int, ...], images: int = 0) -> Plan:
        planned = plan(self.ruled, self.mind, heard(mark, images), number=self.appends)
        if planned.anew:
            self.held = []
        self.appends = planned.append.number + 1
        assert len(self.held) + planned.append.positions + planned.append.max_tokens + 1 <= self.ruled.most
        self.held += flat(planned.append.pieces)
        self.mind, _ = learnt(self.ruled, planned, generated)
        self.held += generated[:-1]
        assert self.mind.held == len(self.held)
        return planned


@settings(deadline=None)
@given(units)
def test_given_anew_the_context_is_the_one_that_was_there(spoken: list[tuple[tuple[int, ...], int]]):
    context = Context(rules(100_000))
    for mark, (generated, images) in enumerate(spoken):
        context.hear(mark, generated, images)
    there = [*context.held, spoken[-1][0][-1], S.unit_end, *flat(heard(99))]
    anew = plan(context.ruled, begun_by(context.mind, PART), heard(99))
    assert anew.anew
    assert flat(anew.append.pieces) == there


@settings(deadline=None)
@given(spoken=units, policy=st.sampled_from(["basic", "context"]))
def test_a_window_keeps_the_context_within_its_length(spoken: list[tuple[tuple[int, ...], int]], policy: str):
    context = Context(rules(600, Window(policy=policy, high=400, low=250)))  # type: ignore[arg-type]
    for mark, (generated, images) in enumerate(spoken):
        context.hear(mark, generated, images)


def test_a_later_append_is_13_positions_with_the_terminator_first():
    context = Context(rules())
    first = context.hear(1, (S.listen,))
    second = context.hear(2, (S.listen,))
    assert flat(first.append.pieces) == [*OWN, S.unit, *[1.0] * 10]
    assert flat(second.append.pieces) == [S.listen, S.unit_end, S.unit, *[2.0] * 10]
    assert [first.append.number, second.append.number] == [0, 1]
    assert second.append.positions == 13


def test_without_a_window_what_does_not_fit_is_refused_before_it_is_submitted():
    context = Context(rules(200))
    while len(context.held) + 13 + 20 + 1 <= 200:
        context.hear(0, (S.listen,))
    before = list(context.held)
    with pytest.raises(ContextFull):
        context.hear(0, (S.listen,))
    assert context.held == before


def test_the_basic_window_drops_the_oldest():
    context = Context(rules(4096, Window(policy="basic", high=400, low=200)))
    marks = []
    for mark in range(60):
        planned = context.hear(mark, (S.listen,))
        marks.append((planned.anew, len(context.held)))
    anew = [place for place, (was, _) in enumerate(marks) if was]
    assert len(anew) == 3
    assert anew[0] == 0
    for place in anew[1:]:
        assert marks[place - 1][1] >= 400 - 13
        assert marks[place][1] <= 200 + 13
    assert context.mind.units[-1].pieces[0] == (S.unit,)


def test_the_context_window_keeps_the_newest_units_and_earlier_words():
    context = Context(rules(8192, Window(policy="context", high=2000, low=1000)))
    for mark in range(80):
        context.hear(mark, (*range(100, 117), S.chunk_eos))
    assert UNITS_KEPT <= len(context.mind.units) < 80
    assert 0 < len(context.mind.earlier) <= EARLIER_KEPT
    assert set(context.mind.earlier) == set(range(100, 117))
    assert context.mind.heard == 80


def test_a_turn_stays_open_until_it_ends_or_somebody_cuts_in():
    context = Context(rules())
    context.hear(1, (50, 51, S.chunk_eos))
    assert context.mind.open_turn
    assert not interrupted(context.mind).open_turn
    context.hear(2, (52, S.turn_eos, S.chunk_eos))
    assert not context.mind.open_turn
    assert interrupted(context.mind) is context.mind


def test_in_an_open_turn_listening_is_rewritten_unless_it_is_forced():
    context = Context(rules())
    assert context.hear(1, (50, S.chunk_eos)).append.drawing.rewrites_from == 1
    assert context.hear(2, (50, S.chunk_eos)).append.drawing.rewrites_from == 0
    must = plan(context.ruled, context.mind, heard(3), number=2, force_listen=True).append
    assert (must.drawing.first, must.drawing.rewrites, must.max_tokens) == ((S.listen,), (), 1)


def test_no_segment_is_drawn_by_the_numbers_of_another():
    context = Context(rules(4096, Window(policy="basic", high=400, low=200)))
    places = [context.hear(mark, (S.listen,)).append.drawing.place for mark in range(60)]
    assert places == list(range(60))


def test_what_belongs_to_the_layout_is_not_said():
    ruled = segments.drawing(
        S, Sampling(), rules().budget, recent=(), open_turn=False, force_listen=False, place=0
    )
    assert {S.unit, S.unit_end, S.im_end, S.image} <= set(ruled.banned)
    assert not S.stops & set(ruled.banned)


def test_a_unit_that_is_longer_than_the_context_is_refused_whatever_goes():
    with pytest.raises(ContextFull):
        Context(rules(100, Window(policy="basic", high=80, low=40))).hear(1, (S.listen,), images=2)
    assert positions(heard(1, 2)) > 100


def between(context: Context, generated: tuple[int, ...]) -> list[int]:
    """So many units lie between two at which the context is given anew."""
    anew = [number for number in range(900) if context.hear(0, generated).anew]
    return [later - earlier for earlier, later in pairwise(anew[1:])]


@pytest.mark.parametrize("policy", ["basic", "context"])
@pytest.mark.parametrize("length", [600, 4096, 6100, 8030])
def test_a_context_that_is_shorter_than_the_window_is_not_given_anew_with_every_unit(
    policy: Literal["basic", "context"], length: int
):
    """The longest units, at a quarter of the context."""
    ruled = rules(length)
    window = bounded(Window(policy=policy), length, largest_unit(ruled.budget, sees=False))
    gaps = between(Context(replace(ruled, window=window)), (S.speak, *[50] * 18, S.chunk_eos))
    assert min(gaps) >= length // 4 // 34
    assert len(gaps) > 2


def test_a_window_that_the_context_has_room_for_is_the_operators():
    window = Window(policy="basic", high=400, low=200)
    assert bounded(window, 4096, 34) == window
    assert bounded(Window(policy="off"), 600, 34) == Window(policy="off")


def test_the_end_of_a_turn_is_no_stop():
    """The state behind it conditions the talker, and one more step is made."""
    assert S.turn_eos not in S.stops
    append = Context(rules()).hear(1, (50, S.turn_eos, S.chunk_eos)).append
    assert append.stop == {S.listen, S.chunk_eos, S.chunk_tts_eos}
    assert dict(append.drawing.follows) == {S.turn_eos: S.chunk_eos}
