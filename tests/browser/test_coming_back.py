"""The page comes back: after a pulled plug, a restart of the server, a reload; and says so when it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from bench.ports import free_port
from tests.browser.driving import Plug, Watched, chromium, plugged_in, speech, until, write_wav
from tests.serving import RunningServer, running

pytestmark = pytest.mark.browser

SCRIPT = Path(__file__).resolve().parent / "counting_script.toml"
COUNT = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
RESTORING = "Restoring the connection"
HEARD = "document.querySelector('.it:last-child .heard')?.textContent.split(' ').length > {}"
COUNT_PLAYED = """
window.played = 0;
const start = AudioBufferSourceNode.prototype.start;
AudioBufferSourceNode.prototype.start = function (...when) {
  window.played += this.buffer.length;
  return start.apply(this, when);
};
"""


def settings(folder: Path, limits: str = "") -> str:
    config = folder / "antiphon.toml"
    config.write_text(
        f'[stage]\nuse = "scripted"\n[stage.scripted]\nscript = "{SCRIPT}"\n[duplex_session]\n{limits}\n'
    )
    return str(config)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("counting")
    with running(folder / "data", "--config", settings(folder), stage="scripted") as server:
        yield server


@pytest.fixture
def plug(counting: RunningServer) -> Iterator[Plug]:
    with plugged_in(counting.port) as plug:
        yield plug


@pytest.fixture
def watched(plug: Plug) -> Iterator[Watched]:
    """A page without a microphone, behind the plug."""
    with chromium(device=False) as context:
        context.add_init_script(COUNT_PLAYED)
        yield Watched(context, plug.base)


def say(page: Page, text: str) -> None:
    page.fill("#message", text)
    page.press("#message", "Enter")


def ask(page: Page, words: int = 3) -> None:
    """For a count, and listen to so many words of it."""
    say(page, "Count")
    until(page, HEARD.format(words))


def answers(page: Page) -> Locator:
    return page.locator("#transcript .it .words")


def kept(page: Page) -> Any:
    return json.loads(page.evaluate("sessionStorage.getItem('antiphon.conversation')"))


def counted_to_its_end(watched: Watched) -> None:
    """Every word is there once, and was heard; every frame came."""
    expect(answers(watched.page).last).to_have_text(COUNT, timeout=20_000)
    watched.phase_is("listening")
    expect(watched.page.locator("#transcript .it .heard").last).to_have_text(COUNT)
    expect(watched.page.locator("#transcript .it").last).to_have_attribute("data-state", "done")
    spoken = [frame["delta"] for _, frame in watched.received_of("response.output_audio_transcript.delta")]
    assert "".join(spoken).split() == COUNT.split()


def test_an_answer_goes_on_at_the_next_word_after_a_pulled_plug(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page)
    plug.pull()
    watched.phase_is("restoring")
    expect(page.get_by_role("status")).to_have_text(RESTORING)
    expect(page.get_by_role("alert")).to_contain_text("is being restored")
    expect(page.locator("#talk")).to_have_text("Stop")
    plug.put_back()
    counted_to_its_end(watched)
    expect(page.locator("#trouble")).to_have_text("")
    expect(answers(page)).to_have_count(1)
    fresh, back = [frame["session"] for _, frame in watched.received_of("session.created")]
    assert (back["id"], back["resumed"]) == (fresh["id"], True)


def test_what_was_received_plays_on_without_a_connection(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page, 1)
    plug.pull()
    watched.phase_is("restoring")
    before = page.evaluate("window.levels.its.length")
    until(page, f"window.levels.its.slice({before}).some((level) => level > 30)")
    plug.put_back()
    counted_to_its_end(watched)


def test_what_is_typed_without_a_connection_is_sent_when_there_is_one(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page)
    plug.pull()
    watched.phase_is("restoring")
    say(page, "Once more")
    expect(page.locator("#transcript .it").first).to_have_attribute("data-state", "cut")
    plug.put_back()
    expect(answers(page)).to_have_count(2)
    expect(answers(page).last).to_have_text(COUNT, timeout=20_000)
    watched.phase_is("listening")
    assert len(watched.received_of("response.created")) == 2
    assert len(watched.sent_of("conversation.item.create")) == 2
    assert watched.sent_of("conversation.item.truncate")


def test_what_is_lost_on_its_way_is_sent_again_and_answered_once(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page)
    counted_to_its_end(watched)
    plug.hang()
    say(page, "Once more")
    plug.pull()
    watched.phase_is("restoring")
    plug.put_back()
    expect(answers(page).last).to_have_text(COUNT, timeout=20_000)
    expect(answers(page)).to_have_count(2)
    watched.phase_is("listening")
    assert len(watched.received_of("response.created")) == 2
    first, again, once_more = [
        frame["item"]["id"] for _, frame in watched.sent_of("conversation.item.create")
    ]
    assert again == once_more != first


def test_a_browser_that_goes_offline_does_not_wait_for_its_socket(watched: Watched) -> None:
    page = watched.page
    ask(page)
    page.context.set_offline(True)
    watched.phase_is("restoring")
    page.context.set_offline(False)
    counted_to_its_end(watched)


STUB_SOCKETS = """async (takes) => {
  const sockets = [];
  window.WebSocket = class {
    static OPEN = 1;
    readyState = 1;
    bufferedAmount = 0;
    constructor(url) { this.url = String(url); sockets.push(this); }
    send(text) { this.bufferedAmount += text.length; }
    close(code) { this.closed = code; }
  };
  const { Line } = await import("/line.js");
  window.seen = { lost: 0, sockets };
  const ignore = () => {};
  const line = new Line("", null, { event: ignore, back: ignore, ended: ignore, lost: () => void window.seen.lost++ });
  const session = { id: "sess_1", resume_token: "t" };
  sockets[0].onopen();
  sockets[0].onmessage({ data: JSON.stringify({ type: "session.created", event_id: "event_64", session }) });
  setInterval(() => {
    line.stream({ type: "input_audio_buffer.append", audio: "A".repeat(100) });
    sockets[0].bufferedAmount -= takes;
  }, 60);
}"""


@pytest.mark.parametrize(("takes", "hangs"), [(0, True), (1, False)])
def test_a_connection_that_takes_nothing_any_more_is_given_up_and_a_slow_one_is_not(
    watched: Watched, takes: int, hangs: bool
) -> None:
    """The sockets are stubs, of which so many bytes are taken every 60 ms."""
    page = watched.page
    page.clock.install()
    page.evaluate(STUB_SOCKETS, takes)
    page.clock.run_for(8_000)
    assert page.evaluate("window.seen.lost") == hangs
    assert page.evaluate("window.seen.sockets.length") == 1 + hangs
    if hangs:
        assert page.evaluate("window.seen.sockets[0].closed") == 3001
        query = page.evaluate("new URL(window.seen.sockets[1].url).search")
        assert query == "?session_id=sess_1&resume_token=t&after=64"


def test_what_is_said_without_a_connection_is_not_sent_later(plug: Plug, tmp_path: Path) -> None:
    with chromium(microphone=write_wav(tmp_path / "silence.wav", speech(1.0))) as context:
        watched = Watched(context, plug.base)
        page = watched.page
        page.click("#talk")
        watched.phase_is("listening")
        watched.wait_until(lambda: len(watched.microphone()) > 12000)
        plug.pull()
        expect(page.locator("#trouble")).to_contain_text("is being restored")
        plug.put_back()
        expect(page.locator("#trouble")).to_contain_text("What you said meanwhile was not heard.")
        expect(page.locator("#phase")).to_have_text("Listening")
        before = len(watched.sent)
        watched.wait_until(lambda: len(watched.sent) > before + 10)
        times = [at for at, _ in watched.sent_of("input_audio_buffer.append")]
        gap = max(later - at for at, later in pairwise(times))
        assert gap > 1
        assert len(watched.microphone()) / 24000 == pytest.approx(times[-1] - times[0] - gap, abs=0.5)


def test_a_conversation_goes_on_after_the_server_was_killed(tmp_path: Path) -> None:
    port, config = free_port(), settings(tmp_path)
    options: Any = {"stage": "scripted", "port": port}
    with chromium(device=False) as context:
        with running(tmp_path / "data", "--config", config, **options) as server:
            watched = Watched(context, server.base)
            ask(watched.page)
            server.kill()
            watched.phase_is("restoring")
        with running(tmp_path / "data", "--config", config, **options):
            counted_to_its_end(watched)
            say(watched.page, "Once more")
            expect(answers(watched.page).last).to_have_text(COUNT, timeout=20_000)
            expect(answers(watched.page)).to_have_count(2)
            watched.page.click("#talk")


def test_a_reload_goes_on_with_the_conversation(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page)
    page.reload()
    assert page.url == f"{plug.base}/"
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    expect(page.locator("#transcript .you .words")).to_have_text("Count")
    expect(answers(page)).to_have_text(COUNT, timeout=20_000)
    watched.phase_is("listening")
    expect(page.locator("#transcript .it .heard")).to_have_text(COUNT)
    assert page.evaluate("window.played") < 24000 * 0.3 * (20 - 2), "what was heard is not played again"
    say(page, "Once more")
    expect(answers(page).last).to_have_text(COUNT, timeout=20_000)
    expect(page.locator("#transcript li")).to_have_count(4)
    fresh, *others = [frame["session"] for _, frame in watched.received_of("session.created")]
    assert {one["id"] for one in others} == {fresh["id"]}
    assert watched.complaints == []


def test_who_goes_elsewhere_and_comes_back_finds_the_conversation(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page)
    page.goto(f"{plug.base}/theme.css")
    page.goto(plug.base)
    expect(page.locator("#transcript .it .heard")).to_have_text(COUNT, timeout=20_000)


def test_a_frame_that_comes_twice_counts_once(watched: Watched) -> None:
    page = watched.page

    def twice(socket: WebSocketRoute) -> None:
        def double(text: str | bytes) -> None:
            socket.send(text)
            socket.send(text)

        socket.connect_to_server().on_message(double)

    page.route_web_socket("**/v1/realtime", twice)
    ask(page)
    expect(answers(page)).to_have_text(COUNT, timeout=20_000)
    watched.phase_is("listening")
    assert page.evaluate("window.played") == pytest.approx(24000 * 0.3 * 20, rel=0.1)


def test_nothing_is_kept_of_a_conversation_that_is_over(watched: Watched) -> None:
    page = watched.page
    ask(page)
    until(page, "sessionStorage.getItem('antiphon.conversation') !== null")
    page.click("#talk")
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    expect(page.locator("#phase")).to_have_text("Not connected")


def test_a_microphone_that_was_muted_is_muted_after_a_reload(plug: Plug, tmp_path: Path) -> None:
    with chromium(microphone=write_wav(tmp_path / "speech.wav", speech(3.0, *["01"] * 20))) as context:
        watched = Watched(context, plug.base)
        page = watched.page
        page.click("#talk")
        watched.phase_is("listening")
        page.click("#mute")
        muted_at = len(watched.microphone()) + 2 * 1440
        page.reload()
        watched.phase_is("listening")
        expect(page.locator("#mute")).to_have_attribute("aria-pressed", "true")
        expect(page.locator('[name="source"][value="microphone"]')).to_be_checked()
        watched.wait_until(lambda: len(watched.microphone()) > muted_at + 24000)
        assert not watched.microphone()[muted_at:].any()
        page.click("#mute")
        watched.wait_until(lambda: bool(watched.microphone()[muted_at:].any()))


def test_another_tab_that_takes_the_conversation_over_is_named(plug: Plug, watched: Watched) -> None:
    page = watched.page
    ask(page)
    with page.context.expect_page() as opened:
        page.evaluate(
            "void window.open(location.href)"
        )  # like a tab that is duplicated, with its sessionStorage
    expect(page.locator("#trouble")).to_contain_text("in another window or on another device")
    expect(page.locator("#phase")).to_have_text("Stopped")
    assert page.evaluate("sessionStorage.length") == 0
    second = opened.value
    expect(answers(second)).to_have_text(COUNT, timeout=20_000)
    expect(second.locator("#phase")).to_have_text("Ready", timeout=20_000)


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("token", "guessed", "it may go on in another window"),
        ("session", "sess_nobody", "without a connection for too long"),
    ],
)
def test_who_may_not_come_back_is_told_why(
    plug: Plug, watched: Watched, member: str, value: str, words: str
) -> None:
    page = watched.page
    ask(page)
    page.goto(f"{plug.base}/theme.css")
    changed = kept(page)
    changed["place"][member] = value
    page.evaluate("(text) => sessionStorage.setItem('antiphon.conversation', text)", json.dumps(changed))
    page.goto(plug.base)
    expect(page.locator("#trouble")).to_contain_text(words)
    expect(page.locator("#phase")).to_have_text("Stopped")
    expect(page.locator("#key-form")).to_be_hidden()
    expect(page.locator("#transcript .you .words")).to_have_text("Count")
    assert page.evaluate("sessionStorage.length") == 0


def test_who_comes_back_too_late_is_told_so(tmp_path: Path) -> None:
    limits = "disconnect_grace_s = 0.1\nreaper_interval_s = 0.1"
    with (
        running(tmp_path / "data", "--config", settings(tmp_path, limits), stage="scripted") as server,
        plugged_in(server.port) as plug,
        chromium(device=False) as context,
    ):
        page = Watched(context, plug.base).page
        ask(page)
        plug.pull()
        expect(page.locator("#trouble")).to_contain_text("is being restored")
        plug.put_back()
        expect(page.locator("#trouble")).to_contain_text("without a connection for too long")
        expect(page.locator("#phase")).to_have_text("Stopped")
        expect(page.locator("#talk")).to_have_text("Talk")
