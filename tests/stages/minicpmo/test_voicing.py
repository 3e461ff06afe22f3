"""Which codes a chunk has, whatever the talker draws."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.actors.stages.minicpmo.handing import Chunk
from antiphon.actors.stages.minicpmo.shapes import CODE_END, CODE_SILENCE
from antiphon.actors.stages.minicpmo.vocoder import SAMPLES_PER_CODE, ToneVocoder, load_vocoder
from antiphon.actors.stages.minicpmo.voicing import (
    PENALISED,
    SHORTEST,
    Voicing,
    body,
    drawn,
    next_append,
    room,
    unfed,
)

CONDITION = np.zeros((4, 8), np.float32)


def voiced(ends: list[bool], *, last: bool) -> tuple[Voicing, list[int]]:
    """Where the codec would end the chunk if it may, token by token; and at which it might not."""
    voicing, wanted, masked = Voicing(condition=CONDITION, last=last, seed=1), iter(ends), list[int]()
    while (append := next_append(voicing)) is not None:
        tokens: list[int] = []
        while len(tokens) < append.max_tokens and CODE_END not in tokens:
            count = len(voicing.codes) + len(tokens)
            may_not = CODE_END in append.drawing.banned
            masked += [count] if may_not else []
            tokens.append(CODE_END if next(wanted, False) and not may_not else count)
        assert len(append.drawing.recent) <= PENALISED
        voicing = drawn(voicing, tuple(tokens))
    return voicing, masked


@settings(deadline=None)
@given(ends=st.lists(st.sampled_from([False] * 9 + [True]), max_size=120), last=st.booleans())
def test_a_chunk_is_a_second_at_most_and_a_turns_end_four(ends: list[bool], last: bool):
    voicing, _ = voiced(ends, last=last)
    assert voicing.codes == tuple(range(len(voicing.codes)))
    assert len(voicing.codes) <= (100 if last else 25)
    assert len(CONDITION) + len(voicing.codes) <= room(voicing)


def test_behind_each_second_of_a_turns_end_the_codec_may_not_end_for_five_steps():
    whole, masked = voiced([], last=True)
    assert len(whole.codes) == 100
    assert masked == [*range(25, 30), *range(50, 55), *range(75, 80)]
    assert voiced([False] * 25 + [True] * 6, last=True)[0].codes == tuple(range(30))
    assert voiced([], last=False)[1] == []


def test_the_condition_is_given_once_and_then_the_last_code():
    first = next_append(Voicing(condition=CONDITION, last=True, seed=1, appended=3))
    assert first is not None
    assert (first.number, len(first.pieces[0]), first.max_tokens) == (3, 4, 25)
    second = next_append(drawn(Voicing(condition=CONDITION, last=True, seed=1, appended=3), tuple(range(25))))
    assert second is not None
    assert (second.number, second.pieces, second.max_tokens) == (4, ((24,),), 5)


def test_the_vocoder_is_given_no_fewer_codes_than_it_can_take():
    assert body(Voicing(condition=CONDITION, last=True, seed=1)) == ()
    short = body(Voicing(condition=CONDITION, last=True, seed=1, codes=(7,)))
    assert short == (7, *[CODE_SILENCE] * (SHORTEST - 1))


def test_the_stand_in_sounds_exactly_as_long_as_the_codes_last_and_without_a_step():
    tone = load_vocoder("")
    assert isinstance(tone, ToneVocoder)
    assert tone.name == "tone_vocoder"
    whole = tone.sound("s", Chunk(0, 0, False), tuple(range(50)))
    parts = [tone.sound("s", Chunk(0, number, False), (1,) * 25) for number in range(2)]
    assert len(whole) == 50 * SAMPLES_PER_CODE == 2 * 24_000
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_chunk_begins_with_what_the_one_before_has_left_unfed():
    begun = Voicing(condition=CONDITION, last=False, seed=1)
    whole = drawn(begun, tuple(range(25)))
    assert unfed(whole) == (24, CODE_END)
    ended = drawn(begun, (7, 8, CODE_END))
    assert unfed(ended) == (CODE_END,)
    behind = replace(begun, carried=unfed(whole))
    append = next_append(behind)
    assert append is not None
    assert append.pieces[0] == (24, CODE_END)
    assert append.pieces[1] is CONDITION
    assert room(behind) == room(begun) + 2
