"""What a live video costs: the filter's CPU per image, the memory of a long stream, and an interruption.

    python -m bench.video             500 images, 10 minutes at 30 images a second, 50 interruptions
    python -m bench.video --short     50, 10 seconds, 5

Images are JPEGs of 1280 x 720, all different. CPU is that of the thread which decodes and compares. Memory is
the serving process's, from WARM_S after the first image on, with a question every ASK_EVERY_S. An
interruption is counted from the second question to the end of the answer to the first. The chat server behind
it is a stub in this process that writes a word every 20 ms.
"""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import numpy as np
from PIL import Image
from websockets.asyncio.client import ClientConnection, connect

from antiphon.media.similarity import similarity, thumbnail
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.processes import resident_bytes, serving_process
from bench.server import Server

FILTER_MS, GROWTH_MIB, INTERRUPTED_MS = 1.5, 64.0, 50.0
RATE, WARM_S, ASK_EVERY_S = 30, 5.0, 10.0
POOL = 60


@click.command()
@click.option("--short", is_flag=True, help="Little of everything: whether it works at all.")
@click.option("--minutes", type=float, help="How long the stream is (10).")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(short: bool, minutes: float | None, json_path: Path | None) -> None:
    images = [_jpeg(seed) for seed in range(POOL)]
    seconds = 60 * minutes if minutes is not None else 10.0 if short else 600.0
    figures = [_filter_cpu(images, 50 if short else 500)]
    with _chat() as url, tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "antiphon.toml"
        config.write_text("[stage.chat]\nllm_sees = true\n")
        arguments = ("--config", str(config), "--llm-url", url, "--llm-model", "stub")
        server = Server("chat", Path(folder), *arguments)
        try:
            server.answered("/health")
            figures += asyncio.run(_measured(server, images, seconds, 5 if short else 50))
        finally:
            server.stop()
    show(figures)
    write_json(json_path, machine=machine(), figures=figures)
    sys.exit(0 if all(figure.met is not False for figure in figures) else 1)


def _jpeg(seed: int) -> bytes:
    """Soft shapes with some grain: about as large as a camera's."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (18, 32, 3), dtype=np.uint8), "RGB")
    pixels = np.asarray(small.resize((1280, 720), Image.Resampling.BICUBIC), np.int16)
    grain = rng.integers(-6, 7, pixels.shape, dtype=np.int16)
    file = io.BytesIO()
    Image.fromarray(np.clip(pixels + grain, 0, 255).astype(np.uint8), "RGB").save(file, "JPEG", quality=80)
    return file.getvalue()


def _filter_cpu(images: list[bytes], count: int) -> Figure:
    kept, taken = thumbnail(images[0]), []
    for contents in itertools.islice(itertools.cycle(images), count):
        began = time.thread_time_ns()
        seen = thumbnail(contents)
        similarity(seen, kept)
        taken.append((time.thread_time_ns() - began) / 1e6)
        kept = seen
    return Figure("filter, CPU per image, median", quantile(taken, 0.5), "ms", FILTER_MS, count)


async def _measured(server: Server, images: list[bytes], seconds: float, interruptions: int) -> list[Figure]:
    url = f"ws://127.0.0.1:{server.port}/v1/video/chat/stream"
    taken = await _interrupted(url, images[0], interruptions)
    grown, acked, sent = await _streamed(url, images, seconds, serving_process(server.pid))
    return [
        Figure(
            "interruption to the answer's end, p50", quantile(taken, 0.5), "ms", INTERRUPTED_MS, len(taken)
        ),
        Figure("interruption to the answer's end, max", max(taken), "ms", INTERRUPTED_MS, len(taken)),
        Figure(f"memory grown in {seconds:g} s at {RATE} images/s", grown, "MiB", GROWTH_MIB, sent),
        Figure("images acknowledged", 100 * acked / sent, "%", 100.0, sent, at_least=True),
    ]


async def _send(socket: ClientConnection, kind: str, **members: Any) -> None:
    await socket.send(json.dumps({"type": kind, **members}))


async def _until(socket: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == kind:
            return frame


async def _interrupted(url: str, image: bytes, count: int) -> list[float]:
    taken: list[float] = []
    async with connect(url, proxy=None, max_size=None) as socket:
        await _send(socket, "session.config")
        await _send(socket, "video.frame", data=base64.b64encode(image).decode())
        await _send(socket, "video.query", text="go on")
        for _ in range(count):
            await _until(socket, "response.text.delta")
            began = time.monotonic()
            await _send(socket, "video.query", text="go on")
            ended = await _until(socket, "response.text.done")
            assert ended["status"] == "interrupted", ended
            taken.append((time.monotonic() - began) * 1e3)
    return taken


async def _streamed(url: str, images: list[bytes], seconds: float, pid: int) -> tuple[float, int, int]:
    """MiB that the process has grown by, and how many images were acknowledged, of how many."""
    encoded = [base64.b64encode(contents).decode() for contents in images]
    acked = sent = 0
    at_first: int | None = None
    loop = asyncio.get_running_loop()

    async def read(socket: ClientConnection) -> None:
        nonlocal acked
        async for text in socket:
            acked += "video.frame.ack" in str(text)

    async with connect(url, proxy=None, max_size=None) as socket:
        await _send(socket, "session.config")
        reading = asyncio.create_task(read(socket))
        began, asked = loop.time(), 0.0
        while (now := loop.time() - began) < seconds + WARM_S:
            if at_first is None and now >= WARM_S:
                at_first = resident_bytes(pid)
            await _send(socket, "video.frame", data=encoded[sent % POOL], frame_id=f"f{sent}")
            sent += 1
            if now - asked >= ASK_EVERY_S:
                asked = now
                await _send(socket, "video.query", text="go on")
            await asyncio.sleep(max(began + sent / RATE - loop.time(), 0))
        grown = resident_bytes(pid) - (at_first or 0)
        await _send(socket, "video.done")
        await reading
    return grown / 2**20, acked, sent


class _Words(BaseHTTPRequestHandler):
    """A word every 20 ms, fifty of them, or until nobody listens any more."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            for n in range(50):
                chunk = json.dumps({"choices": [{"delta": {"content": f"word{n} "}}]})
                self.wfile.write(f"data: {chunk}\n\n".encode())
                time.sleep(0.02)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            return

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def _chat() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Words)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


if __name__ == "__main__":
    main()
