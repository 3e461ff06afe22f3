"""Listening in on a session that is somebody else's."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from antiphon.events.ids import SessionId
from antiphon.events.store import Scope
from antiphon.replay.verify import verify
from antiphon.web.metrics import Metrics
from antiphon.web.observing import MOST_REFUSED, Observer
from antiphon.web.realtime.dialect import REALTIME
from tests.serving import RunningServer, running

from .test_resume import COUNT, WAITS, answered, ask, events, log_of, settings, take_seat, told
from .wire import WAIT_S, Wire, wire


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("observing")
    with running(folder / "data", "--config", str(settings(folder)), stage="scripted") as started:
        yield started


def observing(session: str, more: str = "") -> str:
    return f"?observe=1&session_id={session}{more}"


async def everything(client: Wire) -> list[dict[str, Any]]:
    """What comes until the connection is closed."""
    frames = []
    async with asyncio.timeout(WAIT_S):
        with contextlib.suppress(ConnectionClosed):
            while True:
                frames.append(await client.next())
    return frames


async def test_observers_hear_a_session_in_whatever_dialect_they_like(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        before = observing(seat.session)
        async with (
            wire(server, before) as plain,
            wire(server, before + "&duplex=1") as duplex,
            wire(server, before, path="/v1/duplex") as native,
        ):
            greeted = [(await one.next())["type"] for one in (plain, duplex, native)]
            assert greeted == ["session.created"] * 3
            await ask(client, "Count", "evt_1")
            whole = await answered(client)
            assert await duplex.until("rate_limits.updated") == [
                *seat.frames[1:],
                *whole,
            ]
            heard = await plain.until("response.done")
            assert told(heard) == " ".join(COUNT) + " "
            await native.until("response.done")
            await client.send({"type": "session.close"})
            await client.until("session.closed")
            assert (await everything(duplex))[-1]["type"] == "session.closed"
            assert duplex.socket.close_code == 1000
    assert verify(log_of(server), SessionId(seat.session)).same


async def test_an_observer_is_given_no_token_and_asks_for_nothing(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        async with wire(server, observing(seat.session, "&duplex=1")) as observer:
            created = await observer.next("session.created")
            assert "resume_token" not in created
            await observer.send({"type": "session.close"})
            assert (await observer.next("error"))["error"]["code"] == "observer_is_read_only"
        await ask(client, "Count", "evt_1")
        assert len(await answered(client)) > len(COUNT)
    assert not any(type(event).__name__ == "CommandRefused" for event in events(server, seat.session))


async def test_an_observer_that_asks_again_and_again_is_let_go(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        async with wire(server, observing(seat.session)) as observer:
            for _ in range(MOST_REFUSED + 1):
                await observer.socket.send("{}")
            frames = await everything(observer)
            assert (observer.socket.close_code, observer.socket.close_reason) == (1008, "too_many_errors")
    codes = [frame["error"]["code"] for frame in frames if frame["type"] == "error"]
    assert codes == ["observer_is_read_only"] * (MOST_REFUSED + 1)


async def test_a_session_that_is_over_can_be_observed_from_its_beginning(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Count", "evt_1")
        seat.frames += await answered(client)
        await client.send({"type": "session.close"})
        seat.frames += await client.until("session.closed")
    async with wire(server, observing(seat.session, "&duplex=1&after=0")) as observer:
        frames = await everything(observer)
    assert frames[1:] == seat.frames[1:]


async def test_a_session_whose_audio_was_erased_is_told_without_its_sound(server: RunningServer) -> None:
    async with wire(server, WAITS) as client:
        seat = await take_seat(client)
        await ask(client, "Count", "evt_1")
        await answered(client)
        await client.send({"type": "session.close"})
        await client.until("session.closed")
    session = SessionId(seat.session)
    server.wait_until(lambda: log_of(server).head(session).sealed)
    log_of(server).erase(session, Scope.AUDIO)
    async with wire(server, observing(seat.session, "&duplex=1&after=0")) as observer:
        frames = await everything(observer)
    assert frames[-1]["type"] == "session.closed"
    assert told(frames) == " ".join(COUNT) + " "
    deltas = [frame["delta"] for frame in frames if frame["type"] == "response.output_audio.delta"]
    assert set(deltas) == {""}


@pytest.mark.parametrize(("more", "code"), [("", "session_not_found"), ("&after=soon", "invalid_value")])
async def test_what_cannot_be_observed_is_said(server: RunningServer, more: str, code: str) -> None:
    async with wire(server, observing("sess_nobody", more)) as observer:
        assert (await observer.next("error"))["error"]["code"] == code
        with pytest.raises(ConnectionClosed):
            await observer.next()
        assert observer.socket.close_code == 1008


async def test_it_takes_an_operators_key(tmp_path: Path) -> None:
    env = {"ANTIPHON_KEYS": "a-users-key", "ANTIPHON_OPERATOR_KEYS": "an-operators-key"}
    with running(tmp_path / "data", "--config", str(settings(tmp_path)), stage="scripted", env=env) as server:
        users = {"additional_headers": {"authorization": "Bearer a-users-key"}}
        operators = {"additional_headers": {"authorization": "Bearer an-operators-key"}}
        async with wire(server, WAITS, **users) as client:
            seat = await take_seat(client)
            for refused in (users, {}):
                with pytest.raises(InvalidStatus, match="401"):
                    async with wire(server, observing(seat.session), **refused):
                        pass
            with pytest.raises(InvalidStatus, match="401"):
                async with wire(server, **operators):
                    pass
            async with wire(server, observing(seat.session), **operators) as observer:
                assert (await observer.next())["session"]["id"] == seat.session
    keys = {"ANTIPHON_KEYS": "a-users-key"}
    with running(tmp_path / "data", env=keys) as server, pytest.raises(InvalidStatus, match="403"):
        async with wire(server, observing(seat.session), **users):
            pass


class BrokenStore:
    """A stub of a log whose reading fails by a mistake of ours."""

    def head(self, session: SessionId) -> Any:
        raise ValueError("a mistake")


class Watching:
    """A stub of a connection that listens in, and says nothing."""

    scope: ClassVar[dict[str, Any]] = {}
    query_params: ClassVar[dict[str, str]] = {"session_id": "sess_1"}

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)


async def test_a_mistake_of_ours_ends_an_observer_and_is_not_called_the_clients() -> None:
    stub: Any = Watching()
    broken: Any = BrokenStore()
    async with asyncio.timeout(WAIT_S):
        await Observer(stub, REALTIME, Metrics()).observe(broken)
    assert stub.sent == [{"type": "websocket.close", "code": 1011, "reason": "internal_error"}]
