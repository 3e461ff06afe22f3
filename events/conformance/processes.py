"""Other processes that use the store under test, as a case sees them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

PIPE_BYTES = 1 << 20


class Child:
    """A running child.py."""

    def __init__(self, command: list[str]) -> None:
        # Whatever the tests can import, the child can.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        # A wide pipe, so that a child is not found waiting for us to listen.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, pipesize=PIPE_BYTES
        )
        assert self._process.stdout is not None
        self._said = self._process.stdout

    def line(self) -> str:
        """The next thing it says. An AssertionError if it has ended."""
        said = self._said.readline().decode().rstrip("\n")
        assert said, f"the child has ended with {self._process.wait()}"
        return said

    def lines(self) -> Iterator[str]:
        """What it says until it ends; a last line that was cut short is left out."""
        for line in self._said:
            if line.endswith(b"\n"):
                yield line.decode().rstrip("\n")

    def wait(self) -> int:
        return self._process.wait(120)

    def kill(self) -> None:
        """SIGKILL: it has no say in it."""
        self._process.kill()

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


class Children:
    """Starts them; `elsewhere` is how they open the store (StoreUnderTest)."""

    def __init__(self, elsewhere: tuple[str, ...]) -> None:
        self._elsewhere = elsewhere
        self._started: list[Child] = []

    def start(self, role: str, *arguments: object) -> Child:
        """`role` is one of child.py's."""
        opener = [str(len(self._elsewhere)), *self._elsewhere]
        program = [sys.executable, "-m", "antiphon.events.conformance.child"]
        child = Child([*program, *opener, role, *map(str, arguments)])
        self._started.append(child)
        return child

    def end(self) -> None:
        """End those that still live."""
        for child in self._started:
            child.end()
