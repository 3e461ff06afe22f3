"""Against a stub of a chat server: a real HTTP server on loopback whose answers a test scripts."""

import base64
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from antiphon.actors.stages.cascade.writing import Request, Stop, WritingFailed
from antiphon.actors.stages.chat_backend import writer as writer_module
from antiphon.actors.stages.chat_backend.endpoints import (
    Endpoint,
    Further,
    Patience,
    completions_url,
    further,
    main,
)
from antiphon.actors.stages.chat_backend.engine import ChatEngine
from antiphon.actors.stages.chat_backend.writer import ChatWriter
from antiphon.actors.stages.contract import (
    Call,
    Called,
    EngineRefused,
    Failed,
    Finished,
    Piece,
    Routed,
    Said,
    Speak,
    Turn,
)
from antiphon.events.ids import Operation, SessionId
from antiphon.media.wav import read_wav
from tests.stages.chat_server import Stub, calls, status, words
from tests.stages.collecting import WAIT_S, Collected, fence

REQUEST = Request(session=SessionId("s"), messages=(Turn(role="user", text="Why?"),), temperature=0.5)


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_AFTER_S", (0, 0))
    stub = Stub()
    yield stub
    stub.server.shutdown()
    stub.server.server_close()


@pytest.fixture
def writer(stub):
    writer = ChatWriter(Endpoint(completions_url(stub.url), "some-model", "sk-secret"), lanes=1)
    yield writer
    writer.close()


def write(writer: ChatWriter, stop: Stop | None = None):
    heard: list[str] = []
    written = writer.write(REQUEST, lambda piece: bool(heard.append(piece)), stop or Stop())
    return heard, written


def test_words_are_handed_on_and_counted(stub, writer):
    stub.scripts = [words("Because", " so.")]
    heard, written = write(writer)
    assert heard == ["Because", " so."]
    assert (written.why, written.input_tokens, written.output_tokens) == ("done", 9, 2)
    assert stub.bodies[0]["messages"] == [{"role": "user", "content": "Why?"}]
    assert stub.bodies[0]["temperature"] == 0.5
    assert stub.keys == ["Bearer sk-secret"]


CALL = Call("call_1", "weather", '{"at": "home"}')


def test_a_conversation_with_calls_and_images_goes_over_as_such_servers_read_it(stub, writer):
    stub.scripts = [words("Yes.")]
    turns = (
        Turn(role="user", text="Rain?", images=(b"\x89PNG", b"\xff\xd8\xff")),
        Turn(role="assistant", text="", calls=(CALL,)),
        Turn(role="tool", text="dry", call_id="call_1", name="weather"),
    )
    flat = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
    nested = {"type": "function", "function": {"name": "clock"}}
    asked = replace(
        REQUEST, messages=turns, tools=(flat, nested), tool_choice={"type": "function", "name": "clock"}
    )
    writer.write(asked, lambda piece: False, Stop())
    [body] = stub.bodies
    shown, called, returned = body["messages"]
    assert shown["content"][0] == {"type": "text", "text": "Rain?"}
    urls = [part["image_url"]["url"] for part in shown["content"][1:]]
    assert urls == ["data:image/png;base64,iVBORw==", "data:image/jpeg;base64,/9j/"]
    function = {"name": "weather", "arguments": '{"at": "home"}'}
    assert called == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    assert returned == {"role": "tool", "tool_call_id": "call_1", "content": "dry"}
    described = {"name": "weather", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": described}, nested]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "clock"}}


def test_without_functions_nothing_is_said_of_any(stub, writer):
    stub.scripts = [words("Yes.")]
    write(writer)
    assert not {"tools", "tool_choice"} & stub.bodies[0].keys()


def test_calls_come_in_pieces_and_are_told_whole_behind_the_words(stub):
    stub.scripts = [
        calls(
            {"index": 0, "id": "call_1", "function": {"name": "weather", "arguments": ""}},
            {"index": 0, "function": {"arguments": '{"at": '}},
            {"index": 1, "id": "call_2", "function": {"name": "clock"}},
            {"index": 0, "function": {"arguments": '"home"}'}},
        )
    ]
    engine, collected = ChatEngine({"llm_url": stub.url, "llm_model": "some-model"}), Collected()
    engine.start(collected)
    engine.open(fence(), {})
    engine.speak(speak(1, "Rain?"))
    told = [body for body in collected.ended(1) if isinstance(body, Said | Called | Finished)]
    assert told[:2] == [Called("call_1", "weather", '{"at": "home"}'), Called("call_2", "clock", "{}")]
    assert told[2].why == "done"
    engine.stop()


def test_calls_without_end_are_no_answer(stub, writer):
    stub.scripts = [calls(*({"index": k, "function": {"name": "again"}} for k in range(100)))]
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert failed.value.code == "llm_refused"


def test_proxies_of_the_environment_are_not_asked_for_loopback(stub, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    stub.scripts = [words("Hi")]
    writer = ChatWriter(main(stub.url, "some-model"), lanes=1)
    assert write(writer)[0] == ["Hi"]
    assert stub.keys == [None]
    writer.close()


def test_a_busy_server_is_asked_again(stub, writer):
    stub.scripts = [status(503), status(429), words("Hi")]
    assert write(writer)[0] == ["Hi"]


def test_a_server_that_stays_busy_refuses(stub, writer):
    stub.scripts = [status(503)] * 3
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert (failed.value.code, failed.value.retryable) == ("llm_refused", True)


def test_a_refusal_is_final_and_quotes_neither_key_nor_server(stub, writer):
    stub.scripts = [status(401)]
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert (failed.value.code, failed.value.message) == ("llm_refused", "the chat server answered HTTP 401")


def test_an_answer_that_breaks_off_is_not_asked_for_again(stub, writer):
    stub.scripts = [words("Because", finish=None)]
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert failed.value.code == "llm_unreachable"
    assert len(stub.bodies) == 1


def test_nobody_there_is_unreachable(stub):
    free = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    url = f"http://127.0.0.1:{free.server_address[1]}/v1"
    free.server_close()
    writer = ChatWriter(main(url, "some-model"), lanes=1)
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert (failed.value.code, failed.value.retryable) == ("llm_unreachable", True)
    writer.close()


def test_a_silent_server_is_given_up(stub):
    until_done = threading.Event()
    stub.scripts = [lambda http: until_done.wait(WAIT_S)]
    writer = ChatWriter(main(stub.url, "some-model"), lanes=1, patience=Patience(0.01, 0.04, 0.05))
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert (failed.value.code, failed.value.retryable) == ("llm_timeout", True)
    until_done.set()
    writer.close()


def test_something_else_than_an_answer_is_a_refusal(stub, writer):
    stub.scripts = [
        lambda http: (http.send_response(200), http.end_headers(), http.wfile.write(b"data: <html>\n\n"))
    ]
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert failed.value.code == "llm_refused"


def test_a_stop_leaves_a_silent_server_at_once_and_closes_the_stream(stub, writer):
    stop, closed = Stop(), threading.Event()

    def never_ends(http: BaseHTTPRequestHandler) -> None:
        words("Because", finish=None)(http)
        stop.set()
        with suppress(ConnectionResetError):
            assert not http.connection.recv(1)
        closed.set()

    stub.scripts = [never_ends]
    _heard, written = write(writer, stop)
    assert written.why == "stopped"
    assert closed.wait(WAIT_S)


@pytest.mark.parametrize(
    "url", ["ftp://x/v1", "localhost:8000", "http://", "http://me:pw@x/v1", "http://x:port/v1"]
)
def test_a_url_that_cannot_be_asked_is_refused(url):
    with pytest.raises(EngineRefused) as refused:
        completions_url(url)
    assert refused.value.code == "bad_settings"


def test_a_model_has_to_be_named():
    with pytest.raises(EngineRefused, match="llm-model"):
        main("http://127.0.0.1:1/v1", "")


def speak(operation: int, text: str) -> Speak:
    return Speak(fence(), Operation(operation), (Turn(role="user", text=text),))


def test_the_text_only_stage_answers_in_writing(stub):
    stub.scripts = [words("Because ", "**so** it is."), status(400)]
    engine, collected = ChatEngine({"llm_url": stub.url, "llm_model": "some-model"}), Collected()
    engine.start(collected)
    engine.open(fence(), {})
    engine.speak(speak(1, "Why?"))
    routed, *said, finished = (b for b in collected.ended(1) if isinstance(b, Routed | Said | Finished))
    assert routed == Routed("model")
    assert "".join(piece.text for piece in said) == "Because **so** it is."
    assert (finished.input_tokens, finished.output_tokens) == (9, 2)
    engine.speak(speak(2, "Why?"))
    assert isinstance(collected.ended(2)[-1], Failed)
    assert engine.descriptor.must_not_repeat
    engine.stop()


def test_a_key_that_no_header_can_carry_is_refused_without_being_quoted(monkeypatch):
    for key in ("sk-é€", "sk-a\nb"):
        monkeypatch.setenv("ANTIPHON_LLM_API_KEY", key)
        with pytest.raises(EngineRefused) as refused:
            main("http://127.0.0.1:1/v1", "m")
        assert refused.value.code == "bad_settings"
        assert "sk-" not in refused.value.message


def test_the_line_end_behind_a_key_is_no_part_of_it(stub, monkeypatch):
    monkeypatch.setenv("ANTIPHON_LLM_API_KEY", "sk-good\n")
    stub.scripts = [words("Yes.")]
    writer = ChatWriter(main(stub.url, "m"), lanes=1)
    writer.write(REQUEST, lambda words: False, Stop())
    writer.close()
    assert stub.keys == ["Bearer sk-good"]


def test_a_server_that_sends_only_signs_of_life_is_given_up(stub):
    until_done = threading.Event()

    def lives(http: BaseHTTPRequestHandler) -> None:
        http.send_response(200)
        http.end_headers()
        with suppress(OSError):
            while not until_done.wait(0.005):
                http.wfile.write(b": alive\n\n")

    stub.scripts = [lives]
    writer = ChatWriter(main(stub.url, "m"), lanes=1, patience=Patience(0.01, 0.05, 0.05))
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert failed.value.code == "llm_timeout"
    until_done.set()
    writer.close()


def test_a_server_that_stops_in_the_middle_is_given_up_and_not_asked_again(stub):
    until_done = threading.Event()

    def stops(http: BaseHTTPRequestHandler) -> None:
        words("Because", finish=None)(http)
        until_done.wait(WAIT_S)

    stub.scripts = [stops]
    writer = ChatWriter(main(stub.url, "m"), lanes=1, patience=Patience(5, 30, 0.05))
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert failed.value.code == "llm_timeout"
    assert len(stub.bodies) == 1
    until_done.set()
    writer.close()


def busy(retry_after: str):
    def answer(http: BaseHTTPRequestHandler) -> None:
        http.send_response(429)
        http.send_header("retry-after", retry_after)
        http.send_header("content-length", "0")
        http.end_headers()

    return answer


def test_a_busy_server_is_asked_again_when_it_says(stub, monkeypatch, writer):
    monkeypatch.setattr(writer_module, "RETRY_AFTER_S", (WAIT_S * 9, WAIT_S * 9))
    stub.scripts = [busy("0"), busy("0.01"), words("Hi")]
    assert write(writer)[0] == ["Hi"]


def test_a_server_that_is_busy_for_long_is_not_waited_for(stub, writer):
    stub.scripts = [busy("3600")]
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert (failed.value.code, failed.value.retryable) == ("llm_refused", True)
    assert len(stub.bodies) == 1


def test_an_error_of_the_server_is_not_asked_again_by_itself(stub, writer):
    stub.scripts = [status(500)]
    with pytest.raises(WritingFailed) as failed:
        write(writer)
    assert (failed.value.code, failed.value.retryable) == ("llm_refused", True)
    assert len(stub.bodies) == 1


def test_pieces_go_over_in_their_order_and_sound_as_a_wav_of_16_khz(stub, writer):
    stub.scripts = [words("Yes.")]
    pieces = (
        Piece(text="<0.0 seconds>"),
        Piece(image=b"\xff\xd8\xff", max_pixels=100),
        Piece(pcm=bytes(2 * 24_000)),
        Piece(text="What is it?"),
    )
    turn = Turn(role="user", text="What is it?", pieces=pieces)
    writer.write(replace(REQUEST, messages=(turn,), sampling={"top_k": 3}), lambda words: False, Stop())
    [body] = stub.bodies
    label, image, sound, text = body["messages"][0]["content"]
    assert (label["text"], text["text"]) == ("<0.0 seconds>", "What is it?")
    assert (image["type"], image["max_pixels"]) == ("image_url", 100)
    assert (sound["type"], sound["input_audio"]["format"]) == ("input_audio", "wav")
    heard = read_wav(base64.b64decode(sound["input_audio"]["data"]))
    assert (heard.rate, len(heard.samples)) == (16_000, 16_000)
    assert body["top_k"] == 3


def test_a_further_endpoint_is_asked_by_its_name_with_its_own_key(stub, monkeypatch):
    monkeypatch.setenv("ANTIPHON_NOTES_API_KEY", "sk-notes")
    stub.scripts = [words("Noted."), words("Yes.")]
    notes = further("notes", Further(url=stub.url, model="other"))
    writer = ChatWriter(main(stub.url, "m"), lanes=1, others={"notes": notes})
    for endpoint in ("notes", ""):
        writer.write(replace(REQUEST, endpoint=endpoint), lambda words: False, Stop())
    with pytest.raises(WritingFailed, match="nowhere"):
        writer.write(replace(REQUEST, endpoint="nowhere"), lambda words: False, Stop())
    writer.close()
    assert [(body["model"], key) for body, key in zip(stub.bodies, stub.keys, strict=True)] == [
        ("other", "Bearer sk-notes"),
        ("m", None),
    ]


def test_a_key_can_come_from_a_file(stub, tmp_path):
    file = tmp_path / "key"
    file.write_text("sk-file\n")
    assert main(stub.url, "m", str(file)).key == "sk-file"
    for wrong in (tmp_path / "nothing", tmp_path):
        with pytest.raises(EngineRefused) as refused:
            main(stub.url, "m", str(wrong))
        assert refused.value.code == "bad_settings"


def test_what_is_asked_verbatim_goes_over_as_it_stands(stub):
    stub.scripts = [words("Yes.")]
    engine, collected = ChatEngine({"llm_url": stub.url, "llm_model": "some-model"}), Collected()
    engine.start(collected)
    engine.open(fence(), {})
    engine.speak(replace(speak(1, "x" * 100_000), verbatim=True, instructions="Be brief."))
    collected.ended(1)
    system, question = stub.bodies[0]["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert len(question["content"]) == 100_000
    engine.stop()
