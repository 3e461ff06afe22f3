"""Recordings and typing: all that the page can do without a microphone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.driving import Watched, chromium, speech, until, write_wav

pytestmark = pytest.mark.browser


@pytest.fixture
def watched(live_server: str) -> Iterator[Watched]:
    with chromium(device=False) as context:
        yield Watched(context, live_server)


def say(watched: Watched, text: str) -> None:
    watched.page.fill("#message", text)
    watched.page.press("#message", "Enter")


def test_a_recording_is_played_into_the_session_in_real_time(watched: Watched, tmp_path: Path) -> None:
    page, samples = watched.page, speech(0.5, "01", 0.5)
    page.set_input_files("#file", write_wav(tmp_path / "question.wav", samples))
    expect(page.locator("#recording-state")).to_contain_text("question.wav")
    page.click("#talk")
    watched.phase_is("speaking")
    times = [at for at, _ in watched.sent_of("input_audio_buffer.append")]
    sent = watched.microphone()
    assert len(sent) / 24000 == pytest.approx(times[-1] - times[0], abs=0.3)
    at_16k = sent[: len(sent) // 3 * 3].reshape(-1, 3).mean(axis=1)
    loud = np.sqrt(np.mean(at_16k[: len(samples) * 3 // 6].astype(float) ** 2))
    assert loud > 300
    expect(page.locator("#transcript .you")).to_contain_text("What is the capital of France?")
    expect(page.locator("#recording-state")).to_have_text("played to its end")
    assert watched.complaints == []


def test_a_file_that_is_no_sound_is_refused_in_words(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("not sound")
    watched.page.set_input_files("#file", tmp_path / "notes.wav")
    expect(watched.page.locator("#trouble")).to_contain_text("cannot be read as sound")


def test_a_dropped_file_becomes_the_voice(watched: Watched, tmp_path: Path) -> None:
    wav = write_wav(tmp_path / "dropped.wav", speech("03"))
    drop = """([bytes, name]) => {
        const carried = new DataTransfer();
        carried.items.add(new File([Uint8Array.from(bytes)], name, { type: "audio/wav" }));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
    }"""
    watched.page.evaluate(drop, [list(wav.read_bytes()), "dropped.wav"])
    expect(watched.page.locator("#recording-state")).to_contain_text("dropped.wav")
    expect(watched.page.locator('[name="source"][value="recording"]')).to_be_checked()


def test_a_typed_message_starts_a_conversation_and_is_answered(watched: Watched) -> None:
    say(watched, "What is the capital of France?")
    expect(watched.page.locator("#transcript .you .words")).to_have_text("What is the capital of France?")
    expect(watched.page.locator("#transcript .it .words")).to_contain_text("Paris has been the capital")
    watched.phase_is("speaking")
    assert watched.sent_of("input_audio_buffer.append") == []


def test_a_typed_message_interrupts_an_answer(watched: Watched) -> None:
    say(watched, "First")
    watched.phase_is("speaking")
    until(watched.page, "document.querySelector('.it .heard').textContent.length > 10")
    say(watched, "Second")
    expect(watched.page.locator("#transcript .it").first).to_have_attribute("data-state", "cut")
    expect(watched.page.locator("#transcript .it").last).to_contain_text("Very well.")
    (_, told), *others = watched.sent_of("conversation.item.truncate")
    assert 0 < told["audio_end_ms"] < 8000
    assert others == []
    watched.phase_is("listening")
    assert watched.received_of("error") == []


@pytest.mark.parametrize("by", ["button", "escape"])
def test_an_answer_is_interrupted_by_hand(watched: Watched, by: str) -> None:
    page = watched.page
    say(watched, "Tell me")
    watched.phase_is("speaking")
    if by == "button":
        page.click("#interrupt")
    else:
        page.keyboard.press("Escape")
    watched.phase_is("listening")
    expect(page.locator("#phase")).to_have_text("Listening")
    expect(page.locator("#interrupt")).to_be_disabled()
    assert len(watched.sent_of("conversation.item.truncate")) == 1


def test_what_is_typed_is_never_taken_for_markup(watched: Watched) -> None:
    markup = "<img src=x onerror=alert(1)><b>bold</b>"
    say(watched, markup)
    expect(watched.page.locator("#transcript .you .words")).to_have_text(markup)
    assert watched.page.locator("#transcript img, #transcript b").count() == 0


def test_a_muted_recording_is_sent_as_silence(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    page.set_input_files("#file", write_wav(tmp_path / "long.wav", speech("16")))
    page.click("#talk")
    watched.phase_is("hearing")
    page.click("#mute")
    expect(page.locator("#mute")).to_have_attribute("aria-pressed", "true")
    before = len(watched.microphone())
    watched.phase_is("speaking")
    muted = watched.microphone()[before:]
    assert len(muted) > 24000 // 4
    assert not muted[2 * 1440 :].any()


def test_stopping_ends_everything_and_talking_again_begins_anew(watched: Watched) -> None:
    page = watched.page
    say(watched, "Tell me")
    watched.phase_is("speaking")
    page.click("#talk")
    expect(page.locator("#phase")).to_have_text("Ended")
    expect(page.locator("#its-level")).to_have_attribute("aria-valuenow", "0")
    say(watched, "Again")
    watched.phase_is("speaking")
    expect(page.locator("#transcript .you")).to_have_count(1)
