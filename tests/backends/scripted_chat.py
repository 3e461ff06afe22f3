"""A scripted chat server, as a process of its own: `python -m tests.backends.scripted_chat`.

OpenAI-compatible on the outside. No model is behind it: it answers with what it was shown, which a test can
compare: how many images, the mean grey of each, how long the sound was, the last words. Words that begin with
`!` are for the script:

    !500            an error instead of an answer
    !hang           an answer that begins and never goes on
    !half           an answer that breaks off
    !say TEXT       that
    !slow N         N words, one every 20 ms

Asked for pictures it makes plain ones. It prints its port when it serves.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

from antiphon.media.wav import read_wav

STOPPED = threading.Event()
"""Never set: what waits for it hangs."""


class Chat(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked_of.append(asked)
        if "messages" not in asked or asked.get("stream") is False:
            self.picture(asked)
            return
        words = said(asked)
        if words.startswith("!500"):
            self.send_error(500, "out of order")
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        if words.startswith("!say "):
            self.write(words.removeprefix("!say "))
        elif words.startswith("!half"):
            self.write("Half an answer, and")
            return
        elif words.startswith("!hang"):
            self.write("It begins. ")
            STOPPED.wait(120)
        elif words.startswith("!slow"):
            for n in range(int(words.split()[1])):
                STOPPED.wait(0.02)
                self.write(f"word{n}. ")
        else:
            self.write(shown(asked))
        self.wfile.write(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    def do_GET(self) -> None:
        """What was asked so far."""
        body = json.dumps(asked_of).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def picture(self, asked: dict[str, Any]) -> None:
        """Made from words: plain white. Made from a picture: its negative."""
        if "messages" in asked:
            shown_ = parts(asked["messages"][-1], "image_url")
            url = f"data:image/png;base64,{plain(255 - grey(shown_[-1]['url']))}"
            content = [{"type": "image_url", "image_url": {"url": url}}]
            answer: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": content}}]}
        else:
            answer = {"data": [{"b64_json": plain(255)}]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def write(self, text: str) -> None:
        chunk = json.dumps({"choices": [{"delta": {"content": text}}]})
        self.wfile.write(f"data: {chunk}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


asked_of: list[dict[str, Any]] = []


def parts(message: dict[str, Any], kind: str) -> list[Any]:
    content = message["content"]
    given = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [part[kind] for part in given if part["type"] == kind]


def said(asked: dict[str, Any]) -> str:
    """The latest line for the script, wherever the user wrote it; else the last words."""
    lines = [
        line
        for message in asked["messages"]
        if message["role"] == "user"
        for text in parts(message, "text")
        for line in text.split("\n")
    ]
    return next((line for line in reversed(lines) if line.startswith("!")), lines[-1] if lines else "")


def shown(asked: dict[str, Any]) -> str:
    """`2 images of grey 0 60, 1.0 s of sound, asked: What?`"""
    greys = [grey(part["url"]) for part in parts(asked["messages"][-1], "image_url")]
    seconds = 0.0
    for part in parts(asked["messages"][-1], "input_audio"):
        sound = read_wav(base64.b64decode(part["data"]))
        seconds += len(sound.samples) / sound.rate
    listed = " ".join(str(one) for one in greys)
    return f"{len(greys)} images of grey {listed}, {seconds:.1f} s of sound, asked: {said(asked)}"


def plain(level: int) -> str:
    """A PNG in base64."""
    file = io.BytesIO()
    Image.new("L", (16, 16), level).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def grey(url: str) -> int:
    contents = base64.b64decode(url.partition(",")[2])
    return round(float(np.asarray(Image.open(io.BytesIO(contents)).convert("L")).mean()))


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
