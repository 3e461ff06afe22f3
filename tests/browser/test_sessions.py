"""The sessions pages: a call that went wrong is found, looked into, heard, taken along and erased."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.units import Samples
from antiphon.events.vocabulary import ImageReceived
from tests.browser.driving import Watched, chromium, speech, until, write_wav
from tests.browser.pictures import picture
from tests.replay.calls import Call, tone
from tests.serving import RunningServer, running

pytestmark = pytest.mark.browser

SCRIPT = Path(__file__).resolve().parent / "failing_script.toml"
SPOKEN = speech(1.0, "01", 3.4, "03", 6.0)
MS = 24
KEY = "the-operators-key"


@dataclass
class Recorded:
    """A server in which a call has gone wrong."""

    server: RunningServer
    session: str

    @property
    def page(self) -> str:
        return f"{self.server.base}/sessions/session.html?id={self.session}"

    def log(self) -> SegmentLog:
        return SegmentLog(self.server.data, deliver=lambda call: call(), slow_limit=10**9)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("sessions")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage]\nuse = "scripted"\n[stage.scripted]\nscript = "{SCRIPT}"\n')
    microphone = write_wav(folder / "microphone.wav", SPOKEN)
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        with chromium(microphone=microphone) as context:
            watched = Watched(context, server.base)
            watched.page.click("#talk")
            expect(watched.page.locator("#trouble")).to_contain_text("The answer failed", timeout=20_000)
            [(_, created)] = watched.received_of("session.created")
            watched.page.click("#talk")
        yield Recorded(server, created["session"]["id"])


@pytest.fixture
def context(request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    with chromium(device=False, **getattr(request, "param", {})) as context:
        yield context


def opened(context: BrowserContext, address: str) -> Page:
    """One session's page, read to its end."""
    page = Watched(context, address).page
    page.wait_for_selector('body[data-state="over"]')
    return page


def test_a_failure_is_found_through_the_pages_alone(recorded: Recorded, context: BrowserContext) -> None:
    watched = Watched(context, f"{recorded.server.base}/")
    page = watched.page
    page.click("text=Sessions")
    page.fill("#search", "mona lisa")
    page.press("#search", "Enter")
    expect(page.locator("#sessions tr")).to_have_count(1)
    expect(page.locator("#sessions .faulty")).to_have_text("2")
    expect(page.locator("#sessions .said")).to_contain_text("who painted the Mona Lisa?")
    page.click("#sessions a")
    page.wait_for_selector('body[data-state="over"]')
    page.click("#fault")
    detail = page.locator("#detail")
    expect(detail.locator("h2")).to_contain_text("UnitRefused")
    expect(detail).to_contain_text("out_of_tune")
    expect(page.locator('.row[aria-selected="true"] .type')).to_have_text("UnitRefused")
    page.click("#fault")
    expect(detail.locator("h2")).to_contain_text("ResponseEnded")
    page.click("#fault")
    page.click('#detail .family button:has-text("ResponseCreated")')
    expect(detail.locator("h2")).to_contain_text("ResponseCreated")
    expect(detail.locator(".family").first).to_contain_text("SpeechStopped")
    page.click("#detail summary")
    expect(detail.locator(".told")).to_contain_text("user: And who painted the Mona Lisa?")
    expect(detail.locator(".told")).to_contain_text("assistant: Paris has been the capital")
    expect(detail.locator(".told")).not_to_contain_text("million people")
    assert watched.complaints == []
    assert watched.violations() == []


def test_both_voices_and_what_nobody_heard_are_seen(recorded: Recorded) -> None:
    with chromium(device=False, color_scheme="light", viewport={"width": 1000, "height": 700}) as context:
        watched = Watched(context, recorded.page)
        watched.page.wait_for_selector('body[data-state="over"]')
        you, it, unheard = (0x2B, 0x4C, 0x7E), (0xA8, 0x32, 0x1F), (0xB9, 0xB0, 0xA3)
        watched.wait_until(lambda: min(watched.colours().get(one, 0) for one in (you, it, unheard)) > 300)


def test_it_is_heard_from_any_point(recorded: Recorded, context: BrowserContext) -> None:
    page = opened(context, recorded.page)
    page.locator("#timeline").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    before = page.locator("#position").inner_text()
    with page.expect_response("**/sound?**") as asked:
        page.click("#listen")
    assert "from_ms=0" not in asked.value.url
    expect(page.locator("#listen")).to_have_text("Pause")
    until(page, f"document.getElementById('position').value > {before!r}")
    page.click("#listen")
    expect(page.locator("#listen")).to_have_text("Listen")


def test_events_are_walked_by_keyboard_and_the_frequent_ones_are_there_too(
    recorded: Recorded, context: BrowserContext
) -> None:
    page = opened(context, recorded.page)
    few = int(page.get_attribute("#events", "aria-rowcount") or 0)
    page.locator("#events").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#detail h2")).to_have_text("0 WriterOpened")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#detail h2")).to_have_text("1 SessionOpened")
    page.check("#everything")
    events = recorded.log().head(SessionId(recorded.session)).next_seq
    [last] = recorded.log().read(SessionId(recorded.session), start=events - 1)
    expect(page.locator("#events")).to_have_attribute("aria-rowcount", str(events))
    assert events > few
    page.keyboard.press("Tab")
    page.locator("#events").focus()
    page.keyboard.press("End")
    expect(page.locator("#detail h2")).to_have_text(f"{events - 1} {type(last.event).__name__}")


def test_what_is_downloaded_is_the_recording(recorded: Recorded, context: BrowserContext) -> None:
    page = opened(context, recorded.page)
    with page.expect_download() as download:
        page.click("#download button")
    assert download.value.suggested_filename == f"{recorded.session}.antiphon.zip"
    names = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())).namelist()
    assert names == ["events.log", "audio.blob", "manifest.json"]


def test_a_session_that_goes_on_is_followed(recorded: Recorded, context: BrowserContext) -> None:
    call = Call(recorded.log(), "sess_goes_on")
    call.hear(500, tone(400 * MS))
    page = Watched(context, f"{recorded.server.base}/sessions/session.html?id=sess_goes_on").page
    page.wait_for_selector('body[data-state="live"]')
    expect(page.locator("#follow")).to_be_visible()
    call.answer(900)
    expect(page.locator('.row[data-type="ResponseCreated"]')).to_be_visible()
    call.hang_up(3_000)
    expect(page.locator('.row[data-type="SessionClosed"]')).to_be_visible()
    page.wait_for_selector('body[data-state="over"]')
    expect(page.locator("#timeline")).to_have_attribute("aria-valuemax", "3000")


def test_an_image_is_seen_with_its_event(recorded: Recorded, context: BrowserContext) -> None:
    shown = io.BytesIO()
    Image.new("RGB", (40, 30), (0, 120, 0)).save(shown, "PNG")
    call = Call(recorded.log(), "sess_seen")
    seen = ImageReceived(media_type="image/png", at_sample=Samples(0))
    call.say(500, seen, shown.getvalue())
    call.hang_up(1_000)
    page = opened(context, f"{recorded.server.base}/sessions/session.html?id=sess_seen")
    page.click('.row[data-type="ImageReceived"]')
    until(page, "document.querySelector('#detail img')?.naturalWidth === 40")


def test_audio_is_erased_only_when_somebody_is_sure(recorded: Recorded, context: BrowserContext) -> None:
    call = Call(recorded.log(), "sess_to_erase")
    call.hear(500, tone(400 * MS))
    call.hang_up(1_000)
    page = opened(context, f"{recorded.server.base}/sessions/session.html?id=sess_to_erase")
    page.click("#erase")
    page.click("#sure button[value=no]")
    expect(page.locator("#sure")).to_be_hidden()
    assert not call.log.head(call.session).erased
    page.click("#erase")
    page.click("#sure button[value=yes]")
    expect(page.locator("#facts")).to_contain_text("audio erased")
    assert call.log.head(call.session).erased


def test_it_takes_an_operators_key_and_keeps_it_in_the_tab(tmp_path: Path, context: BrowserContext) -> None:
    env = {"ANTIPHON_KEYS": "talking", "ANTIPHON_OPERATOR_KEYS": KEY}
    with running(tmp_path / "data", env=env) as server:
        page = Watched(context, f"{server.base}/sessions/").page
        expect(page.locator("#trouble")).to_contain_text("takes an operator's key")
        page.fill("#key", "talking")
        page.press("#key", "Enter")
        expect(page.locator("#key-form")).to_be_visible()
        page.fill("#key", KEY)
        page.press("#key", "Enter")
        expect(page.locator("#state")).to_have_text("There are no sessions yet.")
        assert page.evaluate("[localStorage.length, document.cookie, location.search]") == [0, "", ""]


def test_without_operators_nobody_may_and_that_is_said(tmp_path: Path, context: BrowserContext) -> None:
    with running(tmp_path / "data", env={"ANTIPHON_KEYS": "talking"}) as server:
        page = Watched(context, f"{server.base}/sessions/").page
        expect(page.locator("#trouble")).to_contain_text("the server has no operator keys")
        expect(page.locator("#key-form")).to_be_hidden()


@pytest.mark.parametrize(("device", "width", "height"), [("desktop", 1280, 860), ("phone", 390, 780)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_fit_and_are_pictured(
    recorded: Recorded, tmp_path: Path, scheme: str, device: str, width: int, height: int
) -> None:
    with chromium(device=False, color_scheme=scheme, viewport={"width": width, "height": height}) as context:
        watched = Watched(context, f"{recorded.server.base}/sessions/")
        page = watched.page
        expect(page.locator(f'tr[data-session="{recorded.session}"]')).to_be_visible()
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) == 0
        picture(page, f"sessions-{device}-{scheme}", tmp_path)
        page = opened(context, recorded.page)
        page.click("#fault")
        page.click("#whole")
        expect(page.locator("#detail h2")).to_contain_text("UnitRefused")
        page.wait_for_load_state("networkidle")
        assert page.evaluate(overflow) == 0
        taken = picture(page, f"session-{device}-{scheme}", tmp_path)
        assert taken.stat().st_size < 150_000
        assert watched.complaints == []
