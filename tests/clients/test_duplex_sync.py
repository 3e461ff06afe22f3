"""The synchronous client with the real server."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from antiphon.clients.duplex import (
    DuplexConnectionError,
    DuplexProtocolError,
    DuplexSessionClosedError,
    SessionConfig,
    SyncDuplexClient,
)
from bench.ports import free_port
from tests.serving import RunningServer, running

ASKED = SessionConfig(auto_response=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("scripted") / "data", stage="scripted") as server:
        yield server


def running_loops() -> int:
    return sum(thread.name == "duplex-client" for thread in threading.enumerate())


def test_a_conversation_without_an_event_loop(server: RunningServer) -> None:
    with SyncDuplexClient(server.base, config=ASKED) as client:
        client.send_text("Hello!")
        answer = next(client.responses())
        pcm = b"".join(answer.audio("when_taken"))
        assert (answer.wait_played().wait().status, answer.transcript) == (
            "completed",
            "This is a scripted answer.",
        )
        assert (len(pcm), answer.played_ms, answer.decision) == (48_000, 1000, "speak")
        assert client.wait_for("response.done").type == "response.done"
        assert client.session_id is not None
    assert [event.type for event in client][-1] == "session.closed"


def test_it_sends_what_the_other_one_does(server: RunningServer) -> None:
    with SyncDuplexClient(server.base, config=ASKED) as client:
        assert client.stream_pcm(bytes(6400), 100, realtime=False) == 2
        client.append_audio(bytes(640), is_speech=True)
        client.clear_input()
        client.barge_in()
        assert client.wait_for("input_audio_buffer.cleared")
        event_id = client.commit()
        with pytest.raises(DuplexProtocolError) as refused:
            client.wait_for("input_audio_buffer.committed")
        assert (refused.value.code, refused.value.event_id) == ("input_audio_buffer_empty", event_id)


def test_its_thread_ends_with_it(server: RunningServer) -> None:
    before = running_loops()
    client = SyncDuplexClient(server.base, config=ASKED).connect()
    assert running_loops() == before + 1
    client.close()
    with pytest.raises(DuplexConnectionError):
        SyncDuplexClient(f"ws://127.0.0.1:{free_port()}", handshake_timeout_s=5).connect()
    assert running_loops() == before


def test_what_the_block_ends_with_is_what_is_told(server: RunningServer) -> None:
    with pytest.raises(KeyError), SyncDuplexClient(server.base, config=ASKED) as client:
        raise KeyError("mine")
    assert client.client.session_id is not None


def test_after_the_end_it_says_that_it_is_over(server: RunningServer) -> None:
    with SyncDuplexClient(server.base, config=ASKED) as client:
        pass
    with pytest.raises(DuplexSessionClosedError):
        client.commit()
    client.close()
