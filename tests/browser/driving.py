"""Chromium at the page: launched with a WAV as its microphone, watched from the first frame on."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
import wave
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
from playwright.sync_api import BrowserContext, Page, WebSocket, sync_playwright

from tests.clients.faulty_proxy import FaultyProxy, faulty_proxy

CHROMIUM = "/usr/bin/chromium"
QUESTIONS = Path(__file__).resolve().parents[2] / "bench" / "questions"
RATE = 16000
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
    "--host-resolver-rules=MAP antiphon.test 127.0.0.1",
)
WATCH = """
window.violations = [];
window.levels = { your: [], its: [] };
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
document.addEventListener("DOMContentLoaded", () => {
  for (const [side, seen] of Object.entries(window.levels)) {
    const meter = document.getElementById(`${side}-level`);
    if (meter) {
      new MutationObserver(() => seen.push(Number(meter.ariaValueNow))).observe(meter, { attributes: true });
    }
  }
});
"""
COLOURS = """async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height);
  const seen = {};
  for (let k = 0; k < data.length; k += 4) {
    const colour = [data[k], data[k + 1], data[k + 2]].join();
    seen[colour] = (seen[colour] ?? 0) + 1;
  }
  return seen;
}"""


def speech(*parts: str | float) -> np.ndarray:
    """Questions by their number, and silences in seconds."""
    return np.concatenate([_question(one) if isinstance(one, str) else _silence(one) for one in parts])


def _question(number: str) -> np.ndarray:
    with wave.open(str(next(QUESTIONS.glob(f"{number}-*.wav")))) as file:
        assert file.getframerate() == RATE
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")


def _silence(seconds: float) -> np.ndarray:
    return np.zeros(int(RATE * seconds), dtype="<i2")


def write_wav(path: Path, samples: np.ndarray) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())
    return path


@contextlib.contextmanager
def chromium(
    *, microphone: Path | None = None, device: bool = True, **options: Any
) -> Iterator[BrowserContext]:
    """A fresh browser. `microphone`: what is spoken, once, into a microphone that may be used; without it,
    a microphone that nobody has allowed; without `device`, none at all."""
    flags = [*FLAGS]
    if device:
        flags.append("--use-fake-device-for-media-stream")
    if microphone is not None:
        flags += [
            "--use-fake-ui-for-media-stream",
            f"--use-file-for-fake-audio-capture={microphone}%noloop",
        ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=flags)
        try:
            yield browser.new_context(**options)
        finally:
            browser.close()


class Plug:
    """What stands between the page and the server: `base` is where the page finds it."""

    def __init__(self, proxy: FaultyProxy, loop: asyncio.AbstractEventLoop) -> None:
        self._proxy, self._loop = proxy, loop
        self.base = f"http://127.0.0.1:{proxy.port}"

    def pull(self) -> None:
        """Nothing is connected any more, and nothing can be."""
        self._do(self._pull)

    def put_back(self) -> None:
        self._do(lambda: setattr(self._proxy, "refusing", False))

    def hang(self) -> None:
        """Nothing passes by the connections that there are, and nobody is told."""
        self._do(self._proxy.stall)

    def _pull(self) -> None:
        self._proxy.refusing = True
        self._proxy.reset()

    def _do(self, what: Callable[[], object]) -> None:
        async def on_its_loop() -> None:
            what()

        asyncio.run_coroutine_threadsafe(on_its_loop(), self._loop).result(10)


@contextlib.contextmanager
def plugged_in(port: int) -> Iterator[Plug]:
    """A proxy before the server on that port. It runs in a thread: the browser's driver has the main one."""
    plugs: Queue[tuple[Plug, asyncio.Event]] = Queue()

    async def stand_between() -> None:
        over = asyncio.Event()
        async with faulty_proxy(port) as proxy:
            plugs.put((Plug(proxy, asyncio.get_running_loop()), over))
            await over.wait()

    with ThreadPoolExecutor(1) as thread:
        standing = thread.submit(asyncio.run, stand_between())
        plug, over = plugs.get(timeout=10)
        try:
            yield plug
        finally:
            plug._loop.call_soon_threadsafe(over.set)
            standing.result(10)


def until(page: Page, expression: str, seconds: float = 20.0) -> None:
    """Look again until a JavaScript expression is true: the page's policy forbids Playwright's own waiting."""
    began = time.monotonic()
    while not page.evaluate(expression):
        assert time.monotonic() - began < seconds, f"not so within {seconds} s: {expression}"
        page.wait_for_timeout(20)


def choose(page: Page, protocol: str, voice: str = "") -> None:
    """The protocol of "both at once", and the voice."""
    page.click("summary:has-text('Settings') >> nth=0")
    page.select_option("#dialect", protocol)
    page.fill("#voice", voice)


class Watched:
    """A page with a record of its frames and its complaints. Times are seconds of the monotonic clock."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.sent: list[tuple[float, dict[str, Any]]] = []
        self.received: list[tuple[float, dict[str, Any]]] = []
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.add_init_script(WATCH)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("websocket", self._watch)
        self.page.goto(address)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda text: self.sent.append((time.monotonic(), json.loads(text))))
        socket.on("framereceived", lambda text: self.received.append((time.monotonic(), json.loads(text))))

    def sent_of(self, kind: str) -> list[tuple[float, dict[str, Any]]]:
        return [(at, frame) for at, frame in self.sent if frame["type"] == kind]

    def received_of(self, kind: str) -> list[tuple[float, dict[str, Any]]]:
        return [(at, frame) for at, frame in self.received if frame["type"] == kind]

    def microphone(self) -> np.ndarray:
        """All audio sent so far, at 24 kHz."""
        pieces = [base64.b64decode(frame["audio"]) for _, frame in self.sent_of("input_audio_buffer.append")]
        return np.frombuffer(b"".join(pieces), dtype="<i2")

    def wait_until(self, condition: Callable[[], bool], seconds: float = 20.0) -> None:
        """Ask again until the condition holds."""
        began = time.monotonic()
        while not condition():
            assert time.monotonic() - began < seconds, f"not so within {seconds} s"
            self.page.wait_for_timeout(20)

    def phase_is(self, name: str) -> None:
        self.page.wait_for_selector(f'body[data-phase="{name}"]')

    def violations(self) -> list[str]:
        return list(self.page.evaluate("window.violations"))

    def levels(self, side: str) -> list[int]:
        """Every value that the meter has shown."""
        return list(self.page.evaluate(f"window.levels.{side}"))

    def colours(self) -> dict[tuple[int, ...], int]:
        """What the page looks like: its colours, with the number of their pixels."""
        picture = base64.b64encode(self.page.screenshot()).decode()
        blank = self.page.context.new_page()  # the page's own policy would not let it look at itself
        counted = blank.evaluate(COLOURS, picture)
        blank.close()
        return {tuple(map(int, colour.split(","))): pixels for colour, pixels in counted.items()}
