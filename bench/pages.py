"""What the pages do in Chromium: how soon an hour can be looked into, how soon an answer falls silent.

    python -m bench.pages               an hour, five times; an interruption, five times
    python -m bench.pages --short       two minutes, once: whether it works

A session's page is interactive when its first events are there and one that was clicked is shown whole. An
answer is silent when what leaves the page's last node is zero, after the frame that says that the user speaks
has arrived: the page's own fade and the window in which that is measured (10 ms) are part of it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from playwright.sync_api import BrowserContext, WebSocketRoute, sync_playwright

from antiphon.events.segments.log import SegmentLog
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.replay import SESSION, Call
from bench.server import Server

CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--autoplay-policy=no-user-gesture-required")
SCRIPT = """
[[replies]]
to = "speak"
[[replies.steps]]
says = { type = "said", text = "A long answer.", tone_hz = 330, tone_ms = 20000 }
[[replies.steps]]
says = { type = "finished" }
last = true
"""
SPEECH = '{"type": "input_audio_buffer.speech_started", "event_id": "event_speech", "item_id": "item_1"}'
LISTEN = """
window.silentMs = new Promise((told) => {
  const connect = AudioNode.prototype.connect;
  AudioNode.prototype.connect = function (to, ...more) {
    if (to === this.context.destination && this instanceof AnalyserNode) {
      const last = new AnalyserNode(this.context, { fftSize: 256 });
      connect.call(this, last);
      window.quiet = () => {
        const samples = new Float32Array(256);
        last.getFloatTimeDomainData(samples);
        return samples.every((one) => one === 0);
      };
    }
    return connect.call(this, to, ...more);
  };
  const parse = JSON.parse;
  JSON.parse = function (text) {
    const frame = parse(text);
    if (frame?.type === "input_audio_buffer.speech_started") {
      const began = performance.now();
      const look = () => (window.quiet() ? told(performance.now() - began) : setTimeout(look, 1));
      look();
    }
    return frame;
  };
});
"""


@click.command()
@click.option("--short", is_flag=True, help="Whether it works: once, and two minutes of a call.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(short: bool, json_path: Path | None) -> None:
    """Look into a long session, and break in on answers, in Chromium."""
    on, runs = machine(), 1 if short else 5
    click.echo(on)
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        opened = _looked_into(Path(folder) / "hour", 2 if short else 60, runs)
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        silent = _broken_in_on(Path(folder), runs)
    interactive = quantile([first for first, _ in opened], 0.5)
    figures = [
        Figure("an hour's page: interactive, cold", opened[0][0], "s", 2.0, 1),
        Figure("an hour's page: interactive, median", interactive, "s", 2.0, runs),
        Figure("an hour's page: all of its course, cold", opened[0][1], "s", None, 1),
        Figure("an interruption: silent after its frame", quantile(silent, 0.5), "ms", 100, runs),
        Figure("an interruption: the slowest", max(silent), "ms", 100, runs),
    ]
    show(figures)
    write_json(json_path, machine=on, figures=figures)


def _looked_into(folder: Path, minutes: int, runs: int) -> list[tuple[float, float]]:
    """Seconds until the page is interactive, and until it has all of the course."""
    log = SegmentLog(folder / "data", deliver=lambda call: call(), slow_limit=10**9)
    Call(log).speak(minutes * 60_000)
    found = []
    with _serving("echo", folder) as server, _chromium() as context:
        for _ in range(runs):
            page = context.new_page()
            began = time.perf_counter()
            page.goto(f"{server.base}/sessions/session.html?id={SESSION}")
            page.click(".row[data-type] >> nth=2")
            page.wait_for_selector("#detail h2")
            interactive = time.perf_counter() - began
            page.wait_for_selector('body:is([data-state="live"], [data-state="over"])')
            found.append((interactive, time.perf_counter() - began))
            page.close()
    return found


def _broken_in_on(folder: Path, runs: int) -> list[float]:
    """Milliseconds until an answer is silent."""
    script = folder / "script.toml"
    script.write_text(SCRIPT)
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{script}"\n')
    found = []
    with _serving("scripted", folder, "--config", str(config)) as server, _chromium() as context:
        context.add_init_script(LISTEN)
        for _ in range(runs):
            page = context.new_page()
            sockets: list[WebSocketRoute] = []

            def between(socket: WebSocketRoute, sockets: list[WebSocketRoute] = sockets) -> None:
                socket.connect_to_server()
                sockets.append(socket)

            page.route_web_socket("**/v1/realtime", between)
            page.goto(server.base)
            page.fill("#message", "Tell me")
            page.press("#message", "Enter")
            page.wait_for_selector('body[data-phase="speaking"]')
            page.wait_for_timeout(500)
            sockets[0].send(SPEECH)
            found.append(float(page.evaluate("window.silentMs")))
            page.close()
    return found


@contextmanager
def _serving(stage: str, folder: Path, *arguments: str) -> Iterator[Server]:
    server = Server(stage, folder, *arguments)
    try:
        server.answered("/health")
        yield server
    finally:
        server.stop()


@contextmanager
def _chromium() -> Iterator[BrowserContext]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser.new_context(viewport={"width": 1280, "height": 900})
        finally:
            browser.close()


if __name__ == "__main__":
    main()
