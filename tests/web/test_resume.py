"""Clients that lose their connection and come back: nothing is lost, nothing is said twice."""

from __future__ import annotations

import asyncio
import base64
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import (
    ClientConfirmed,
    ClientReplaced,
    ClientResumed,
    CommandRefused,
    CommandsAccepted,
    Event,
    InputAppended,
    ItemAdded,
    SessionExpired,
    SessionParked,
)
from antiphon.replay.verify import verify
from bench.ports import free_port
from tests.serving import RunningServer, running

from .wire import Wire, wire

Json = dict[str, Any]
SCRIPT = Path(__file__).with_name("counting_script.toml")
WAITS = "?duplex=1&autostart=0"
COUNT = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
PIECE = bytes(2 * 480)
"""20 ms at 24 kHz."""
TEXT = {"type": "input_text", "text": "Count"}


def settings(folder: Path, more: str = "") -> Path:
    config = folder / "antiphon.toml"
    config.write_text(f'[duplex_session]\n{more}\n[stage.scripted]\nscript = "{SCRIPT}"\n')
    return config


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("resume")
    with running(folder / "data", "--config", str(settings(folder)), stage="scripted") as started:
        yield started


class Seat:
    """A client's place in a session: what it needs to come back, and every frame it had."""

    def __init__(self, created: Json) -> None:
        self.session = str(created["session"]["id"])
        self.token = str(created["resume_token"])
        self.frames: list[Json] = [created]

    @property
    def last(self) -> int:
        return max(frame.get("server_event_seq", 0) for frame in self.frames)

    def resume(self, **members: Any) -> Json:
        return {
            "type": "session.resume",
            "session_id": self.session,
            "resume_token": self.token,
            "last_received_server_event_seq": self.last,
        } | members


async def take_seat(client: Wire, **session: Any) -> Seat:
    await client.send({"type": "session.update", "session": session})
    seat = Seat(await client.next("session.created"))
    seat.frames += await client.until("session.updated")
    return seat


@asynccontextmanager
async def back(server: RunningServer, seat: Seat, **members: Any) -> AsyncIterator[tuple[Wire, Json]]:
    """A new connection that takes the seat, and its first frame."""
    async with wire(server, WAITS) as client:
        await client.send(seat.resume(**members))
        resumed = await client.next()
        if resumed["type"] == "session.resumed":
            seat.token = resumed["resume_token"]
        yield client, resumed


async def ask(client: Wire, text: str, event_id: str) -> None:
    await client.send({"type": "input.text.append", "text": text, "event_id": event_id})


def drop(client: Wire) -> None:
    """The network is gone: no farewell."""
    client.socket.transport.abort()


def log_of(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda call: call())


def events(server: RunningServer, session: str) -> list[Event]:
    return [stored.event for stored in log_of(server).read(SessionId(session))]


def numbers(frames: list[Json]) -> list[int]:
    return [frame["server_event_seq"] for frame in frames if "server_event_seq" in frame]


def told(frames: list[Json]) -> str:
    """What was said, as a client puts it together."""
    deltas = [one["delta"] for one in frames if one["type"] == "response.output_audio_transcript.delta"]
    return "".join(deltas)


async def answered(client: Wire) -> list[Json]:
    await client.send({"type": "response.create"})
    return await client.until("rate_limits.updated")


async def test_a_client_that_comes_back_is_told_what_it_missed_and_no_more(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Hello", "evt_1")
        whole = await answered(client)
        seat.frames += whole[:9]
        drop(client)
    async with back(server, seat) as (client, resumed):
        assert resumed["type"] == "session.resumed"
        assert resumed["session_id"] == resumed["session"]["id"] == seat.session
        assert resumed["attachment_generation"] == 2
        assert resumed["as_of_server_event_seq"] == seat.last
        assert resumed["last_accepted_client_event_id"] == "evt_1"
        assert "server_event_seq" not in resumed
        missed = await client.until("rate_limits.updated")
        assert missed == whole[9:]
        await ask(client, "Again", "evt_2")
        more = await answered(client)
        assert numbers(more)[0] > numbers(missed)[-1]
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_an_answer_goes_on_while_nobody_listens(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Count", "evt_1")
        await client.send({"type": "response.create"})
        seat.frames += await client.until("response.output_audio.delta")
        drop(client)
    async with back(server, seat) as (client, _):
        seat.frames += await client.until("rate_limits.updated")
    assert told(seat.frames) == " ".join(COUNT) + " "
    sounds = [frame for frame in seat.frames if frame["type"] == "response.output_audio.delta"]
    assert len(sounds) == len(COUNT)
    assert numbers(seat.frames) == sorted(set(numbers(seat.frames)))


async def test_the_sound_of_an_answer_is_one_stream_over_a_resume(server: RunningServer) -> None:
    """Resampled: what comes after goes on from what came before, to the sample."""
    pcm = []
    for cut in (False, True):
        async with wire(server, WAITS) as client:
            seat = await take_seat(client, output_audio_format="g711_ulaw")
            await ask(client, "Count", "evt_1")
            whole = await answered(client)
            deltas = [n for n, frame in enumerate(whole) if frame["type"] == "response.output_audio.delta"]
            seat.frames += whole[: deltas[5] + 1] if cut else whole
            drop(client)
        if cut:
            async with back(server, seat) as (client, _):
                seat.frames += await client.until("rate_limits.updated")
        sounds = [frame["delta"] for frame in seat.frames if frame["type"] == "response.output_audio.delta"]
        pcm.append(b"".join(map(base64.b64decode, sounds)))
    assert pcm[0] == pcm[1]


async def test_what_was_taken_in_before_the_drop_is_not_taken_in_again(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "First", "evt_1")
        await ask(client, "Second", "evt_2")
        await client.send(
            {"type": "playback.ack", "played_ms": 1, "response_id": "nobody", "event_id": "evt_3"}
        )
        seat.frames += await client.until("error")
        drop(client)
    async with back(server, seat) as (client, resumed):
        assert resumed["last_accepted_client_event_id"] == "evt_3"
        await ask(client, "First", "evt_1")
        await ask(client, "Second", "evt_2")
        await ask(client, "Third", "evt_4")
        await ask(client, "Third", "evt_4")  # within one connection an id says nothing
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    texts = [
        event.item.content[0].text for event in events(server, seat.session) if isinstance(event, ItemAdded)
    ]
    assert texts == ["First", "Second", "Third", "Third"]
    accepted = [event for event in events(server, seat.session) if isinstance(event, CommandsAccepted)]
    assert [event.client_events for event in accepted] == [("evt_1",), ("evt_2",), ("evt_4",), ("evt_4",)]


async def test_audio_that_was_taken_in_before_the_drop_is_not_taken_in_again(server: RunningServer) -> None:
    """Also where several frames became one fact, and where the client sends them in other company."""
    async with wire(server, WAITS) as client:
        seat = await take_seat(client, input_audio_format="pcm16", sample_rate_hz=24_000)
        for number in range(5):
            await client.append(PIECE, event_id=f"audio_{number}")
        await client.send({"type": "session.heartbeat"})
        await client.next("session.heartbeat_ack")
        drop(client)
    async with back(server, seat) as (client, resumed):
        assert resumed["last_accepted_client_event_id"] == "audio_4"
        for number in range(3, 7):
            await client.append(PIECE, event_id=f"audio_{number}")
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    heard = [event.samples for event in events(server, seat.session) if isinstance(event, InputAppended)]
    assert sum(heard) == 7 * len(PIECE) // 2


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"resume_token": "guessed"}, "invalid_resume_token"),
        ({"resume_token": 7}, "invalid_session_resume"),
        ({"session_id": None}, "invalid_session_resume"),
        ({"session_id": "sess_nobody"}, "session_resume_expired"),
        ({"last_received_server_event_seq": -1}, "invalid_session_resume"),
        ({"last_received_server_event_seq": 10**9}, "session_resume_conflict"),
    ],
)
async def test_who_may_not_come_back_is_told_once_and_changes_nothing(
    server: RunningServer, members: Json, code: str
) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        async with back(server, seat, **members) as (other, error):
            assert (error["type"], error["error"]["code"]) == ("error", code)
            with pytest.raises(ConnectionClosed):
                await other.next()
            assert other.socket.close_code == 1008
        kinds = {type(event) for event in events(server, seat.session)}
        assert not kinds & {ClientResumed, ClientReplaced, CommandRefused}
        await client.send({"type": "session.heartbeat"})
        await client.next("session.heartbeat_ack")


async def test_the_old_token_is_good_until_the_new_connection_has_spoken(server: RunningServer) -> None:
    """Ours in case 26: also when the answer to a resume was lost on its way."""
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        drop(client)
    first = seat.token
    async with back(server, seat) as (client, resumed):
        drop(client)
    seat.token = first
    async with back(server, seat) as (client, again):
        assert again["type"] == "session.resumed"
        assert again["attachment_generation"] == resumed["attachment_generation"] + 1
        await client.send({"type": "session.heartbeat"})
        await client.next("session.heartbeat_ack")
        second = seat.token
        seat.token = first
        async with back(server, seat) as (_, refused):
            assert refused["error"]["code"] == "invalid_resume_token"
        seat.token = second
        assert ClientConfirmed in map(type, events(server, seat.session))


async def test_another_connection_takes_over_and_the_first_is_told(server: RunningServer) -> None:
    """Case 25."""
    async with wire(server, WAITS) as first:
        seat = await take_seat(first)
        async with back(server, seat) as (second, _):
            replaced = await first.next("session.replaced")
            assert (replaced["session_id"], replaced["attachment_generation"]) == (seat.session, 1)
            with pytest.raises(ConnectionClosed):
                await first.next()
            assert (first.socket.close_code, first.socket.close_reason) == (1000, "session_replaced")
            await ask(second, "Count", "evt_1")
            assert len(await answered(second)) > 20
            await second.send({"type": "session.close"})
            await second.until("session.closed")
    assert [type(event) for event in events(server, seat.session)].count(ClientReplaced) == 1
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_what_a_barge_in_made_void_is_not_heard_after_a_resume(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Count", "evt_1")
        await client.send({"type": "response.create"})
        seat.frames += await client.until("response.created")
        await client.until("response.output_audio.delta")
        await client.send({"type": "barge_in"})
        await client.until("rate_limits.updated")
        drop(client)
    async with back(server, seat) as (client, _):
        missed = await client.until("rate_limits.updated")
        kinds = [frame["type"] for frame in missed]
        assert "response.output_audio_transcript.delta" in kinds
        assert "response.output_audio.delta" not in kinds
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_a_plain_client_resumes_by_its_url(server: RunningServer) -> None:
    """With the id of the last frame it had; it is greeted as ever, and told the rest."""
    async with wire(server) as client:
        created = await client.next("session.created")
        session = created["session"]
        await client.send(
            {
                "type": "conversation.item.create",
                "item": {"type": "message", "role": "user", "content": [TEXT]},
            }
        )
        await client.send({"type": "response.create"})
        whole = await client.until("response.done")
        drop(client)
    query = f"?session_id={session['id']}&resume_token={session['resume_token']}&after={whole[8]['event_id']}"
    async with wire(server, query) as client:
        greeted = await client.next()
        assert greeted["type"] == "session.created"
        assert greeted["session"]["id"] == session["id"]
        assert greeted["session"]["resumed"] is True
        assert greeted["session"]["resume_token"] != session["resume_token"]
        assert await client.until("response.done") == whole[9:]
    assert session["attachment_generation"] == 1


@pytest.mark.parametrize(
    "query", ["?session_id=sess_1", "?resume_token=secret", "?session_id=&resume_token="]
)
async def test_a_url_that_names_half_of_a_session_opens_none(server: RunningServer, query: str) -> None:
    async with wire(server, query) as client:
        assert (await client.next())["error"]["code"] == "invalid_session_resume"
        with pytest.raises(ConnectionClosed):
            await client.next()


async def test_a_session_can_be_resumed_in_another_dialect(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Count", "evt_1")
        whole = await answered(client)
        drop(client)
    spoken = whole[numbers(whole).index(numbers(whole)[4])]
    after = spoken["server_event_seq"]
    async with wire(server, f"?session_id={seat.session}&resume_token={seat.token}&after={after}") as client:
        await client.next("session.created")
        plain = await client.until("response.done")
    assert {frame["type"] for frame in plain} >= {"response.output_audio.delta", "response.done"}
    assert all(int(frame["event_id"].removeprefix("event_")) > after for frame in plain)
    assert "epoch" not in plain[-1]


@pytest.mark.parametrize(
    ("named", "rate", "shown"),
    [
        ({"type": "audio/pcm", "rate": 24000}, 24000, "pcm16"),
        ({"type": "audio/pcmu"}, 8000, "g711_ulaw"),
        ({"type": "audio/pcma"}, 8000, "g711_alaw"),
    ],
)
async def test_formats_that_a_plain_client_named_hold_in_the_other_dialects(
    server: RunningServer, named: Json, rate: int, shown: str
) -> None:
    audio: Json = {"input": {"format": named}, "output": {"format": named}}
    async with wire(server) as client:
        created = await client.next("session.created")
        # the former rate must not stay when only the type is named anew
        for halves in ({"input": {"format": {"type": "audio/pcm", "rate": 24000}}}, audio):
            await client.send({"type": "session.update", "session": {"type": "realtime", "audio": halves}})
            await client.next("session.updated")
        drop(client)
    session, token = created["session"]["id"], created["session"]["resume_token"]
    for path, query in (("/v1/realtime", "duplex=1&"), ("/v1/duplex", "")):
        url = f"?{query}session_id={session}&resume_token={token}&after=64"
        async with wire(server, url, path=path) as client:
            token = (await client.next("session.resumed"))["resume_token"]
            await client.send({"type": "session.heartbeat"})
            missed = await client.until("session.heartbeat_ack")
            drop(client)
        now = [frame["session"] for frame in missed if frame["type"] == "session.updated"][-1]
        assert (now["input_audio_format"], now["sample_rate_hz"]) == (shown, rate)
        assert now["output_audio_format"] == shown
        assert now["audio"]["output"]["sample_rate_hz"] == rate


async def test_what_a_plain_client_calls_silence_means_nothing_in_the_other_dialects(
    server: RunningServer,
) -> None:
    async with wire(server) as client:
        created = await client.next("session.created")
        session: Json = {"type": "realtime", "overlap_silence_rms": "a lot"}
        await client.send({"type": "session.update", "session": session})
        await client.next("session.updated")
        drop(client)
    told = created["session"]
    url = f"?duplex=1&session_id={told['id']}&resume_token={told['resume_token']}"
    async with wire(server, url) as client:
        await client.next("session.resumed")
        await client.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(PIECE).decode()})
        await client.send({"type": "session.heartbeat"})
        await client.next("session.heartbeat_ack")


def test_a_call_goes_on_after_the_server_was_killed_and_after_it_was_stopped(tmp_path: Path) -> None:
    asyncio.run(_over_restarts(tmp_path))


async def _over_restarts(tmp_path: Path) -> None:
    port, config = free_port(), str(settings(tmp_path))
    options: Any = {"stage": "scripted", "port": port}
    with running(tmp_path / "data", "--config", config, **options) as server:
        async with wire(server, WAITS) as client:
            seat = await take_seat(client)
            await ask(client, "Count", "evt_1")
            await client.send({"type": "response.create", "event_id": "evt_2"})
            seat.frames += await client.until("response.output_audio.delta")
            server.kill()
            with pytest.raises(ConnectionClosed):
                await client.until("no such frame")
    with running(tmp_path / "data", "--config", config, **options) as server:
        async with back(server, seat) as (client, resumed):
            assert resumed["type"] == "session.resumed"
            assert resumed["last_accepted_client_event_id"] == "evt_2"
            seat.frames += await client.until("rate_limits.updated")
            done = [frame for frame in seat.frames if frame["type"] == "response.done"]
            assert [one["response"]["status"] for one in done] == ["completed"]
            assert told(seat.frames) == " ".join(COUNT) + " "
            assert numbers(seat.frames) == sorted(set(numbers(seat.frames)))
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed):
                await client.until("no such frame")
            assert client.socket.close_code == 1012
    assert SessionParked in map(type, events(server, seat.session))
    with running(tmp_path / "data", "--config", config, **options) as server:
        async with back(server, seat) as (client, resumed):
            assert resumed["type"] == "session.resumed"
            await ask(client, "Again", "evt_3")
            seat.frames += await answered(client)
            await client.send({"type": "session.close"})
            seat.frames += await client.until("session.closed")
    assert numbers(seat.frames) == sorted(set(numbers(seat.frames)))
    assert verify(log_of(server), SessionId(seat.session)).same


def test_who_does_not_come_back_in_time_finds_the_session_over(tmp_path: Path) -> None:
    asyncio.run(_too_late(tmp_path))


async def _too_late(tmp_path: Path) -> None:
    """Case 27, with the connection gone, and with the whole server gone meanwhile."""
    limits = "disconnect_grace_s = 0.2\nreaper_interval_s = 0.1"
    options: Any = {"stage": "scripted", "port": free_port()}
    with running(tmp_path / "data", "--config", str(settings(tmp_path, limits)), **options) as server:
        async with wire(server, WAITS) as client:
            seat = await take_seat(client)
            drop(client)
        server.wait_until(lambda: log_of(server).head(SessionId(seat.session)).sealed)
        last = [event for event in events(server, seat.session) if isinstance(event, SessionExpired)]
        assert [event.reason for event in last] == ["disconnect_grace_expired"]
        async with back(server, seat) as (_, error):
            assert error["error"]["code"] == "session_resume_expired"
        async with wire(server, WAITS) as client:
            seat = await take_seat(client)
            server.kill()
    with running(tmp_path / "data", "--config", str(settings(tmp_path, limits)), **options) as server:
        server.wait_until(lambda: log_of(server).head(SessionId(seat.session)).sealed)
        last = [event for event in events(server, seat.session) if isinstance(event, SessionExpired)]
        assert [event.reason for event in last] == ["disconnect_grace_expired"]


def test_where_the_journal_has_limits_what_is_too_old_is_not_told(tmp_path: Path) -> None:
    asyncio.run(_journal(tmp_path))


async def _journal(tmp_path: Path) -> None:
    """Case 24; ours: only where the server is set to the protocol's limits."""
    limits = "resume_replay_max_bytes_per_session = 4096"
    config = str(settings(tmp_path, limits))
    with running(tmp_path / "data", "--config", config, stage="scripted") as server:
        async with wire(server, WAITS) as client:
            seat = await take_seat(client)
            await ask(client, "Count", "evt_1")
            await answered(client)
            drop(client)
        async with back(server, seat) as (client, _):
            resync = await client.next("session.resync_required")
            assert (resync["session_id"], resync["reason"]) == (seat.session, "journal_overflow")
            with pytest.raises(ConnectionClosed):
                await client.next()
            assert client.socket.close_code == 1008
