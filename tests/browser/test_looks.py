"""The page as a thing to look at and to reach: widths, schemes, keyboard, and what the server says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.driving import Watched, chromium

pytestmark = pytest.mark.browser

PAGE = Path(__file__).resolve().parents[2] / "web" / "page"
KEPT_FOR_GOOD = {"call-settings.js": {"localStorage"}}
"""Settings may outlive the tab; keys and conversations never do."""


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_width_in_both_schemes(live_server: str, width: int, scheme: str) -> None:
    with chromium(viewport={"width": width, "height": 720}, color_scheme=scheme) as context:
        watched = Watched(context, live_server)
        expect(watched.page.locator("#notice")).not_to_be_empty()
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert watched.page.evaluate(overflow) == 0
        colours = watched.colours()
        brightest = max(colours, key=colours.__getitem__)
        assert (sum(brightest) > 600) == (scheme == "light")
        assert len(colours) > 20
        assert watched.complaints == []
        assert watched.violations() == []


def test_everything_is_reached_by_keyboard_in_reading_order(live_server: str) -> None:
    with chromium() as context:
        page = Watched(context, live_server).page
        reached = []
        for _ in range(8):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "document.activeElement.id || document.activeElement.value || document.activeElement.textContent"
                )
            )
        assert reached == [
            "Sessions",
            "talk",
            "duplex",
            "microphone",
            "scroller",
            "message",
            "Send",
            "Settings",
        ]


def test_the_transcript_is_announced(live_server: str) -> None:
    with chromium() as context:
        page = Watched(context, live_server).page
        expect(page.get_by_role("log", name="Transcript")).to_have_attribute("aria-live", "polite")
        expect(page.get_by_role("status")).to_have_text("Not connected")
        expect(page.get_by_role("meter")).to_have_count(2)


def test_nothing_comes_from_elsewhere(live_server: str) -> None:
    with chromium() as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(live_server, wait_until="networkidle")
        assert asked
        assert all(url.startswith(live_server) for url in asked)


@pytest.mark.parametrize("path", sorted(PAGE.rglob("*.js")), ids=lambda path: str(path.relative_to(PAGE)))
def test_a_module_is_one_idea(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= 200
    assert lines[0].startswith("/**"), "it begins by saying what it is"
    assert max(map(len, lines)) <= 130
    unwanted = {"innerHTML", "eval(", "localStorage"} - KEPT_FOR_GOOD.get(path.name, set())
    assert not any(word in path.read_text("utf-8") for word in unwanted)
