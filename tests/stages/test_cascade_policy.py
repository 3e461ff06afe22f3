import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.stages.cascade.policy import FIRST, LATER, Clauses, ends_sentence, is_audible, spoken

words = st.text("abcdefgh", min_size=1, max_size=8)
marks = st.sampled_from(["", "", "", ".", ",", "!", "?", ";", ":", "...", '."'])
gaps = st.sampled_from([" ", " ", " ", "\n", "  ", "\n\n"])
prose = st.lists(st.tuples(words, marks, gaps), max_size=60).map(lambda parts: "".join(map("".join, parts)))


def cut(text: str, tokens: list[str] | None = None) -> list[str]:
    clauses = Clauses()
    pieces = re.findall(r"\s*\S+|\s+$", text) if tokens is None else tokens
    return [clause for piece in pieces for clause in clauses.feed(piece)] + clauses.finish()


@given(st.text())
def test_clauses_joined_are_the_text(text):
    assert "".join(cut(text, list(text))) == text


@given(st.lists(st.text(max_size=12)))
def test_clauses_joined_are_the_text_however_it_comes(tokens):
    assert "".join(cut("", tokens)) == "".join(tokens)


@given(prose)
def test_no_clause_is_longer_than_its_measure(text):
    first, *later = [clause.split() for clause in cut(text)] or [[]]
    assert len(first) <= FIRST.max_words
    assert all(len(clause) <= LATER.max_words for clause in later)


@given(prose)
def test_every_clause_has_a_word(text):
    clauses = cut(text)
    assert all(clause.split() for clause in clauses) or not text.split()


@given(prose)
def test_the_first_clause_comes_as_soon_as_its_end_is_known(text):
    clauses, seen = Clauses(), ""
    for token in re.findall(r"\s*\S+", text):
        seen += token
        if clauses.feed(token):
            break
        assert len(seen.split()) <= FIRST.max_words


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Paris. It is nice.", ["Paris. ", "It is nice."]),
        ("Well, yes. No.", ["Well, yes. ", "No."]),
        ("I would say so, but who knows?", ["I would say so, ", "but who knows?"]),
        ("one two three four five six seven", ["one two three four five six ", "seven"]),
        ("Ask Mr. Smith. He knows.", ["Ask Mr. Smith. ", "He knows."]),
        ("J. K. Rowling wrote it. Yes.", ["J. K. Rowling wrote it. ", "Yes."]),
        ("It costs 3.50 euros. Fine.", ["It costs 3.50 euros. ", "Fine."]),
        ("1. Eggs with toast\n2. Tea", ["1. Eggs with toast\n", "2. Tea"]),
        ('He said "no." Then he left.', ['He said "no." ', "Then he left."]),
        ("你好。再见。", ["你好。", "再见。"]),
    ],
)
def test_clauses_end_where_a_speaker_would_breathe(text, clauses):
    assert cut(text) == clauses


def test_a_number_of_many_tokens_does_not_keep_the_listener_waiting():
    tokens = ["The", " moon", " is", " about", " ", *"1782000000000", " miles"]
    clauses = Clauses()
    fed = 0
    while not (first := clauses.feed(tokens[fed])):
        fed += 1
    assert first == ["The moon is about "]
    assert fed < FIRST.max_tokens


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("**Paris** is the *capital*.", "Paris is the capital."),
        ("# Title\n", "Title "),
        ("- milk\n- eggs", "milk eggs"),
        ("see [the page](http://x.y/z) now", "see the page now"),
        ("run `ls` and ~~not~~ rm", "run ls and not rm"),
        ("2*3 and snake_case stay", "2*3 and snake_case stay"),
        ("Sure! 😀👍🏽 ❤️", "Sure! "),
        ("It is 20 °C.", "It is 20 °C."),
        ("😀", ""),
    ],
)
def test_markup_and_pictures_are_not_spoken(written, said):
    assert spoken(written) == said


def test_a_dash_within_a_line_is_no_bullet():
    assert spoken("- he said", line_start=False) == "- he said"


@given(prose)
def test_plain_prose_is_spoken_as_it_is_written(text):
    assert spoken(text) == re.sub(r"\s+", " ", text)


@given(st.text())
def test_nothing_spoken_is_a_picture(text):
    assert all(unicodedata.category(c) != "So" or c < "\u2190" for c in spoken(text))


@pytest.mark.parametrize("text", ["", " ", "...", "-", "?!", "* *"])
def test_marks_alone_are_not_audible(text):
    assert not is_audible(text)


@pytest.mark.parametrize(
    ("text", "ends"),
    [("So it is.", True), ("So it is", False), ("I met Dr.", False), ("It costs 3.", False), ("Why?", True)],
)
def test_a_sentence_ends_with_a_mark_of_its_own(text, ends):
    assert ends_sentence(text) is ends
