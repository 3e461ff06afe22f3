"""What a client makes of a server's events."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antiphon.clients.exchange import BYTES_PER_SECOND, Event, Exchange, gaps


def exchange(*events: tuple[float, str, dict[str, Any]]) -> Exchange:
    made = Exchange(speech_begun=0.0, speech_ended=1.0)
    for at, kind, body in events:
        made.note(Event(at, kind, body))
    return made


def audio(at: float, pcm: bytes) -> tuple[float, str, dict[str, Any]]:
    return at, "response.output_audio.delta", {"delta": base64.b64encode(pcm).decode()}


def word(at: float, text: str) -> tuple[float, str, dict[str, Any]]:
    return at, "response.output_audio_transcript.delta", {"delta": text}


def heard(at: float, text: str) -> tuple[float, str, dict[str, Any]]:
    return at, "conversation.item.input_audio_transcription.completed", {"transcript": text}


def done(at: float, status: str = "completed") -> tuple[float, str, dict[str, Any]]:
    return at, "response.done", {"response": {"status": status}}


def created(at: float) -> tuple[float, str, dict[str, Any]]:
    return at, "response.created", {"response": {"id": f"resp_{at}"}}


STARTED, STOPPED = "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"
COMMITTED = "input_audio_buffer.committed"

TURN = (
    (0.3, STARTED, {}),
    (1.5, STOPPED, {}),
    (1.5, COMMITTED, {}),
    heard(1.6, " Hello? "),
    created(1.6),
)


def test_an_answered_question_is_told_whole() -> None:
    told = exchange(
        *TURN, word(1.9, "Hi "), audio(2.0, b"ab"), word(2.1, "there."), audio(2.2, b"cd"), done(2.3)
    )
    assert (told.question, told.answer, bytes(told.audio)) == ("Hello?", "Hi there.", b"abcd")
    assert (told.speech_started, told.speech_stopped, told.committed) == (0.3, 1.5, 1.5)
    assert (told.response_created, told.first_audio, told.last_audio) == (1.6, 2.0, 2.2)
    assert told.settled
    assert told.status == "completed"
    assert told.delay == 0.5


def test_it_is_not_settled_before_the_answer_has_ended() -> None:
    assert not exchange(*TURN, audio(2.0, b"ab")).settled


def test_a_speaker_who_goes_on_unsettles_what_was_answered() -> None:
    first = (*TURN, word(1.8, "Too early."), audio(1.9, b"xx"), done(1.95))
    assert exchange(*first).settled
    went_on = (*first, (2.0, STARTED, {}))
    assert not exchange(*went_on).settled
    again = exchange(
        *went_on,
        (2.9, STOPPED, {}),
        (3.0, COMMITTED, {}),
        heard(3.0, "And you?"),
        created(3.0),
        audio(3.5, b"ok"),
        done(3.6),
    )
    assert again.settled
    assert again.question == "Hello? And you?"
    assert bytes(again.audio) == b"ok"
    assert again.answer == ""
    assert (again.speech_started, again.response_id) == (0.3, "resp_3.0")
    assert again.delay == 0.5


def test_an_answer_that_began_before_the_turn_ended_has_no_delay() -> None:
    assert exchange(created(0.1), audio(0.2, b"ab"), (1.5, COMMITTED, {}), done(1.6)).delay is None


def test_errors_are_kept_by_their_code() -> None:
    assert exchange((0.1, "error", {"error": {"code": "invalid_value"}})).errors == ["invalid_value"]


def test_events_of_no_interest_change_nothing() -> None:
    assert exchange((0.1, "rate_limits.updated", {"rate_limits": []})) == exchange()


def test_a_piece_that_comes_after_everything_was_played_makes_a_gap() -> None:
    second = BYTES_PER_SECOND
    assert gaps([(10.0, second), (10.5, second), (12.25, second)]) == [0.25]


def test_sound_that_is_always_ahead_makes_none() -> None:
    assert gaps([]) == gaps([(1.0, 2)]) == gaps([(1.0, BYTES_PER_SECOND)] * 3) == []


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, BYTES_PER_SECOND)), min_size=1))
def test_playing_takes_the_sound_and_its_gaps_and_nothing_else(steps: list[tuple[int, int]]) -> None:
    at, arrivals = 0.0, []
    for pause_ms, length in steps:
        at += pause_ms / 1000
        arrivals.append((at, length))
    sound = sum(length for _, length in arrivals) / BYTES_PER_SECOND
    played_until = arrivals[0][0] + sum(gaps(arrivals)) + sound
    last_at, last_length = arrivals[-1]
    assert played_until >= last_at + last_length / BYTES_PER_SECOND - 1e-6
    assert all(gap > 0 for gap in gaps(arrivals))
