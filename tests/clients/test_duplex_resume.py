"""Connections that are lost, over real sockets: what is had back, and what is told where it is not.

The server is the stub of resuming_stub.py.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from antiphon.clients.duplex import (
    DuplexClient,
    DuplexConnectionError,
    DuplexOverflowError,
    DuplexProtocolError,
    DuplexSessionClosedError,
    DuplexSessionReplacedError,
    ReconnectPolicy,
)
from antiphon.clients.duplex import events as e
from antiphon.clients.duplex.opening import opener
from antiphon.clients.duplex.standing import FATAL
from tests.clients.faulty_proxy import faulty_proxy
from tests.clients.resuming_stub import ResumingStub, drops, resuming_stub, says, says_error

SOON = ReconnectPolicy(max_attempts=5, backoff_s=(0.01, 0.05))


def client(url: str, **how: Any) -> DuplexClient:
    return DuplexClient(url, reconnect=how.pop("reconnect", SOON), handshake_timeout_s=5, **how)


def port_of(stub: ResumingStub) -> int:
    return int(stub.url.rsplit(":", 1)[1])


async def until_lost(one: DuplexClient) -> None:
    await one.wait_for("connection.lost")


# --- had back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [None, 1001, 1011, 1012, 1013])
async def test_a_lost_connection_is_had_back_with_what_was_missed(code: int | None) -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        assert (one.session_id, one.resume_token, one.attachment_generation) == ("sess_1", "token-1", 1)
        await stub.say("turn.event", event="one", turn_state="idle")
        await one.wait_for("turn.event")
        await stub.cut(code)
        await stub.say("turn.event", event="two", turn_state="idle")
        await stub.say("turn.event", event="three", turn_state="idle")
        resumed = await one.wait_for("connection.resumed")
        assert isinstance(resumed, e.ConnectionResumed)
        assert resumed.attempt == 1
        heard = [(await one.wait_for("turn.event")).raw["event"] for _ in range(2)]
        assert heard == ["two", "three"]
        assert (one.resume_token, one.attachment_generation) == ("token-2", 2)
        assert stub.attempts == [
            {"type": "session.resume", "session_id": "sess_1", "resume_token": "token-1",
             "last_received_server_event_seq": 3}
        ]  # fmt: skip


async def test_what_comes_twice_is_told_once() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        frame = await stub.say("turn.event", event="one", turn_state="idle")
        await stub.reply(**{"kind": "turn.event", **{k: v for k, v in frame.items() if k != "type"}})
        await stub.say("turn.event", event="two", turn_state="idle")
        assert [(await one.wait_for("turn.event")).raw["event"] for _ in range(2)] == ["one", "two"]


async def test_what_is_said_meanwhile_arrives_in_its_order_and_once() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        await one.append_text("before")
        await stub.until(lambda: stub.texts() == ["before"])
        await stub.cut()
        await until_lost(one)
        for word in ("a", "b", "c"):
            await one.append_text(word)
        await stub.until(lambda: len(stub.texts()) == 4)
        await one.append_text("after")
        await stub.until(lambda: stub.texts() == ["before", "a", "b", "c", "after"])


async def test_what_did_not_arrive_is_sent_again_and_counted() -> None:
    async with resuming_stub() as stub, faulty_proxy(port_of(stub)) as proxy, client(proxy.url) as one:
        await one.append_text("arrives")
        await stub.until(lambda: stub.texts() == ["arrives"])
        proxy.stall()
        await one.append_text("lost")
        await one.append_text("lost, too")
        proxy.reset()
        resumed = await one.wait_for("connection.resumed")
        assert isinstance(resumed, e.ConnectionResumed)
        assert resumed.resent == 2
        await stub.until(lambda: stub.texts() == ["arrives", "lost", "lost, too"])


@pytest.mark.parametrize("cut_at", [1, 150, 300, 700, 1500, 4000])
@pytest.mark.parametrize("way", ["up", "down"])
async def test_wherever_it_is_cut_every_word_arrives_once_both_ways(way: Any, cut_at: int) -> None:
    """The first connection lasts long enough to open, every later one only that many bytes more."""
    words = [f"word {number}" for number in range(12)]
    async with resuming_stub() as stub, faulty_proxy(port_of(stub)) as proxy:
        patient = ReconnectPolicy(max_attempts=30, backoff_s=(0.001, 0.002))
        proxy.cuts = [(way, 900), *((way, cut_at + 40 * step) for step in range(20))]
        async with client(proxy.url, reconnect=patient) as one:

            async def speak() -> None:
                for word in words:
                    await one.append_text(word)
                    await stub.say("turn.event", event=word, turn_state="idle")

            async def hear() -> list[str]:
                return [(await one.wait_for("turn.event")).raw["event"] for _ in words]

            _, heard = await asyncio.gather(speak(), hear())
            assert heard == words
            await stub.until(lambda: len(stub.texts()) >= len(words))
            assert stub.texts() == words
            assert proxy.connections > 1


async def test_an_answer_goes_on_where_it_was() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        part = {"response_id": "r", "item_id": "i"}
        await stub.say("response.created", response_id="r", response={})
        await stub.say(
            "response.output_audio.delta", **part, delta="AAAA", metadata={"audio_duration_ms": 10}
        )
        answer = await anext(one.responses())
        audio = answer.audio("when_taken")
        assert await anext(audio) == b"\0\0\0"
        await stub.cut()
        await until_lost(one)
        await stub.say(
            "response.output_audio.delta", **part, delta="AQEB", metadata={"audio_duration_ms": 20}
        )
        await stub.say("response.done", response_id="r", response={"status": "completed"})
        assert [piece async for piece in audio] == [b"\1\1\1"]
        assert (answer.status, answer.played_ms) == ("completed", 20)


async def test_attempts_count_from_the_last_frame_that_came() -> None:
    """Each connection ends at the resume but for a frame that is new; that earns all attempts anew."""
    policy = ReconnectPolicy(max_attempts=2, backoff_s=(0.001, 0.001))
    async with resuming_stub() as stub, client(stub.url, reconnect=policy) as one:
        for number in range(5):
            await stub.say("turn.event", event=str(number), turn_state="idle")
            await one.wait_for("turn.event")
            await stub.cut()
            resumed = await one.wait_for("connection.resumed")
            assert resumed.raw["attempt"] == 1


async def test_some_failures_are_tried_again() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        stub.refusals = [drops, says_error("runtime_resume_failed"), says_error("resource_exhausted", 1013)]
        await stub.cut()
        resumed = await one.wait_for("connection.resumed")
        assert resumed.raw["attempt"] == 4


async def test_heartbeats_and_acknowledgements_go_on_behind_a_resume() -> None:
    async with resuming_stub() as stub, client(stub.url, heartbeat_interval_s=0.02) as one:
        await stub.until(lambda: any(a["type"] == "session.heartbeat" for a in stub.aside))
        await stub.cut()
        await one.wait_for("connection.resumed")
        stub.aside.clear()
        last = await stub.say("turn.event", event="x", turn_state="idle")
        told = {"type": "session.event_ack", "server_event_seq": last["server_event_seq"]}
        await stub.until(lambda: told in stub.aside)
        await stub.until(lambda: any(a["type"] == "session.heartbeat" for a in stub.aside))


async def test_many_frames_are_acknowledged_together() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        for number in range(200):
            last = await stub.say("turn.event", event=str(number), turn_state="idle")
        told = {"type": "session.event_ack", "server_event_seq": last["server_event_seq"]}
        await stub.until(lambda: told in stub.aside)
        assert len(stub.aside) <= 3
        assert one.dropped_events == 0


# --- not had back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", sorted(FATAL))
async def test_what_cannot_succeed_is_not_tried_twice(code: str) -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        stub.refusals = [says_error(code)]
        await stub.cut()
        with pytest.raises(DuplexProtocolError) as refused:
            async for _ in one.events():
                pass
        assert refused.value.code == code
        assert len(stub.attempts) == 1


@pytest.mark.parametrize("code", [1000, 1008])
async def test_a_server_that_hangs_up_is_not_called_again(code: int) -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        await stub.cut(code)
        with pytest.raises(DuplexSessionClosedError):
            await one.wait_for("never")
        assert stub.attempts == []


async def test_the_last_error_is_the_reason() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        await stub.say("error", error={"type": "t", "code": "engine_dead", "message": "it is gone"})
        await stub.cut(1008)
        await one.wait_for("error")
        with pytest.raises(DuplexSessionClosedError, match="engine_dead: it is gone"):
            await one.wait_for("never")


async def test_who_is_replaced_is_told_so() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        await stub.reply("session.replaced", session_id="sess_1", attachment_generation=1)
        with pytest.raises(DuplexSessionReplacedError) as replaced:
            await one.wait_for("never")
        assert replaced.value.attachment_generation == 1
        await stub.cut(1000)
        with pytest.raises(DuplexSessionReplacedError):
            await one.append_text("x")
        assert stub.attempts == []


async def test_who_is_replaced_by_a_resume_of_its_own_that_came_late_comes_back() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        stub.refusals = [drops]
        await stub.cut()
        await one.wait_for("connection.resumed")
        await stub.reply("session.replaced", session_id="sess_1", attachment_generation=2)
        await stub.cut(1000)
        await one.wait_for("connection.resumed")
        await stub.reply("session.replaced", session_id="sess_1", attachment_generation=3)
        with pytest.raises(DuplexSessionReplacedError):
            await one.wait_for("never")


async def test_who_cannot_come_back_then_was_replaced_by_another() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        stub.refusals = [drops]
        await stub.cut()
        await one.wait_for("connection.resumed")
        stub.refusals = [says_error("invalid_resume_token")]
        await stub.reply("session.replaced", session_id="sess_1", attachment_generation=2)
        await stub.cut(1000)
        with pytest.raises(DuplexSessionReplacedError) as replaced:
            await one.wait_for("never")
        assert replaced.value.attachment_generation == 2


async def test_where_what_was_missed_is_deleted_the_token_goes_and_the_client_is_told() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        stub.refusals = [says("session.resync_required", reason="journal_gap")]
        await stub.cut()
        told = await one.wait_for("session.resync_required")
        assert isinstance(told, e.ResyncRequired)
        assert (told.reason, one.resume_token) == ("journal_gap", None)
        with pytest.raises(DuplexSessionClosedError, match="journal_gap"):
            await one.wait_for("never")


async def test_a_session_that_expired_says_why() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        stub.refusals = [says("session.expired", reason="disconnect_grace_expired")]
        await stub.cut()
        with pytest.raises(DuplexSessionClosedError, match="expired: disconnect_grace_expired"):
            await one.wait_for("never")


async def test_without_a_token_a_lost_connection_is_the_end() -> None:
    async with resuming_stub(resumes=False) as stub, client(stub.url) as one:
        await stub.cut()
        with pytest.raises(DuplexConnectionError, match="1006"):
            await one.wait_for("never")


async def test_who_wants_no_reconnecting_gets_none() -> None:
    async with resuming_stub() as stub, client(stub.url, reconnect=None) as one:
        await stub.cut()
        with pytest.raises(DuplexConnectionError):
            await one.wait_for("never")
        assert stub.attempts == []


async def test_after_the_last_attempt_it_says_what_was_not_sent() -> None:
    async with resuming_stub() as stub, faulty_proxy(port_of(stub)) as proxy:
        slow = ReconnectPolicy(max_attempts=2, backoff_s=(0.05, 0.05))
        async with client(proxy.url, reconnect=slow) as one:
            proxy.refusing = True
            proxy.reset()
            await until_lost(one)
            await one.append_text("kept")
            with pytest.raises(DuplexConnectionError, match=r"2 attempts: .*; 1 commands were not sent"):
                await one.wait_for("never")


async def test_an_unfinished_answer_ends_with_what_ended_the_session() -> None:
    async with resuming_stub(resumes=False) as stub, client(stub.url) as one:
        await stub.say("response.speak", response_id="r", item_id="i")
        answer = await anext(one.responses())
        await stub.cut()
        with pytest.raises(DuplexConnectionError):
            await answer.wait()
        with pytest.raises(DuplexConnectionError):
            await anext(answer.audio())


# --- commands that there is no room for -------------------------------------------------------------------


async def test_a_full_journal_refuses_the_next_command_and_loses_none() -> None:
    async with resuming_stub() as stub, faulty_proxy(port_of(stub)) as proxy, client(proxy.url) as one:
        proxy.refusing = True
        proxy.reset()
        await until_lost(one)
        big = "x" * (4 * 1024 * 1024)
        for _ in range(3):
            await one.append_text(big)
        with pytest.raises(DuplexOverflowError) as full:
            await one.append_text(big)
        assert full.value.what == "commands"
        proxy.refusing = False
        await stub.until(lambda: stub.texts() == [big] * 3)


async def test_commands_that_were_forgotten_and_did_not_arrive_are_told() -> None:
    async with resuming_stub() as stub, client(stub.url) as one:
        big = "x" * (6 * 1024 * 1024)
        for text in ("first", big, big, big):
            await one.append_text(text)
        await stub.until(lambda: len(stub.texts()) == 4)
        stub.accepted = [one for one in stub.accepted if one.get("text") == "first"]
        await stub.cut()
        told = await one.wait_for("client.commands_lost")
        assert told.raw["after"] == stub.accepted[0]["event_id"]
        await stub.until(lambda: stub.texts() == ["first", big, big])


# --- the end ----------------------------------------------------------------------------------------------


async def test_closing_while_away_closes_when_it_is_back() -> None:
    async with resuming_stub() as stub:
        one = await client(stub.url).connect()
        await stub.cut()
        await until_lost(one)
        await one.close()
        assert stub.accepted[-1]["type"] == "session.close"
        assert stub.generation == 2


async def test_closing_without_a_connection_that_comes_back_is_no_ordinary_end() -> None:
    async with resuming_stub(resumes=False, answers_close=False) as stub:
        one = await client(stub.url).connect()
        closing = asyncio.create_task(one.close())
        await stub.until(lambda: stub.accepted[-1]["type"] == "session.close")
        await stub.cut()
        with pytest.raises(DuplexConnectionError):
            await closing


async def test_closing_is_done_when_the_server_knows_the_session_no_more() -> None:
    """It was closed, and the connection broke before it could say so."""
    async with resuming_stub(answers_close=False) as stub:
        one = await client(stub.url).connect()
        stub.refusals = [says_error("session_resume_expired")]
        closing = asyncio.create_task(one.close())
        await stub.until(lambda: stub.accepted[-1]["type"] == "session.close")
        await stub.cut()
        await closing
        assert [event.type async for event in one][-1] == "connection.lost"


async def test_a_resume_that_is_not_answered_in_time_is_left_without_ending_the_session() -> None:
    codes: list[int | None] = []

    async def says_nothing(socket: ServerConnection) -> None:
        await socket.wait_closed()
        codes.append(socket.close_code)

    async with resuming_stub() as stub, DuplexClient(stub.url, reconnect=SOON, handshake_timeout_s=1) as one:
        stub.refusals = [says_nothing]
        await stub.cut()
        await one.wait_for("connection.resumed")
        await stub.until(lambda: codes == [1001])


async def test_a_server_that_does_not_close_is_left_and_that_is_told() -> None:
    async with resuming_stub(answers_close=False) as stub:
        one = await client(stub.url).connect()
        with pytest.raises(DuplexConnectionError, match=r"within 0\.1 s"):
            await one.close(timeout_s=0.1)
        with pytest.raises(DuplexSessionClosedError):
            await one.append_text("x")


async def test_tokens_are_in_no_url() -> None:
    asked: list[str] = []
    async with resuming_stub() as stub:
        inner = opener(api_key="secret", tls=None, timeout_s=5)

        async def connect(url: str) -> Any:
            asked.append(url)
            return await inner(url)

        async with DuplexClient(stub.url, reconnect=SOON, connect=connect) as one:
            await stub.cut()
            await one.wait_for("connection.resumed")
    assert len(asked) == 2
    assert not [url for url in asked if "token" in url or "secret" in url]
    assert stub.headers is not None
    assert stub.headers["Authorization"] == "Bearer secret"
    assert json.dumps(stub.attempts).count("token-1") == 1
