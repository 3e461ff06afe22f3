"""The stage that a case tries: the engine behind the desk and the socket that it is served with."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from antiphon.actors.processes.stage_server import StageServer
from antiphon.actors.stages.contract import Opened

from .client import Client
from .recorder import Recorder
from .talk import Talk
from .under_test import StageUnderTest


class Rig:
    """One running stage. Everything may be asked from the test's thread."""

    def __init__(self, stage: StageUnderTest, folder: Path) -> None:
        self.stage = stage
        self.engine = Recorder(stage.engine())
        self.descriptor = self.engine.descriptor
        self.died = threading.Event()
        self._path = folder / "stage.sock"
        self._clients: list[Client] = []
        self._names = itertools.count()
        self._server = StageServer(self._path, died=self.died.set)
        self._server.start()
        self._server.ready(self.engine)

    def client(self) -> Client:
        client = Client(self._path, self.stage.patience_s)
        self._clients.append(client)
        return client

    def talk(self, client: Client | None = None, *, name: str = "", first: int = 0) -> Talk:
        """A session of its own, not opened yet."""
        name = name or f"session-{next(self._names)}"
        return Talk(client or self.client(), self.stage, self.descriptor, name, first)

    def opened(self, client: Client | None = None, *, first: int = 0) -> Talk:
        talk = self.talk(client, first=first)
        answer = talk.open()
        assert isinstance(answer, Opened), f"the stage takes no session in: {answer}"
        return talk

    def on_the_loop(self, call: Callable[[], object]) -> None:
        """Do it on the thread that the engine is called on. Raises what it raises."""
        done: Future[None] = Future()

        def do() -> None:
            try:
                call()
                done.set_result(None)
            except Exception as error:  # noqa: BLE001  # raised below
                done.set_exception(error)

        self._server.post(do)
        done.result(self.stage.patience_s)

    def stop(self) -> None:
        """End the stage; afterwards the engine says nothing more."""
        self._server.stop(self.stage.patience_s)

    def end(self) -> None:
        for client in self._clients:
            client.close()
        self.stop()


class Tried:
    """What every case inherits: it has a rig, because its subclass has a `stage`."""

    @pytest.fixture
    def rig(self, stage: StageUnderTest) -> Iterator[Rig]:
        with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:  # a socket's path has 107 bytes
            rig = Rig(stage, Path(folder))
            try:
                yield rig
            finally:
                rig.end()
