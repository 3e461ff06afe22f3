"""Lost connections between the client library and the real server: nothing is missed, nothing counts twice."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from antiphon.clients.duplex import (
    AudioFormat,
    DuplexClient,
    DuplexProtocolError,
    DuplexSessionReplacedError,
    EventCollector,
    ReconnectPolicy,
    SessionConfig,
    build_realtime_url,
)
from antiphon.clients.duplex import events as e
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import InputAppended, ItemAdded
from antiphon.projections.duplex.projection import DuplexProjection
from bench.ports import free_port
from tests.clients.faulty_proxy import Direction, FaultyProxy, faulty_proxy
from tests.duplex.conversing import log_of, verified
from tests.serving import RunningServer, running

SCRIPT = Path(__file__).parent.parent / "web" / "duplex_script.toml"
ASKED = SessionConfig(input_audio=AudioFormat("pcm16", 24_000), auto_response=False)
PATIENT = ReconnectPolicy(max_attempts=30, backoff_s=(0.001, 0.01))
WAYS: tuple[Direction, ...] = ("up", "down")
OPENED = 4200
"""Bytes one way until a session is open, and more."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("scripted")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


def client(proxy: FaultyProxy) -> DuplexClient:
    return DuplexClient(proxy.url, config=ASKED, reconnect=PATIENT)


def recording(samples: int) -> bytes:
    """Loud, and at every place another."""
    return b"".join((8000 + (7 * n) % 9000).to_bytes(2, "little") for n in range(samples))


def logged(server: RunningServer, session: str | None) -> tuple[bytes, list[str]]:
    """The audio that the log holds of the user, and what was written, in their order."""
    log = log_of(server)
    pcm, texts = b"", []
    for stored in log.read(SessionId(str(session))):
        match stored.event:
            case InputAppended() if stored.blob is not None:
                pcm += log.read_blob(SessionId(str(session)), stored.blob)
            case ItemAdded(item=item) if item.role == "user":
                texts += [part.text for part in item.content if part.text]
    log.close()
    return pcm, texts


async def converse(one: DuplexClient, collector: EventCollector) -> list[str]:
    """An utterance, an answer to it, and words meanwhile. What was written."""
    texts = [f"word {number}" for number in range(8)]
    for text in texts[:4]:
        await one.send_text(text, create_response=False)
    await one.stream_pcm(recording(24_000), 40, realtime=False)
    await one.commit(create_response=True)
    for text in texts[4:]:
        await one.send_text(text, create_response=False)
    async for event in one:
        collector.add(event)
        if event.type == "response.done":
            break
    return texts


def told(server: RunningServer, session: str) -> list[tuple[int, str]]:
    """Number and type of every frame that the log amounts to, but for what connections are told that were
    replaced by the next one before the server knew that they were gone."""
    log, projection, frames = log_of(server), DuplexProjection(), list[tuple[int, str]]()
    view = projection.begin(1)
    for stored in log.read(SessionId(session)):
        view, shown = projection.step(view, stored)
        frames += [(int(frame.server_event_seq or 0), type(frame).__struct_config__.tag) for frame in shown]
    log.close()
    return [frame for frame in frames if frame[1] != "session.replaced"]


async def conversation(server: RunningServer, cuts: list[tuple[Direction, int]]) -> int:
    """A whole one over connections that are cut there, and that nothing is missing of it, on either side. How
    many connections it took."""
    collector = EventCollector()
    async with faulty_proxy(server.port) as proxy:
        proxy.cuts = list(cuts)
        async with client(proxy) as one:
            async with asyncio.timeout(30):
                texts = await converse(one, collector)
        await collector.consume(one.events())
    assert collector.errors() == []
    assert collector.response_text() == "Paris has been the capital since the tenth century."
    assert len(collector.audio_bytes()) == ASKED.output_audio.byte_count(1200)
    session = str(one.session_id)
    numbered = [
        (event.server_event_seq, event.type)
        for event in collector.events
        if event.server_event_seq is not None
    ]
    assert numbered == told(server, session)[: len(numbered)]
    assert logged(server, session) == (recording(24_000), texts)
    verified(server, [session])
    return proxy.connections


@pytest.mark.parametrize(
    ("way", "step"), [("up", 700), ("up", 9_000), ("down", 500), ("down", 3_000), ("down", 20_000)]
)
async def test_wherever_it_is_cut_nothing_is_missing_and_nothing_comes_twice(
    server: RunningServer, way: Direction, step: int
) -> None:
    assert await conversation(server, [(way, OPENED + step * number) for number in range(8)]) > 2


@pytest.mark.campaign
async def test_wherever_it_is_cut_at_random(server: RunningServer) -> None:
    """Seeds 0 to 999."""
    for seed in range(1_000):
        draw = random.Random(seed)
        cuts = [(draw.choice(WAYS), draw.randrange(1, 60_000)) for _ in range(draw.randrange(1, 25))]
        cuts[0] = (cuts[0][0], OPENED + cuts[0][1])
        try:
            await conversation(server, cuts)
        except Exception as failure:
            failure.add_note(f"seed {seed}")
            raise


async def test_a_cancel_that_was_on_its_way_cancels_that_answer_and_no_later_one(
    server: RunningServer,
) -> None:
    async with faulty_proxy(server.port) as proxy, client(proxy) as one:
        answers = one.responses()
        await one.send_text("Which is the capital?")
        await (await anext(answers)).wait()
        await one.send_text("And before?")
        answer = await anext(answers)
        proxy.stall()
        await one.cancel_response(answer.response_id)
        await one.send_text("never mind", create_response=False)
        proxy.reset()
        await answer.wait()
        assert answer.status == "cancelled"
        await one.wait_for("connection.resumed")
        await one.send({"type": "session.heartbeat"})
        await one.wait_for("session.heartbeat_ack")
        session = one.session_id
    _, written = logged(server, session)
    assert written.count("never mind") == 1


async def test_a_connection_that_hangs_is_noticed_and_another_takes_its_place(server: RunningServer) -> None:
    """Its peer is there, and nothing comes: only pings find that out, here at once instead of after 20 s."""

    async def soon(url: str) -> ClientConnection:
        return await connect(url, ping_interval=0.05, ping_timeout=1, close_timeout=0.1)

    async with faulty_proxy(server.port) as proxy:
        async with DuplexClient(proxy.url, config=ASKED, reconnect=PATIENT, connect=soon) as one:
            proxy.stall()
            await one.send_text("Is anybody there?", create_response=False)
            await one.wait_for("connection.resumed")
            assert (one.attachment_generation or 0) >= 2
            await one.wait_for("conversation.item.done")
            session = one.session_id
        assert logged(server, session)[1] == ["Is anybody there?"]


async def test_a_connection_that_hangs_is_given_up_when_it_breaks(server: RunningServer) -> None:
    async with faulty_proxy(server.port) as proxy, client(proxy) as one:
        for _ in range(3):
            proxy.stall()
            await one.append_audio(recording(2400))
            proxy.reset()
            await one.wait_for("connection.resumed")
        assert one.attachment_generation == 4
        await one.commit()
        committed = await one.wait_for("input_audio_buffer.committed")
        session = one.session_id
    assert isinstance(committed, e.Committed)
    assert logged(server, session)[0] == recording(2400) * 3


async def taken_over(one: DuplexClient, server: RunningServer, token: str) -> dict[str, Any]:
    """What another client is told that resumes the session with a token, and is gone at that."""
    url = build_realtime_url(server.base)
    async with connect(url, proxy=None) as other:
        asked = {"session_id": one.session_id, "resume_token": token, "last_received_server_event_seq": 0}
        await other.send(json.dumps({"type": "session.resume", **asked}))
        told = dict(json.loads(await other.recv()))
        other.transport.abort()
        return told


async def test_who_is_replaced_is_told_so_and_does_not_come_back(server: RunningServer) -> None:
    async with DuplexClient(server.base, config=ASKED, reconnect=PATIENT) as one:
        taken = await taken_over(one, server, str(one.resume_token))
        assert taken["type"] == "session.resumed"
        with pytest.raises(DuplexSessionReplacedError) as replaced:
            await one.wait_for("never")
        assert replaced.value.attachment_generation == 1


async def test_a_wrong_token_is_refused_and_the_session_goes_on(server: RunningServer) -> None:
    async with DuplexClient(server.base, config=ASKED, reconnect=PATIENT) as one:
        refused = await taken_over(one, server, "wrong")
        assert refused["error"]["code"] == "invalid_resume_token"
        await one.send_text("Which is the capital?")
        assert (await (await anext(one.responses())).wait()).status == "completed"


async def test_answers_to_resumes_may_be_lost_one_after_the_other(server: RunningServer) -> None:
    """Whoever resumes and hears nothing has the former token; whoever hears and says nothing, the new one."""
    async with DuplexClient(server.base, config=ASKED, reconnect=None) as one:
        token = str(one.resume_token)
        given = [await taken_over(one, server, token) for _ in range(12)]
        assert [answer["type"] for answer in given] == ["session.resumed"] * 12
        again = await taken_over(one, server, given[-2]["resume_token"])
        assert again["type"] == "session.resumed"
        with pytest.raises(DuplexSessionReplacedError):
            await one.wait_for("never")


async def test_a_server_that_is_started_anew_goes_on_with_the_session(tmp_path: Path) -> None:
    port, unhurried = free_port(), ReconnectPolicy(max_attempts=200, backoff_s=(0.05, 0.1))
    with running(tmp_path / "data", stage="scripted", port=port) as first:
        one = await DuplexClient(first.base, config=ASKED, reconnect=unhurried).connect()
        await one.send_text("Hello!")
        answered = await (await anext(one.responses())).wait()
        await asyncio.to_thread(first.stop)
    lost = await one.wait_for("connection.lost")
    assert lost.raw["code"] == 1012
    await one.send_text("Are you back?")
    again = await asyncio.to_thread(started, tmp_path / "data", port)
    try:
        answer = await (await anext(one.responses())).wait()
        assert answer.status == answered.status == "completed"
        session = one.session_id
        await one.close()
        assert logged(again, session)[1] == ["Hello!", "Are you back?"]
    finally:
        await asyncio.to_thread(again.stop)


def started(data: Path, port: int) -> RunningServer:
    server = RunningServer(data, stage="scripted", port=port, arguments=(), env={})
    server.wait("/health")
    return server


async def test_a_session_that_is_gone_cannot_be_had_back(tmp_path: Path) -> None:
    """The server is started anew between the two connections, with another data folder."""
    with (
        running(tmp_path / "one", stage="scripted") as first,
        running(tmp_path / "two", stage="scripted") as second,
    ):
        async with faulty_proxy(first.port) as proxy, client(proxy) as one:
            proxy.upstream = second.port
            proxy.reset()
            with pytest.raises(DuplexProtocolError) as refused:
                await one.wait_for("never")
            assert refused.value.code == "session_resume_expired"
