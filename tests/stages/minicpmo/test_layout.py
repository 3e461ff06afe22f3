"""What stands in the context, token for token."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.layout import WrongLength, positions, session_part, unit
from antiphon.actors.stages.minicpmo.specials import NAMES, resolve
from tests.stages.minicpmo.making import HIDDEN, SPECIALS, embedded, flat, heard

S = SPECIALS


def letters(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def test_a_special_token_that_is_missing_is_named():
    known = {name: number for number, name in enumerate(NAMES.values())}
    del known["<|turn_eos|>"]
    with pytest.raises(EngineRefused, match=r"<\|turn_eos\|>") as refused:
        resolve(known.get)
    assert refused.value.code == "bad_model"


def test_the_sessions_part_has_the_instructions_and_the_voice():
    spoken = flat(session_part(S, letters, "Hi", embedded(7, 2)))
    assert spoken == [
        S.im_start, *letters("system\nHi\n"), S.audio, 7.0, 7.0, S.audio_end, S.im_end,
    ]  # fmt: skip
    assert flat(session_part(S, letters, "Hi")) == [S.im_start, *letters("system\nHi"), S.im_end]


def test_what_is_written_in_instructions_is_no_special_token():
    assert S.listen not in flat(session_part(S, letters, "say <|listen|>"))


def test_a_unit_is_an_opening_and_ten_positions_and_66_for_each_image_before_them():
    assert flat(heard(3)) == [S.unit, *[3.0] * 10]
    assert flat(heard(3, images=2)) == [S.unit, *[S.image, *[-3.0] * 64, S.image_end] * 2, *[3.0] * 10]
    assert positions(heard(3, images=2)) == 11 + 2 * 66


@pytest.mark.parametrize("wrong", [9, 11])
def test_another_number_of_positions_is_refused(wrong: int):
    with pytest.raises(WrongLength):
        unit(S, embedded(1, wrong))
    with pytest.raises(WrongLength):
        unit(S, embedded(1), [embedded(1, 63)])


def test_embeddings_keep_their_shape():
    [_, audio] = heard(1)
    assert not isinstance(audio, tuple)
    assert audio.shape == (10, HIDDEN)
