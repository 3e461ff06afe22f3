"""A call through the microphone: a question, a second one over the answer, and a third after an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from tests.browser.driving import Watched, chromium, speech, until, write_wav

pytestmark = pytest.mark.browser

CALL = speech(1.0, "01", 3.4, "03", 3.5, "05", 8.0)


@dataclass
class Call:
    """What was seen of it; the colours are those of the moment of the interruption."""

    watched: Watched
    colours: dict[tuple[int, ...], int]


@pytest.fixture(scope="module")
def call(live_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    microphone = write_wav(tmp_path_factory.mktemp("call") / "microphone.wav", CALL)
    with chromium(microphone=microphone, color_scheme="light") as context:
        watched = Watched(context, live_server)
        watched.page.click("#talk")
        watched.page.wait_for_selector('#transcript .it[data-state="cut"]')
        # The fade takes milliseconds; the meter is read twenty times a second.
        until(watched.page, "document.getElementById('its-level').ariaValueNow === '0'", 1.0)
        colours = watched.colours()
        watched.page.wait_for_selector("#transcript .it >> nth=2")
        watched.phase_is("speaking")
        watched.phase_is("listening")
        yield Call(watched, colours)


def test_the_microphone_reaches_the_server_at_its_rate_and_loudness(call: Call) -> None:
    heard = call.watched.microphone()
    times = [at for at, _ in call.watched.sent_of("input_audio_buffer.append")]
    seconds = len(heard) / 24000
    assert seconds == pytest.approx(times[-1] - times[0], abs=0.5)
    assert np.abs(heard).max() > 3000


def test_both_sides_are_written_down_in_order(call: Call) -> None:
    lines = call.watched.page.locator("#transcript li").all_inner_texts()
    speakers = [line.splitlines()[0].lower() for line in lines]
    assert speakers == ["you", "antiphon"] * 3
    assert "What is the capital of France?" in lines[0]
    assert lines[3].split("\n", 1)[1].strip() == "Very well."


def test_the_server_is_told_how_much_was_heard(call: Call) -> None:
    (told_at, frame), *others = call.watched.sent_of("conversation.item.truncate")
    item = frame["item_id"]
    deltas = call.watched.received_of("response.output_audio.delta")
    began = next(at for at, delta in deltas if delta["item_id"] == item)
    elapsed_ms = (told_at - began) * 1000
    assert 500 < frame["audio_end_ms"] <= elapsed_ms
    assert frame["audio_end_ms"] == pytest.approx(elapsed_ms, abs=600)
    assert others == [], "an answer that was heard to its end is not truncated by later speech"


def test_it_is_told_at_once(call: Call) -> None:
    told_at, _ = call.watched.sent_of("conversation.item.truncate")[0]
    speech_started = [at for at, _ in call.watched.received_of("input_audio_buffer.speech_started")]
    assert min(abs(told_at - at) for at in speech_started) < 0.25


def test_what_was_not_heard_is_struck_out_where_the_server_cut_it(call: Call) -> None:
    _, kept = call.watched.received_of("conversation.item.retrieved")[0]
    line = call.watched.page.locator("#transcript .it").first
    assert line.get_attribute("data-state") == "cut"
    heard, rest = line.locator(".heard"), line.locator(".rest")
    assert (heard.text_content() or "").strip() == kept["item"]["content"][0]["transcript"]
    assert "million people" in (rest.text_content() or "")
    assert "line-through" in rest.evaluate("element => getComputedStyle(element).textDecorationLine")
    assert "interrupted" in line.inner_text()


def test_the_meters_follow_both_voices(call: Call) -> None:
    for side in ("your", "its"):
        seen = call.watched.levels(side)
        assert min(seen) == 0
        assert max(seen) > 30


def test_nothing_went_wrong_unseen(call: Call) -> None:
    assert call.watched.complaints == []
    assert call.watched.violations() == []
    assert call.watched.received_of("error") == []
    assert call.watched.page.inner_text("#trouble") == ""


def test_it_can_be_seen(call: Call) -> None:
    paper, blue, red = (0xFA, 0xF7, 0xF1), (0x2B, 0x4C, 0x7E), (0xA8, 0x32, 0x1F)
    assert max(call.colours, key=call.colours.__getitem__) == paper
    assert call.colours[blue] > 200
    assert call.colours[red] > 200
