"""A port of our own, from the look until somebody listens on it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from thespian.system import systemBase
from thespian.system.transport.IPBase import IPActorAddress

from antiphon.actors.processes import loopback
from antiphon.actors.processes.actor_system import ActorSystemOnLoopback
from antiphon.actors.processes.errors import LaunchError


def test_a_reserved_port_is_kept_from_others_and_open_to_who_knows_of_it() -> None:
    with loopback.reserved_port() as port, socket.socket() as stranger, socket.socket() as ours:
        with pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind(("127.0.0.1", port))
        ours.listen()
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert client.getpeername()[1] == port


def test_an_actor_system_that_cannot_have_its_port_says_so_with_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        IPActorAddress, "bindArgs", IPActorAddress.bindArgs
    )  # so that it is put back afterwards
    monkeypatch.setattr(systemBase, "MAX_SYSTEM_SHUTDOWN_DELAY", timedelta(seconds=-1))
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as thief,
    ):
        port = thief.getsockname()[1]

        @contextmanager
        def taken() -> Iterator[int]:
            yield port

        monkeypatch.setattr(loopback, "reserved_port", taken)
        with pytest.raises(LaunchError, match=f"thespian on port {port}") as failed:
            ActorSystemOnLoopback(tmp_path)
    assert failed.value.code == "actor_system_failed"
