"""The interaction server's routes on a real server, in front of a chat server that is a process of its own.

What answers there is scripted: a query that begins with `!say` says what the model writes.
"""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import MidTermAdded, SessionClosed
from antiphon.replay.verify import verify
from tests.backends.running import Backend, backend
from tests.backends.scripted_chat import grey
from tests.media.images import encoded, jpeg, noise, png
from tests.serving import RunningServer, running

PATH = "/v1/chat/completions"
OPTIONS = ("--only", "joyvl", "--main-model", "watcher", "--chunk-frames", "3", "--delegation-kind", "stub")
KEYS = {"ANTIPHON_KEYS": "ada,bob"}


@pytest.fixture(scope="module")
def chat() -> Iterator[Backend]:
    with backend() as one:
        yield one


@pytest.fixture(scope="module")
def server(chat: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    config = tmp_path_factory.mktemp("settings") / "antiphon.toml"
    config.write_text("[stage.chat]\nllm_idle_s = 1.0\n")
    arguments = ("--config", str(config), *OPTIONS, "--main-backend-url", chat.url)
    with running(tmp_path_factory.mktemp("joyvl") / "data", *arguments, stage="chat", env=KEYS) as one:
        yield one


class Client:
    def __init__(self, server: RunningServer, session: str, key: str = "ada") -> None:
        self.http = httpx.Client(base_url=server.base, trust_env=False, timeout=20)
        self.http.headers.update({"x-session-id": session, "authorization": f"Bearer {key}"})

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        return self.http.post(path, content=content, headers=headers)

    def see(self, query: str = "", *frames: bytes, **members: Any) -> httpx.Response:
        return self.post(PATH, {**tick(query, *(frames or (jpeg(9),))), **members})

    def seen(self, query: str = "", *frames: bytes) -> dict[str, Any]:
        """What was decided."""
        response = self.see(query, *frames)
        assert response.status_code == 200, response.text
        told: dict[str, Any] = response.json()["interaction"]
        return told


def tick(query: str, *frames: bytes) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": query}] if query else []
    parts += [{"type": "image_url", "image_url": {"url": url(frame)}} for frame in frames]
    return {"model": "any", "messages": [{"role": "user", "content": parts}]}


def url(contents: bytes) -> str:
    return f"data:image/jpeg;base64,{encoded(contents)}"


def test_a_frame_without_a_query_asks_nobody(server: RunningServer, chat: Backend) -> None:
    asked = len(chat.asked())
    told = Client(server, "first").seen()
    assert (told["action"], told["inference_skipped"], told["frame_index"]) == ("silence", True, 1)
    assert len(chat.asked()) == asked


def test_a_query_is_answered_and_the_model_is_asked_as_the_protocol_says(
    server: RunningServer, chat: Backend
) -> None:
    response = Client(server, "query").see("!say </response> A cat.", jpeg(9), png(200), stream=True)
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert body["choices"][0]["message"]["content"] == "</response> A cat."
    assert (body["model"], body["interaction"]["frame_index"]) == ("watcher", 2)
    asked = chat.asked()[-1]
    assert (asked["model"], asked["max_tokens"], asked["skip_special_tokens"]) == ("watcher", 128, False)
    system, user = asked["messages"]
    assert system["role"] == "system"
    assert [part["type"] for part in user["content"]] == ["text", "text", "image_url", "text", "image_url"]
    assert user["content"][2]["max_pixels"] == 262_144


def test_a_session_remembers_and_a_reset_forgets(server: RunningServer) -> None:
    client = Client(server, "memory")
    for _ in range(4):
        told = client.seen("!say </silence>")
    assert (told["chunk_index"], told["frame_index"]) == (2, 4)
    server.wait_until(lambda: bool(client.seen()["memory"]["mid_term_summaries"]))
    assert client.post("/v1/streaming/reset").json() == {"status": "reset"}
    assert client.seen()["frame_index"] == 1
    assert client.post("/reset", {"session_id": "nobody"}).json() == {"status": "reset"}


def test_sessions_are_named_by_the_first_of_headers_and_body(server: RunningServer) -> None:
    with httpx.Client(base_url=server.base, trust_env=False) as http:
        http.headers["authorization"] = "Bearer bob"

        def index(headers: dict[str, str], **members: Any) -> int:
            response = http.post(PATH, json={**tick("", jpeg(1)), **members}, headers=headers)
            return int(response.json()["interaction"]["frame_index"])

        both = {"x-streaming-session": "a", "x-session-id": "b"}
        assert [index(both), index({"x-session-id": "a"}), index({"x-session-id": "b"})] == [1, 2, 1]
        assert [index({}, session_id="a", user="b"), index({}, user="b"), index({})] == [3, 2, 1]


def test_callers_with_other_keys_have_other_sessions(server: RunningServer) -> None:
    assert Client(server, "shared", "ada").seen()["frame_index"] == 1
    assert Client(server, "shared", "bob").seen()["frame_index"] == 1
    assert Client(server, "shared", "eve").see().status_code == 401


def test_personas(server: RunningServer, chat: Backend) -> None:
    client = Client(server, "persona")
    assert client.post("/v1/streaming/persona", {"persona": "talkative"}).json() == {"status": "ok"}
    assert client.post("/v1/streaming/persona", {"persona": "talkative"}).json() == {"status": "ok"}
    assert client.post("/v1/streaming/persona", {"persona": "zzz"}).json() == {"status": "unknown_persona"}
    client.seen("!say </silence>")
    assert "of your own accord" in chat.asked()[-1]["messages"][0]["content"]


def test_a_stub_is_delegated_to(server: RunningServer) -> None:
    client = Client(server, "delegation")
    told = [client.seen("!say </response> wait </delegation> how many?")["delegations"] for _ in range(3)]
    assert [[one["status"] for one in ones] for ones in told] == [
        ["submitted"],
        ["submitted"],
        ["ready", "submitted"],
    ]


@pytest.mark.parametrize(("query", "status", "code"), [
    ("!500", 502, "llm_refused"), ("!half", 502, "llm_unreachable"), ("!hang", 504, "llm_timeout"),
])  # fmt: skip
def test_a_backend_that_fails_costs_the_tick_only(
    server: RunningServer, chat: Backend, query: str, status: int, code: str
) -> None:
    client = Client(server, f"failing {code}")
    client.seen("!say </response> Hello")
    failed = client.see(query)
    assert (failed.status_code, failed.json()["error"]["code"]) == (status, code)
    health = server.get("/health").json()["watchers"]
    assert (health["backend"], health["last_error"]) == ("failing", code)
    told = client.seen("!say </response> Again")
    assert (told["text"], told["frame_index"]) == ("Again", 2)
    roles = [message["role"] for message in chat.asked()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert server.get("/health").json()["watchers"]["backend"] == "ok"


@pytest.mark.parametrize(("body", "code"), [
    (b"{", "invalid_json"), (b"[]", "invalid_json"), (b"", "invalid_json"), (b"{}", "invalid_type"),
    ({"messages": [1]}, "invalid_type"), ({"messages": [{"role": "user", "content": [1]}]}, "invalid_type"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": 3}]}]}, "invalid_image"),
    (tick("", noise(1)[:9_000]), "invalid_image"), (tick("", b"no image"), "invalid_image"),
])  # fmt: skip
def test_a_bad_body_is_told_and_begins_nothing(server: RunningServer, body: Any, code: str) -> None:
    before = server.get("/health").json()["watchers"]["sessions"]
    response = Client(server, "bad").post(PATH, body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, code)
    assert server.get("/health").json()["watchers"]["sessions"] == before


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/a.jpg", "file:///etc/passwd", "data:image/jpeg;base64,***"]
)
def test_no_image_is_fetched_from_anywhere(server: RunningServer, address: str) -> None:
    part = {"type": "image_url", "image_url": {"url": address}}
    response = Client(server, "fetch").post(PATH, {"messages": [{"role": "user", "content": [part]}]})
    assert response.json()["error"]["code"] == "invalid_image"


def test_without_an_image_the_error_is_the_protocols(server: RunningServer) -> None:
    response = Client(server, "blind").post(PATH, tick("What?"))
    assert response.status_code == 400
    assert response.json() == {"error": "interaction server requires at least one image_url frame"}


def test_of_ticks_at_once_one_waits_and_more_are_refused(server: RunningServer) -> None:
    client = Client(server, "busy")
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: client.see("!slow 20"), range(5)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses.count(200) >= 2
    assert set(statuses) == {200, 429}
    assert client.seen()["frame_index"] == statuses.count(200) + 1


def test_only_the_routes_of_an_interaction_server_are_there(server: RunningServer) -> None:
    assert server.get("/").status_code == 404
    assert Client(server, "models").http.get("/v1/models").json()["data"][0]["id"] == "watcher"
    assert Client(server, "models").http.get(PATH).status_code == 405


def test_what_was_answered_can_be_projected_again(server: RunningServer) -> None:
    client = Client(server, "log", "bob")
    for query in ("!say </response> Hello", "!500", "", "!say </silence>", ""):
        client.see(query)
    client.post("/reset")
    store = SegmentLog(server.data, deliver=lambda call: call())
    frames, closed, remembered = 0, 0, 0
    for head in store.sessions():
        verdict = verify(store, head.session)
        assert verdict.same, verdict.difference
        frames += verdict.frames
        events = [one.event for one in store.read(head.session)]
        closed += any(isinstance(one, SessionClosed) for one in events)
        remembered += any(isinstance(one, MidTermAdded) for one in events)
    assert frames >= 5
    assert closed
    assert remembered


def test_the_reference_is_served_by_its_own_options(chat: Backend, tmp_path: Path) -> None:
    options = (
        "--main-backend-url",
        chat.url,
        "--delegation-backend-url",
        chat.url,
        "--summarizer-backend-url",
    )
    more = (chat.url, "--persona", "silent", "--no-memory", "--no-force-silence", "--temperature", "0.1")
    with running(tmp_path / "data", *options, *more, stage="chat") as server:
        client = Client(server, "options")
        told = client.seen()
        assert not told["inference_skipped"]
        asked = chat.asked()[-1]
        assert asked["temperature"] == 0.1
        assert "Stay silent unless" in asked["messages"][0]["content"]
        assert server.get("/").status_code == 200, "all else is served, too"


def test_what_is_delegated_goes_to_the_model_that_it_is_for(chat: Backend, tmp_path: Path) -> None:
    options = ("--main-backend-url", chat.url, "--delegation-kind", "router")
    pictures = ("--delegation-image-url", chat.url, "--delegation-edit-url", chat.url)
    words = ("--delegation-backend-url", chat.url, "--delegation-model", "thinker")
    with running(tmp_path / "data", *options, *pictures, *words, stage="chat") as server:
        client = Client(server, "router")
        for n, (question, level) in enumerate(
            [("how many?", None), ("Draw a cat", 255), ("Turn this scene into a cartoon", 55)]
        ):
            client.seen(f"!say </response> wait </delegation> {question}", jpeg(200))
            told: list[dict[str, Any]] = []
            server.wait_until(lambda told=told, n=n: bool(told.extend(over(client, n)) or told))
            assert told[0]["question"] == question
            if level is None:
                assert "images of grey 200" in told[0]["digest"]
            else:
                assert grey(told[0]["media"]) == level
        client.post("/reset")
    store = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    assert all(verify(store, head.session).same for head in store.sessions())


def over(client: Client, n: int) -> list[dict[str, Any]]:
    """Delegations that one more tick tells the end of."""
    told = client.seen(f"!say </silence> {n}", jpeg(200))["delegations"]
    return [one for one in told if one["status"] == "ready"]


def test_a_reset_waits_for_the_tick_under_way(server: RunningServer) -> None:
    client = Client(server, "in flight")
    client.seen("!say </silence>")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ticking = pool.submit(client.see, "!slow 40")
        server.wait_until(lambda: client.see().status_code == 429 or ticking.done())
        assert client.post("/reset").json() == {"status": "reset"}
        assert ticking.done(), "the reset answers behind the tick"
        assert ticking.result().status_code == 200
    assert client.seen()["frame_index"] == 1
