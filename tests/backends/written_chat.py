"""A chat server over the language model that ships with the cascade, as a process of its own:
`python -m tests.backends.written_chat`. OpenAI-compatible on the outside; of images it sees nothing."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from antiphon.actors.stages.cascade.llama import Llama, packaged_model
from antiphon.actors.stages.cascade.writing import Request, Stop
from antiphon.actors.stages.contract import Turn
from antiphon.events.ids import SessionId

MODEL = Llama(packaged_model(), slots=1, lanes=1, threads=2)


class Chat(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        turns = tuple(Turn(role=one["role"], text=words(one["content"])) for one in asked["messages"])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        MODEL.write(Request(session=SessionId("only"), messages=turns), self.write, Stop())
        self.wfile.write(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    def write(self, piece: str) -> bool:
        chunk = json.dumps({"choices": [{"delta": {"content": piece}}]})
        self.wfile.write(f"data: {chunk}\n\n".encode())
        return False

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part["type"] == "text")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
