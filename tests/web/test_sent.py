"""What an attachment notes of its socket: enough for the next report, and no more the longer it lasts."""

from __future__ import annotations

from antiphon.events.ids import ResponseId
from antiphon.web.outbox import Letter
from antiphon.web.sent import REMEMBERED, Sent


def audio(number: int, response: str) -> Letter:
    return Letter(b"{}", number, b"{}", b"", ResponseId(response), 4_800)


def test_the_first_audio_of_a_response_is_told_with_its_time_each_time() -> None:
    sent = Sent(1)
    assert sent.took(audio(1, "a"))
    assert not sent.took(audio(2, "a"))
    first, again = sent.report(), (sent.took(audio(3, "a")), sent.report())[1]
    assert first is not None
    assert again is not None
    assert first.audio[0].first_mono_ns == again.audio[0].first_mono_ns


def test_of_a_long_conversation_only_the_latest_responses_are_remembered() -> None:
    sent = Sent(1)
    for number in range(1_000):
        assert sent.took(audio(number, f"resp_{number}"))
        if number % 20 == 19:
            report = sent.report()
            assert report is not None
            assert len(report.audio) == 20, "of what was not yet reported everything is known"
            assert len(sent.remembered) == REMEMBERED
    assert sent.remembered[-1] == "resp_999"
