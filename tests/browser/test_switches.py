"""What can be tried on the page: a dropped connection, another tab; and what it looks like when broken in on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Page, expect

from antiphon.cli.main import main
from tests.browser.driving import Watched, choose, chromium, speech, until, write_wav
from tests.browser.pictures import picture
from tests.serving import RunningServer, running

pytestmark = pytest.mark.browser

HERE = Path(__file__).resolve().parent
CALL = speech(1.0, "01", 2.6, "03", 8.0)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("counting")
    config = folder / "antiphon.toml"
    config.write_text(
        f'[stage]\nuse = "scripted"\n[stage.scripted]\nscript = "{HERE / "counting_script.toml"}"\n'
    )
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


COUNT = "one two three"


def asked(page: Page) -> None:
    page.fill("#message", "Count")
    page.press("#message", "Enter")
    until(page, "document.querySelector('.it .heard')?.textContent.startsWith('one two three')")


@pytest.mark.parametrize("protocol", ["realtime", "duplex"])
def test_the_connection_can_be_dropped_and_the_answer_goes_on(counting: RunningServer, protocol: str) -> None:
    with chromium(device=False) as context:
        watched = Watched(context, counting.base)
        page = watched.page
        choose(page, protocol)
        expect(page.locator("#drop")).to_be_disabled()
        asked(page)
        page.click("#drop")
        watched.phase_is("restoring")
        expect(page.locator("#transcript .it .heard")).to_contain_text("nineteen twenty", timeout=20_000)
        expect(page.locator("#transcript .it")).to_have_count(1)
        words = [frame["delta"] for _, frame in watched.received_of("response.output_audio_transcript.delta")]
        assert len("".join(words).split()) == 20, "every word came once"
        assert watched.received_of("error") == []


@pytest.mark.parametrize("protocol", ["realtime", "duplex"])
def test_another_tab_can_take_the_conversation_over(counting: RunningServer, protocol: str) -> None:
    with chromium(device=False) as context:
        page = Watched(context, counting.base).page
        choose(page, protocol)
        asked(page)
        with page.context.expect_page() as opened:
            page.click("#take-over")
        expect(page.locator("#trouble")).to_contain_text("in another window or on another device")
        second = opened.value
        expect(second.locator("#transcript .it .heard")).to_contain_text("nineteen twenty", timeout=20_000)
        expect(second.locator("#transcript .you .words")).to_have_text("Count")


def test_a_fork_is_gone_on_with_at_the_address_that_is_printed(counting: RunningServer) -> None:
    """And the token does not stay in the address."""
    with chromium(device=False) as context:
        watched = Watched(context, counting.base)
        asked(watched.page)
        [(_, created)] = watched.received_of("session.created")
        fork = [
            "replay",
            "fork",
            created["session"]["id"],
            "--data",
            str(counting.data),
            "--url",
            counting.base,
        ]
        made = json.loads(CliRunner().invoke(main, [*fork, "--json"]).stdout)
    with chromium(device=False) as context:
        forked = Watched(context, made["page"])
        forked.phase_is("listening")
        assert forked.page.url == f"{counting.base}/"
        until(forked.page, "document.querySelector('.it .heard')?.textContent.includes('nineteen twenty')")
        forked.page.fill("#message", "And again")
        forked.page.press("#message", "Enter")
        until(
            forked.page,
            "[...document.querySelectorAll('.it .heard')].at(-1).textContent.startsWith('one two')",
        )
        [(_, greeted)] = forked.received_of("session.created")
        assert greeted["session"]["id"] == made["session"]


@pytest.mark.parametrize(("device", "width", "height"), [("desktop", 1000, 760), ("phone", 390, 780)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_pictured_right_after_an_interruption(
    live_server: str, tmp_path: Path, scheme: str, device: str, width: int, height: int
) -> None:
    microphone = write_wav(tmp_path / "microphone.wav", CALL)
    with chromium(
        microphone=microphone, color_scheme=scheme, viewport={"width": width, "height": height}
    ) as context:
        watched = Watched(context, live_server)
        page = watched.page
        page.click("#talk")
        page.wait_for_selector('#transcript .it[data-state="cut"]')
        page.wait_for_selector("#transcript .you >> nth=1")
        watched.phase_is("speaking")
        unheard = (0xB9, 0xB0, 0xA3) if scheme == "light" else (0x5D, 0x55, 0x4C)
        assert watched.colours().get(unheard, 0) > 100, "what the interruption took away is seen in grey"
        assert picture(page, f"talking-{device}-{scheme}", tmp_path).stat().st_size < 100_000
