"""What a watcher's model writes, and what it means."""

from __future__ import annotations

import pytest

from antiphon.actors.modes.joyvl.tokens import parse, token_form


@pytest.mark.parametrize(("raw", "action", "text", "question"), [
    ("", "silence", "", None),
    (" </silence>", "silence", "", None),
    ("</silence> x </response> hi", "silence", "", None),
    ("</response> hi </silence>", "response", "hi </silence>", None),
    ("hello world\nsecond", "response", "hello world", None),
    ("</response>", "response", "", None),
    ("</response>\nline1\nline2", "response", "line1", None),
    ("</response> a  b\tc\r\nd", "response", "a b c", None),
    ("noise </response> hi", "response", "hi", None),
    ("</response> wait </delegation> how many?", "delegate", "wait", "how many?"),
    ("</response> wait <delegation> how many?", "delegate", "wait", "how many?"),
    ("</response> wait <delegation> q1 </delegation> q2", "delegate", "wait <delegation> q1", "q2"),
    ("</delegation> only q", "delegate", "", "only q"),
    ("</response> note </delegation>", "delegate", "note", None),
    ("<silence>", "response", "<silence>", None),
])  # fmt: skip
def test_the_first_token_decides(raw: str, action: str, text: str, question: str | None) -> None:
    said = parse(raw)
    assert (said.action, said.text, said.question) == (action, text, question)


@pytest.mark.parametrize(("raw", "form"), [
    ("", "</silence>"), ("hi", "</response> hi"), ("</delegation> only q", "</response>  </delegation> only q"),
    ("</response> a </delegation> b", "</response> a </delegation> b"),
])  # fmt: skip
def test_a_decision_is_written_in_tokens(raw: str, form: str) -> None:
    assert token_form(parse(raw)) == form
