"""What a person is told when something is missing, closed or still on its way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.browser.driving import Watched, chromium, speech, write_wav
from tests.serving import RunningServer, running

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def silence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wav(tmp_path_factory.mktemp("silence") / "silence.wav", speech(1.0))


@pytest.fixture
def quiet_page(live_server: str, silence: Path) -> Iterator[Page]:
    """With a microphone into which nobody speaks."""
    with chromium(microphone=silence) as context:
        yield Watched(context, live_server).page


def test_a_refused_microphone_is_explained_and_holds_no_session(live_server: str) -> None:
    with chromium() as context:
        watched = Watched(context, live_server)
        watched.page.click("#talk")
        expect(watched.page.locator("#trouble")).to_contain_text("The microphone was refused")
        expect(watched.page.locator("#trouble")).to_contain_text("You can still type")
        watched.phase_is("error")
        assert watched.sent == []


def test_a_missing_microphone_is_explained(live_server: str) -> None:
    with chromium(device=False) as context:
        context.grant_permissions(["microphone"])
        watched = Watched(context, live_server)
        watched.page.click("#talk")
        expect(watched.page.locator("#trouble")).to_contain_text("No microphone was found")


def test_an_insecure_origin_is_explained_and_typing_still_works(server: RunningServer) -> None:
    with chromium() as context:
        watched = Watched(context, f"http://antiphon.test:{server.port}")
        page = watched.page
        page.click("#talk")
        expect(page.locator("#trouble")).to_contain_text("only to pages from https or from localhost")
        page.fill("#message", "Can you hear me?")
        page.press("#message", "Enter")
        watched.phase_is("speaking")
        assert watched.received_of("response.output_audio.delta")
        assert watched.complaints == []


def test_a_server_that_loads_is_waited_for(quiet_page: Page) -> None:
    loading = {"status": "loading", "stages": {"model": {"state": "loading", "progress": "reading weights"}}}
    looks = 0

    def health(route: Route) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            route.fulfill(status=503, json=loading)
        else:
            route.continue_()

    quiet_page.route("**/health", health)
    quiet_page.click("#talk")
    expect(quiet_page.locator("#phase")).to_have_text("The server is loading")
    expect(quiet_page.locator("#loading li")).to_have_text("model: loading, reading weights")
    expect(quiet_page.locator("#phase")).to_have_text("Listening")
    expect(quiet_page.locator("#loading")).to_be_hidden()


def test_a_server_that_is_gone_is_said_to_be_gone(quiet_page: Page) -> None:
    quiet_page.route("**/health", lambda route: route.abort())
    quiet_page.click("#talk")
    expect(quiet_page.locator("#trouble")).to_contain_text("The server does not answer")


def test_a_full_server_says_so(quiet_page: Page) -> None:
    def full(socket: WebSocketRoute) -> None:
        error = {"type": "rate_limit_error", "code": "resource_exhausted", "message": "sessions: 1 of 1"}
        socket.send(json.dumps({"type": "error", "event_id": "event_1", "error": error}))
        socket.close(code=1013, reason="resource_exhausted")

    quiet_page.route_web_socket("**/v1/realtime", full)
    quiet_page.click("#talk")
    expect(quiet_page.locator("#trouble")).to_have_text("The server is at capacity. Try again in a moment.")
    expect(quiet_page.locator("#phase")).to_have_text("Stopped")
    expect(quiet_page.locator("#talk")).to_have_text("Talk")


@pytest.mark.parametrize(
    ("code", "words"), [(1012, "The server is restarting"), (3000, "The connection was lost")]
)
def test_a_connection_that_is_lost_for_good_is_seen(quiet_page: Page, code: int, words: str) -> None:
    sockets: list[WebSocketRoute] = []

    def once(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if len(sockets) == 1:
            socket.connect_to_server()
        else:
            socket.close(code=1013)

    quiet_page.clock.install()
    quiet_page.route_web_socket("**/v1/realtime**", once)
    quiet_page.click("#talk")
    expect(quiet_page.locator("#phase")).to_have_text("Listening")
    sockets[0].close(code=code)
    expect(quiet_page.locator("#phase")).to_have_text("Restoring the connection")
    quiet_page.clock.fast_forward(31_000)
    expect(quiet_page.locator("#trouble")).to_contain_text(words)
    expect(quiet_page.locator("#phase")).to_have_text("Stopped")


def test_a_server_with_keys_asks_for_one_and_keeps_it_in_the_tab(tmp_path: Path, silence: Path) -> None:
    with (
        # Of the echo, which answers silence too, a page that listens is seen for a moment only.
        running(tmp_path / "data", stage="scripted", env={"ANTIPHON_KEYS": "a-key-of-ours"}) as server,
        chromium(microphone=silence) as context,
    ):
        page = Watched(context, server.base).page
        expect(page.locator("#key-form")).to_be_hidden()
        page.click("#talk")
        expect(page.locator("#trouble")).to_contain_text("If it wants a key, type it below.")
        page.fill("#key", "not the key")
        page.press("#key", "Enter")
        expect(page.locator("#trouble")).to_contain_text("cannot send")
        page.fill("#key", "another-key")
        page.press("#key", "Enter")
        expect(page.locator("#trouble")).to_contain_text("Check the key")
        page.fill("#key", "a-key-of-ours")
        page.press("#key", "Enter")
        expect(page.locator("#phase")).to_have_text("Listening")
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        page.click("#talk")
        page.reload()
        expect(page.locator("#phase")).to_have_text("Not connected")
        page.click("#talk")
        expect(page.locator("#phase")).to_have_text("Listening")
