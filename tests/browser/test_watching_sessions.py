"""The sessions pages while things change under them: streams that break, keys that are missing, requests that lag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from antiphon.events.segments.log import SegmentLog
from tests.browser.driving import Watched, chromium, plugged_in
from tests.replay.calls import Call, tone
from tests.serving import RunningServer, running

pytestmark = pytest.mark.browser

MS = 24
KEY = "the-operators-key"
WRITTEN = """
window.written = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
  window.written.push(text);
  return fill.call(this, text, ...where);
};
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("watching") / "data") as server:
        yield server


@pytest.fixture
def context() -> Iterator[BrowserContext]:
    with chromium(device=False) as context:
        yield context


def begun(server: RunningServer, session: str) -> Call:
    """A session that goes on; two of its events are not frequent ones."""
    call = Call(SegmentLog(server.data, deliver=lambda call: call(), slow_limit=10**9), session)
    call.hear(500, tone(400 * MS))
    return call


def looked_into(context: BrowserContext, base: str, session: str) -> Watched:
    watched = Watched(context, f"{base}/sessions/session.html?id={session}")
    watched.page.wait_for_selector('body[data-state="live"]')
    expect(watched.page.locator('.row[data-type="SessionOpened"]')).to_be_visible()
    return watched


def rows(page: Page, count: int) -> None:
    expect(page.locator("#events")).to_have_attribute("aria-rowcount", str(count))


def test_a_stream_that_breaks_is_told_and_gone_on_with_where_it_broke(
    server: RunningServer, context: BrowserContext
) -> None:
    call = begun(server, "sess_cut")
    with plugged_in(server.port) as plug:
        page = looked_into(context, plug.base, "sess_cut").page
        plug.pull()
        expect(page.locator("#trouble")).to_have_text("The server does not answer.")
        plug.put_back()
        call.answer(900)
        expect(page.locator('.row[data-type="ResponseCreated"]')).to_be_visible()
        expect(page.locator("#trouble")).to_be_empty()
        call.hang_up(3_000)
        page.wait_for_selector('body[data-state="over"]')
        rows(page, 4)
        expect(page.locator("#facts")).to_contain_text("5 events")
        expect(page.locator("#facts")).to_contain_text("over")


def test_a_session_that_is_gone_is_not_asked_for_again_and_again(
    server: RunningServer, context: BrowserContext
) -> None:
    begun(server, "sess_gone")
    context.clock.install()
    asked: list[Route] = []

    def refuse(route: Route) -> None:
        asked.append(route)
        route.fulfill(status=404, json={"error": {"code": "no_such_session", "message": "no log"}})

    with plugged_in(server.port) as plug:
        page = looked_into(context, plug.base, "sess_gone").page
        plug.pull()
        expect(page.locator("#trouble")).to_have_text("The server does not answer.")
        page.route("**/follow?**", refuse)
        plug.put_back()
        expect(page.locator("#trouble")).to_contain_text("There is no such session here")
        context.clock.run_for(10_000)
        page.evaluate(
            "fetch('/live').then((answer) => answer.text())"
        )  # behind whatever the page has asked for
        assert len(asked) == 1


def test_a_key_that_is_asked_for_meanwhile_does_not_make_two_watches_of_one(
    tmp_path: Path, context: BrowserContext
) -> None:
    env = {"ANTIPHON_KEYS": "talking", "ANTIPHON_OPERATOR_KEYS": KEY}
    with running(tmp_path / "data", env=env) as server:
        call = begun(server, "sess_keyed")
        page = Watched(context, f"{server.base}/sessions/session.html?id=sess_keyed").page
        page.fill("#key", KEY)
        page.press("#key", "Enter")
        expect(page.locator('.row[data-type="SessionOpened"]')).to_be_visible()
        refused = {"error": {"code": "invalid_api_key", "message": "no"}}
        page.route("**/events?**", lambda route: route.fulfill(status=401, json=refused))
        call.answer(900)
        expect(page.locator("#key-form")).to_be_visible()
        page.unroute("**/events?**")
        page.fill("#key", KEY)
        page.press("#key", "Enter")
        expect(page.locator('.row[data-type="ResponseCreated"]')).to_be_visible()
        call.end_answer(1_000)
        expect(page.locator('.row[data-type="ResponseEnded"]')).to_be_visible()
        rows(page, 4)
        call.hang_up(1_100)
        page.wait_for_selector('body[data-state="over"]')
        rows(page, 5)


def test_an_id_that_is_used_again_is_said_to_be(server: RunningServer, context: BrowserContext) -> None:
    begun(server, "sess_again").hang_up(900)
    page = Watched(context, f"{server.base}/sessions/session.html?id=sess_again").page
    page.wait_for_selector('body[data-state="over"]')
    begun(server, "sess_again").hang_up(700)
    page.click('.row[data-type="SessionOpened"]')
    expect(page.locator("#trouble")).to_contain_text("has been used again")
    expect(page.locator("#detail h2")).to_have_count(0)


def test_rows_stay_until_others_have_come(server: RunningServer, context: BrowserContext) -> None:
    call = begun(server, "sess_rows")
    watched = looked_into(context, server.base, "sess_rows")
    held: list[Route] = []
    watched.page.route("**/events?**", lambda route: held.append(route))
    call.answer(900)
    watched.wait_until(lambda: bool(held))
    rows(watched.page, 3)
    assert watched.page.locator(".row[data-type]").count() == 2
    held[0].continue_()
    watched.page.unroute("**/events?**")
    expect(watched.page.locator('.row[data-type="ResponseCreated"]')).to_be_visible()


def listed(session: str) -> dict[str, object]:
    counts = {"seconds": 1.0, "responses": 0, "interruptions": 0, "faults": 0}
    flags = {"live": False, "damaged": False, "erased": False}
    return {
        "session": session,
        "began": None,
        "dialects": [],
        "ended": "client",
        "said": "",
        **counts,
        **flags,
    }


def test_older_ones_come_though_the_newest_are_looked_at_again_and_again(
    server: RunningServer, context: BrowserContext
) -> None:
    context.clock.install()
    newest: list[Route] = []
    older: list[Route] = []

    def answer(route: Route) -> None:
        [before] = parse_qs(urlsplit(route.request.url).query)["before"]
        (newest if before == "0" else older).append(route)
        if len(newest) == 1 and not older:
            route.fulfill(json={"sessions": [listed("sess_new")], "next": "5", "looked": 1})

    context.route("**/api/logs?**", answer)
    watched = Watched(context, f"{server.base}/sessions/")
    expect(watched.page.locator('tr[data-session="sess_new"]')).to_be_visible()
    context.clock.run_for(10_000)
    watched.wait_until(lambda: len(newest) == 2)
    context.clock.run_for(10_000)
    watched.page.click("#more")
    watched.wait_until(lambda: bool(older))
    context.clock.run_for(10_000)
    older[0].fulfill(json={"sessions": [listed("sess_old")], "next": None, "looked": 1})
    expect(watched.page.locator('tr[data-session="sess_old"]')).to_be_visible()
    expect(watched.page.locator('tr[data-session="sess_new"]')).to_be_visible()
    assert (len(newest), len(older)) == (2, 1)


def test_marks_say_what_they_are_beside_them_and_when_they_are_pointed_at(
    server: RunningServer, context: BrowserContext
) -> None:
    call = begun(server, "sess_marks")
    call.answer(900)
    call.hang_up(3_000)
    context.add_init_script(WRITTEN)
    watched = Watched(context, f"{server.base}/sessions/session.html?id=sess_marks")
    watched.page.wait_for_selector('body[data-state="over"]')
    watched.wait_until(lambda: "answer begins" in watched.page.evaluate("window.written"))
    lanes = watched.page.evaluate(
        "import('/sessions/lanes.js').then((m) => Object.fromEntries(m.layout(Object.keys(m.LABELS)).lanes))"
    )
    timeline = watched.page.locator("#timeline")
    box = timeline.bounding_box()
    assert box is not None
    at = {"x": box["width"] * 900 / (3_000 * 1.02), "y": lanes["decisions"] + 9}
    timeline.hover(position=at)  # type: ignore[arg-type]
    expect(timeline).to_have_attribute("title", re.compile(r"0:00\.9 answer begins"))
    timeline.hover(position=at | {"y": lanes["faults"] + 9})  # type: ignore[arg-type]
    expect(timeline).to_have_attribute("title", "")


WAVES = """
async () => {
  const [{ Waves }, { Range }] = [await import("/sessions/waves.js"), await import("/sessions/range.js")];
  const answers = [];
  const [known, range] = [{ untilMs: 0, isOver: false }, new Range()];
  const waves = new Waves("s", { drawn: () => { told.drawn += 1; see(); }, trouble: () => {} });
  const see = () => waves.want(range, 10, known);
  window.told = { asked: 0, aborted: 0, drawn: 0 };
  window.fetch = (url, { signal }) => new Promise((answer, refuse) => {
    told.asked += 1;
    const abort = () => { told.aborted += 1; refuse(signal.reason); };
    signal.addEventListener("abort", abort);
    answers.push(() => { signal.removeEventListener("abort", abort); answer(new Response(new Uint8Array(30))); });
  });
  window.grow = (untilMs, isOver) => { Object.assign(known, { untilMs, isOver }); range.grow(untilMs, true); see(); };
  window.closer = () => { range.zoom(0.5, 0); see(); };
  window.answer = () => answers.at(-1)();
}
"""


def test_waves_of_what_grows_are_asked_for_once_a_second_and_let_come(
    server: RunningServer, context: BrowserContext
) -> None:
    context.clock.install()
    watched = Watched(context, f"{server.base}/sessions/")
    page = watched.page
    page.evaluate(WAVES)

    def told(member: str) -> int:
        context.clock.run_for(100)
        return int(page.evaluate(f"told.{member}"))

    def grown(ms: int, *, is_over: bool = False) -> int:
        """How often they have been asked for then."""
        page.evaluate(f"grow({ms}, {str(is_over).lower()})")
        return told("asked")

    assert [grown(ms) for ms in (2_500, 2_600, 3_100, 3_900, 4_100)] == [1] * 5
    page.evaluate("answer()")
    watched.wait_until(lambda: told("asked") == 2)
    page.evaluate("answer()")
    watched.wait_until(lambda: told("drawn") == 4)
    assert [grown(ms) for ms in (4_200, 4_900, 5_000)] == [2, 2, 3]
    page.evaluate("answer()")
    watched.wait_until(lambda: told("drawn") == 6)
    assert grown(5_321, is_over=True) == 4
    assert told("aborted") == 0
    page.evaluate("closer()")
    assert (told("asked"), told("aborted")) == (5, 1)
