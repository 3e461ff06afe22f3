"""kill -9 of the server in the middle of a conversation, and what is there afterwards."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from antiphon.actors.processes import loopback
from antiphon.actors.session.evolve import refold
from antiphon.actors.session.heard import heard_ms, heard_text
from antiphon.actors.session.state import Session
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect
from antiphon.events.vocabulary import SessionClosed, SessionFailed, SessionParked
from bench.ports import free_port
from tests.actors.server_process import eventually, is_alive
from tests.serving import running

from .wire import wire

TEXT = "One two three four five six seven eight nine ten."
SCRIPT = f"""
[stage.scripted]
text = "{TEXT}"
tone_ms = 10000
"""


async def test_a_server_killed_in_mid_response_leaves_no_trace_but_the_log(tmp_path: Path) -> None:
    (tmp_path / "talk.toml").write_text(SCRIPT)
    port, data = free_port(), tmp_path / "data"
    arguments = ("--config", str(tmp_path / "talk.toml"))
    with running(data, *arguments, stage="scripted", port=port) as server:
        async with wire(server) as client:
            session = SessionId((await client.next("session.created"))["session"]["id"])
            await client.send({"type": "response.create"})
            await client.next("response.output_audio.delta")
            for _ in range(25):  # the user listens for two seconds of ten, and the microphone is on
                await client.append(bytes(3840))
                await client.within(0.08)
            tree = [server.process.pid, *loopback.descendants(server.process.pid)]
            assert len(tree) >= 4
            for pid in tree:  # the launcher alone would leave the others half a second to say goodbye
                os.kill(pid, signal.SIGKILL)
            server.process.wait()
        eventually(lambda: not any(map(is_alive, tree)), within_s=2, what="no process is left")
    with running(data, *arguments, stage="scripted", port=port, ready=False) as again:
        assert again.wait("/live", seconds=2) <= 2
        again.wait("/health")
        pids = [again.process.pid, *loopback.descendants(again.process.pid)]
        assert loopback.off_loopback(pids) == []
        state = fold(data, session)
    played = state.played[-1]
    assert 1_500 <= heard_ms(played, state.mono_ns) <= 3_000
    said = heard_text(played, state.mono_ns)
    assert said
    assert TEXT.startswith(said)
    assert len(said.split()) <= 4


async def test_a_server_that_loses_its_launcher_says_goodbye_retryably_and_parks_its_sessions(
    tmp_path: Path,
) -> None:
    with running(tmp_path / "data") as server:
        async with wire(server) as client:
            session = SessionId((await client.next("session.created"))["session"]["id"])
            server.process.kill()
            server.process.wait()
            await client.socket.wait_closed()
            assert client.socket.close_code in (1001, 1012)
    store = SegmentLog(tmp_path / "data", deliver=lambda call: call())

    def is_parked() -> bool:
        events = {type(stored.event) for stored in store.read(session)}
        assert not events & {SessionClosed, SessionFailed}
        return SessionParked in events

    eventually(is_parked, within_s=5, what="the session is parked")


def fold(data: Path, session: SessionId) -> Session:
    """The session as a new writer finds it: the lock is free and the log folds."""
    store = SegmentLog(data, deliver=lambda call: call())
    lease, head = store.open(session, expect=Expect.RESUME, owner="test")
    state = Session(session)
    for stored in store.read(session):
        state = refold(state, stored)
    assert state.seq == head.next_seq
    store.release(lease)
    return state
