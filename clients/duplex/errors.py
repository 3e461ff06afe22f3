"""What can go wrong between a client and its session.

DuplexClientError
  DuplexConnectionError       no connection, or one that was lost and could not be had back
  DuplexProtocolError         the server said `error`; `code` names it, `event_id` the command it is about
  DuplexSessionClosedError    the session is over; `reason` says why
    DuplexSessionReplacedError  somebody else resumed it: it goes on, without this client
  DuplexOverflowError         more came than is kept: `what` it was ("commands", "audio")

None of them is raised for what a resume mends: that is told as an event, `connection.lost` and then
`connection.resumed`.
"""

from __future__ import annotations

from typing import Any, Literal


class DuplexClientError(Exception):
    """Base of everything that goes wrong."""


class DuplexConnectionError(DuplexClientError):
    """There is no connection to the server."""


class DuplexProtocolError(DuplexClientError):
    """The server refused something, or something of its own failed."""

    def __init__(self, code: str, message: str, *, event_id: str | None = None, raw: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.event_id, self.raw = code, event_id, raw


class DuplexSessionClosedError(DuplexClientError):
    """The session is over."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the session is over: {reason}")
        self.reason = reason


class DuplexSessionReplacedError(DuplexSessionClosedError):
    """The session has another client now; `attachment_generation` was this one's."""

    def __init__(self, attachment_generation: int | None) -> None:
        super().__init__("replaced by another client")
        self.attachment_generation = attachment_generation


class DuplexOverflowError(DuplexClientError):
    """Commands: not taken, the caller still has it. Audio: what the answer holds is whole, up to a gap of
    `lost_bytes`."""

    def __init__(self, what: Literal["commands", "audio"], message: str, *, lost_bytes: int = 0) -> None:
        super().__init__(message)
        self.what, self.lost_bytes = what, lost_bytes


def protocol_error(body: dict[str, Any]) -> DuplexProtocolError:
    """An `error` frame as an exception. Early servers put the words where the object is now."""
    error = body.get("error")
    said = error if isinstance(error, dict) else {"code": body.get("code"), "message": error}
    event_id = said.get("event_id")
    return DuplexProtocolError(
        str(said.get("code") or "unknown"),
        str(said.get("message") or "no reason given"),
        event_id=event_id if isinstance(event_id, str) else None,
        raw=body,
    )
