"""Half-duplex calls on the page: the settings, the microphone that is deaf to answers, a failure, the line."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.driving import Watched, chromium, speech, write_wav
from tests.serving import RunningServer, running

pytestmark = pytest.mark.browser

SCRIPT = Path(__file__).with_name("call_script.toml")
RESUME_S = 0.8
CALL = speech(1.0, "01", 6.5, "01", 4.0, "01", 8.0)
"""A question that is answered, one whose answer fails, and one after that."""


@pytest.fixture(scope="module")
def phone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("calls")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n[duplex_session]\nmax_sessions = 1\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


def choose_turns(watched: Watched) -> None:
    watched.page.check('[name="manner"][value="half_duplex"]', force=True)


def another_person(call: Watched) -> BrowserContext:
    """In the same browser, with nothing that was kept before."""
    browser = call.page.context.browser
    assert browser is not None
    return browser.new_context()


@pytest.fixture(scope="module")
def call(phone_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A whole call; it is over when this is given."""
    microphone = write_wav(tmp_path_factory.mktemp("call") / "microphone.wav", CALL)
    with chromium(microphone=microphone) as context:
        watched = Watched(context, phone_server.base)
        choose_turns(watched)
        watched.page.click("#call-settings summary")
        watched.page.fill("#call-min-silence-duration-ms", "640")
        watched.page.fill("#call-timeout-s", "77")
        watched.page.click("#talk")
        watched.page.wait_for_selector("#transcript .it >> nth=2")
        watched.wait_until(lambda: len(watched.received_of("turn_done")) == 2)
        watched.phase_is("listening")
        watched.page.click("#talk")
        watched.wait_until(lambda: bool(watched.sent_of("stop")))
        yield watched


def test_the_settings_are_told_once_at_the_beginning(call: Watched) -> None:
    ((_, prepared),) = call.sent_of("prepare")
    config = prepared["config"]
    assert config["vad"] == {
        "threshold": 0.8,
        "min_speech_duration_ms": 128,
        "min_silence_duration_ms": 640,
        "speech_pad_ms": 30,
    }
    assert config["generation"] == {"max_new_tokens": 256, "length_penalty": 1.1, "temperature": 0.7}
    assert (config["tts"], config["session"]) == ({"enabled": True}, {"timeout_s": 77})
    ((_, begun),) = call.received_of("prepared")
    assert begun["timeout_s"] == 77
    assert "length penalty" in call.page.locator("#call-notes").inner_text()


def test_the_microphone_comes_in_half_seconds_of_16_khz(call: Watched) -> None:
    chunks = [base64.b64decode(frame["audio_base64"]) for _, frame in call.sent_of("audio_chunk")]
    assert {len(chunk) for chunk in chunks} == {8_000 * 4}
    assert np.abs(np.frombuffer(b"".join(chunks), "<f4")).max() > 0.1


def test_nothing_is_sent_from_the_answer_until_a_moment_after_its_last_sound(call: Watched) -> None:
    times = [at for at, _ in call.sent_of("audio_chunk")]
    for (began, _), (ended, _) in zip(
        call.received_of("generating")[::2], call.received_of("turn_done"), strict=True
    ):
        assert not any(began + 0.1 < at < ended + 1.0 + RESUME_S for at in times), "1.2 s of sound, and 0.8 s"
        assert ended - began < 1.0
    first_again = min(at for at in times if at > call.received_of("turn_done")[0][0])
    assert first_again - call.received_of("turn_done")[0][0] < 1.2 + RESUME_S + 1.5


def test_an_answer_that_fails_is_told_and_the_user_has_the_word_again(call: Watched) -> None:
    ((failed, error),) = call.received_of("error")
    assert error["code"] == "out_of_tune"
    assert any(at > failed + RESUME_S for at, _ in call.sent_of("audio_chunk"))
    assert [frame["turn_index"] for _, frame in call.received_of("turn_done")] == [1, 2]


def test_both_sides_are_written_down(call: Watched) -> None:
    lines = call.page.locator("#transcript li").all_inner_texts()
    assert [line.splitlines()[0].lower() for line in lines] == ["you", "antiphon"] * 3
    assert "Paris, of course." in lines[1]
    assert "no answer" in lines[3]
    assert call.complaints == []
    assert call.violations() == []


def test_the_settings_are_kept_in_the_browser_and_nonsense_is_not(
    call: Watched, phone_server: RunningServer
) -> None:
    with closing(another_person(call)) as context:
        watched = Watched(context, phone_server.base)
        expect(watched.page.locator("#call-settings")).to_be_hidden()
        expect(watched.page.locator("#welcome .of-turns")).to_be_hidden()
        choose_turns(watched)
        expect(watched.page.locator("#welcome .of-turns")).to_be_visible()
        watched.page.click("#call-settings summary")
        watched.page.fill("#call-temperature", "0.3")
        watched.page.fill("#call-threshold", "7")
        watched.page.uncheck("#call-enabled")
        watched.page.press("#call-threshold", "Tab")
        watched.page.reload()
        assert watched.page.input_value("#call-temperature") == "0.3"
        assert watched.page.input_value("#call-threshold") == "0.8"
        assert not watched.page.is_checked("#call-enabled")


def test_who_has_to_wait_is_told_where_and_is_served_in_turn(
    call: Watched, phone_server: RunningServer, tmp_path: Path
) -> None:
    wav = write_wav(tmp_path / "question.wav", speech(0.5, "01", 0.5))
    with closing(another_person(call)) as context:
        pages = [Watched(context, phone_server.base) for _ in range(2)]
        for watched in pages:
            choose_turns(watched)
            watched.page.set_input_files("#file", wav)
            watched.page.click("#talk")
            watched.wait_until(lambda watched=watched: bool(watched.received))  # type: ignore[misc]
        expect(pages[1].page.locator("#trouble")).to_contain_text("number 1 in the line")
        pages[0].page.click("#talk")
        pages[1].phase_is("speaking")
        expect(pages[1].page.locator("#trouble")).to_have_text("")
