"""What a client has asked for, in order, until it may be forgotten.

A command leaves only when the connection takes it, and it is kept after that: when the connection breaks,
nobody knows how much of it arrived. After a resume the server names the last command that it accepted, and
everything behind that is sent again, with its own event id, so that none counts twice.

What was sent is forgotten when the journal is full, the oldest first. What was not sent never is: then the
next command is refused, and its caller still has it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .errors import DuplexOverflowError

MOST_BYTES = 16 * 1024 * 1024
"""More than four minutes of pcm16 at 24 kHz."""
MOST_COMMANDS = 8192


@dataclass(frozen=True, slots=True)
class Command:
    event_id: str
    text: str
    """The frame as it goes over the wire."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """What is sent again. `gap`: commands before it were forgotten and may not have arrived."""

    resent: int
    gap: bool


class Journal:
    def __init__(self, *, most_bytes: int = MOST_BYTES, most_commands: int = MOST_COMMANDS) -> None:
        self._most_bytes, self._most_commands = most_bytes, most_commands
        self._kept = deque[Command]()
        self._bytes = 0
        self._begins = 0
        self._doubtful = False
        """Commands were forgotten for want of room, and the server has not said since what it accepted."""
        self.sent = 0
        """How many commands have ever been sent, counted from the first."""

    @property
    def end(self) -> int:
        """How many there have ever been."""
        return self._begins + len(self._kept)

    def add(self, command: Command) -> int:
        """Keep a command; its number. Raises DuplexOverflowError when there is no room: it is not kept."""
        while self._begins < self.sent and not self._fits(command):
            self._forget()
            self._doubtful = True
        if not self._fits(command):
            waiting = self.end - self.sent
            raise DuplexOverflowError(
                "commands",
                f"{waiting} commands wait for the connection, and there is no room for {command.event_id}",
            )
        self._kept.append(command)
        self._bytes += len(command.text)
        return self.end - 1

    def next(self) -> Command | None:
        """The first that was not sent. `sent` is for the caller to count up, once it is."""
        place = self.sent - self._begins
        return self._kept[place] if place < len(self._kept) else None

    def rewind(self, last_accepted: str | None) -> Rewound:
        """After a resume: forget what was accepted, send the rest again."""
        ids = [command.event_id for command in self._kept]
        if last_accepted in ids:
            for _ in range(ids.index(str(last_accepted)) + 1):
                self._forget()
            self._doubtful = False
        resent, self.sent = max(self.sent - self._begins, 0), self._begins
        gap, self._doubtful = self._doubtful, False
        return Rewound(resent, gap)

    def first_unsent(self) -> str | None:
        command = self.next()
        return None if command is None else command.event_id

    def _fits(self, command: Command) -> bool:
        return (
            len(self._kept) < self._most_commands and self._bytes + len(command.text) <= self._most_bytes
        ) or not self._kept

    def _forget(self) -> None:
        self._bytes -= len(self._kept.popleft().text)
        self._begins += 1
