import itertools
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.stages.chat_backend.chunks import Completion, NotAnAnswer
from antiphon.actors.stages.chat_backend.sse import MAX_EVENT, Events, TooLong

data = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1)


@given(st.lists(data), st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 2000)))
def test_events_come_whole_however_the_bytes_are_cut(sent, newline, cuts):
    stream = "".join(f": keep-alive{newline}{newline}data: {one}{newline}{newline}" for one in sent).encode()
    # What follows shows that a CR at the end of the bytes is no half line end.
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    events = Events()
    got = [event for a, b in itertools.pairwise(places) for event in events.feed(stream[a:b])]
    got += events.feed(b": end\n")
    assert got == sent


def test_the_lines_of_an_event_are_joined():
    assert Events().feed(b"event: x\ndata: a\ndata:b\nid: 7\n\n") == ["a\nb"]


def test_an_event_that_never_ends_is_refused():
    events = Events()
    events.feed(b"x" * MAX_EVENT)
    with pytest.raises(TooLong):
        events.feed(b"x")


def chunk(**fields: object) -> str:
    return msgspec.json.encode({"id": "x", "object": "chat.completion.chunk", **fields}).decode()


def test_an_answer_is_read_with_what_it_took():
    completion = Completion()
    words = [
        completion.read(chunk(choices=[{"index": 0, "delta": {"role": "assistant", "content": None}}])),
        completion.read(chunk(choices=[{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}])),
        completion.read(chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "length"}])),
    ]
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 3}}
    completion.read(chunk(choices=[], usage=usage))
    completion.read("[DONE]")
    written = completion.written()
    assert words == ["", "Hi", ""]
    assert completion.ended
    assert (written.why, written.input_tokens, written.output_tokens) == ("length", 5, 1)
    assert written.cached_tokens == 3


@given(st.text())
def test_anything_else_is_said_to_be_no_answer(text):
    with suppress(NotAnAnswer):
        Completion().read(text)


def test_an_error_in_the_middle_is_an_error():
    with pytest.raises(NotAnAnswer):
        Completion().read('{"error": {"message": "out of memory", "code": 500}}')
