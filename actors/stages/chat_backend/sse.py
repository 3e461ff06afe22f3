"""Server-sent events: bytes in, the data of whole events out. Sans-I/O.

Lines end with CR, LF or both; an event ends at an empty line; its `data` lines are joined by LF. Comments and
other fields are skipped. Source: HTML Living Standard, section 9.2.6.
"""

import re

MAX_EVENT = 1 << 20
"""Bytes of an event that is not yet whole; more is no chat answer."""

_LINE_END = re.compile(rb"\r\n|\n|\r")


class TooLong(ValueError):
    """The server sends and sends, and no event ends."""

    code = "event_too_long"


class Events:
    """Follows one stream."""

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[str]:
        """The data of every event that `piece` completes. Raises TooLong."""
        self._buffer += piece
        events = []
        while end := self._line_end():
            line, self._buffer = self._buffer[: end.start()], self._buffer[end.end() :]
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                events.append(b"\n".join(self._data).decode("utf-8", errors="replace"))
                self._data = []
        if len(self._buffer) + sum(map(len, self._data)) > MAX_EVENT:
            raise TooLong(f"an event of more than {MAX_EVENT} bytes")
        return events

    def _line_end(self) -> re.Match[bytes] | None:
        """The next line end; a CR at the very end may be the first half of one and has to wait."""
        end = _LINE_END.search(self._buffer)
        half = end is not None and end.group() == b"\r" and end.end() == len(self._buffer)
        return None if half else end
