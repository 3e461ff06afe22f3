"""A model that hears all the time and decides about turns by itself: what the page sends it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.driving import Watched, choose, chromium, speech, write_wav
from tests.serving import running

pytestmark = pytest.mark.browser

HERE = Path(__file__).resolve().parent
PIECE = 4800
"""200 ms at 24 kHz."""


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A conversation whose turns are the model's, until it has said everything."""
    folder = tmp_path_factory.mktemp("owned")
    config = folder / "antiphon.toml"
    config.write_text(
        f'[stage]\nuse = "scripted"\n[stage.scripted]\nscript = "{HERE / "unit_script.toml"}"\n'
    )
    microphone = write_wav(folder / "microphone.wav", speech(0.5, "01", 1.0, "03", 4.0))
    with (
        running(folder / "data", "--config", str(config), stage="scripted") as server,
        chromium(microphone=microphone) as context,
    ):
        watched = Watched(context, server.base)
        choose(watched.page, "duplex")
        watched.page.click("#talk")
        expect(watched.page.locator("#transcript .it .heard")).to_have_text(
            "I have been listening all the time, also while I speak.", timeout=20_000
        )
        watched.phase_is("listening")
        before = len(watched.sent_of("input_audio_buffer.append"))
        watched.wait_until(lambda: len(watched.sent_of("input_audio_buffer.append")) > before + 2)
        yield watched


def appended(watched: Watched) -> list[tuple[float, dict[str, Any]]]:
    return watched.sent_of("input_audio_buffer.append")


def test_a_model_that_owns_the_turns_is_given_200_ms_at_a_time_also_while_it_speaks(owned: Watched) -> None:
    lengths = {len(base64.b64decode(frame["audio"])) // 2 for _, frame in appended(owned)}
    assert lengths == {PIECE}
    times = [at for at, _ in appended(owned)]
    assert max(later - at for at, later in pairwise(times)) < 1.0, "it never pauses"
    spoken = [at for at, _ in owned.received_of("response.output_audio.delta")]
    assert sum(spoken[0] < at < spoken[-1] for at in times) >= 3
    assert len(times) * 0.2 == pytest.approx(times[-1] - times[0], abs=0.6)


def test_it_is_never_told_of_turns(owned: Watched) -> None:
    kinds = {frame["type"] for _, frame in owned.sent}
    assert kinds <= {
        "session.update",
        "input_audio_buffer.append",
        "playback.ack",
        "conversation.item.retrieve",
    }
    assert all(set(frame) == {"type", "audio"} for _, frame in appended(owned))
    sessions = [frame["session"] for _, frame in owned.sent_of("session.update")]
    assert "turn_detection" not in str(sessions)


def test_what_was_said_reached_it(owned: Watched) -> None:
    assert np.abs(owned.microphone()).max() > 3000
    assert owned.received_of("error") == []
    assert owned.complaints == []
