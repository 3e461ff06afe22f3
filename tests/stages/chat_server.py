"""A stub of a chat server: a real HTTP server on loopback whose answers a test scripts."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


def words(*pieces: str, finish: str | None = "stop") -> Answer:
    def answer(http: BaseHTTPRequestHandler) -> None:
        http.send_response(200)
        http.end_headers()
        for piece in pieces:
            http.wfile.write(event({"choices": [{"delta": {"content": piece}}]}))
        if finish:
            http.wfile.write(event({"choices": [{"delta": {}, "finish_reason": finish}]}))
            http.wfile.write(event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}))
            http.wfile.write(b"data: [DONE]\n\n")

    return answer


def calls(*pieces: dict) -> Answer:
    """Calls of functions, in pieces as they are streamed."""

    def answer(http: BaseHTTPRequestHandler) -> None:
        http.send_response(200)
        http.end_headers()
        for piece in pieces:
            http.wfile.write(event({"choices": [{"delta": {"content": None, "tool_calls": [piece]}}]}))
        http.wfile.write(event({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}))
        http.wfile.write(b"data: [DONE]\n\n")

    return answer


def event(chunk: object) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def status(code: int) -> Answer:
    return lambda http: http.send_error(code, "says: your key sk-secret is wrong")


class Stub:
    """Answers the n-th request by the n-th script, and those without one as `always`."""

    def __init__(self) -> None:
        self.scripts: list[Answer] = []
        self.always: Answer | None = None
        self.bodies: list[dict] = []
        self.keys: list[str | None] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stub.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                stub.keys.append(self.headers["authorization"])
                (stub.scripts.pop(0) if stub.scripts else stub.always)(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
