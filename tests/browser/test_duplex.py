"""The page in the duplex dialect: what it says was played, and where an answer is cut."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.driving import Watched, choose, chromium, speech, write_wav

pytestmark = pytest.mark.browser

HERE = Path(__file__).resolve().parent
CALL = speech(1.0, "01", 3.4, "16", 8.0)


@pytest.fixture(scope="module")
def call(live_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A call in the duplex dialect with turns that the server detects: a question, and a long one over its answer."""
    microphone = write_wav(tmp_path_factory.mktemp("duplex") / "microphone.wav", CALL)
    with chromium(microphone=microphone, color_scheme="light") as context:
        watched = Watched(context, live_server)
        choose(watched.page, "duplex", voice="alto")
        watched.page.click("#talk")
        watched.page.wait_for_selector('#transcript .it[data-state="cut"]')
        expect(watched.page.locator("#transcript .it").last).to_contain_text("Very well.", timeout=20_000)
        watched.phase_is("listening")
        yield watched


def acknowledged(watched: Watched) -> list[dict[str, Any]]:
    return [frame for _, frame in watched.sent_of("playback.ack")]


def test_what_was_played_is_acknowledged_as_it_is_played(call: Watched) -> None:
    began = {}
    for at, delta in call.received_of("response.output_audio.delta"):
        began.setdefault(delta["response_id"], at)
    first = next(iter(began))
    of_first = [
        (at, ack["played_ms"]) for at, ack in call.sent_of("playback.ack") if ack["response_id"] == first
    ]
    assert len(of_first) >= 5
    assert all(later > ms for (_, ms), (_, later) in pairwise(of_first))
    assert all(ms <= (at - began[first]) * 1000 for at, ms in of_first), "nothing is played before it comes"
    assert of_first[-1][1] < 8000, "and nothing that was cut off"


def test_an_answer_that_was_heard_is_acknowledged_to_its_end(call: Watched) -> None:
    whole = (700, call.received_of("response.created")[-1][1]["response_id"])
    began = time.monotonic()
    while _last(call) != whole and time.monotonic() - began < 10:
        call.page.wait_for_timeout(50)  # it is said a moment after the last of it was heard
    assert _last(call) == whole


def _last(call: Watched) -> tuple[int, str]:
    last = acknowledged(call)[-1]
    return last["played_ms"], last["response_id"]


def test_the_history_is_cut_where_the_page_fell_silent(call: Watched) -> None:
    [(_, told)] = call.sent_of("conversation.item.truncate")
    cut = call.received_of("conversation.item.retrieved")[0][1]["item"]["content"][0]["transcript"]
    line = call.page.locator("#transcript .it").first
    assert (line.locator(".heard").text_content() or "").strip() == cut.strip()
    assert 500 < told["audio_end_ms"] < 8000


def test_a_voice_is_asked_for_when_the_session_opens(call: Watched) -> None:
    first = call.sent[0][1]
    assert first["session"]["audio"]["output"]["voice"] == "alto"
    created = call.received_of("session.created")[0][1]["session"]
    assert created["voice"] == "alto"


def test_nothing_went_wrong_unseen(call: Watched) -> None:
    assert call.received_of("error") == []
    assert call.complaints == []
    assert call.violations() == []
