"""A client that was here before, and says so in its URL or in its first message.

    ?session_id=S&resume_token=T[&after=N]      in every dialect
    session.resume                              as the first message of a duplex connection

`after` is the number of the last frame that the client has, or the id of that frame, which ends in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.events.ids import SessionId

from .dialect import Return
from .realtime.undecodable import Undecodable

LONGEST = 256
"""Characters of an id or a token."""


def asked_in(query: Mapping[str, str]) -> Return | None:
    """The return that a URL asks for, if it does. Raises Undecodable `invalid_session_resume`."""
    if "resume_token" not in query and "session_id" not in query:
        return None
    try:
        after: object = number_in(query.get("after"))
    except ValueError:
        after = query["after"]
    return asked_by(query.get("session_id"), query.get("resume_token"), after, None, named="after")


def number_in(given: str | None) -> int | None:
    """The number of the frame that is named by it or by its id; None: none is. Raises ValueError."""
    digits = (given or "").removeprefix("event_")
    if digits and not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise ValueError(given)
    return int(digits) if digits else None


def asked_by(
    session: object,
    token: object,
    after: object,
    client_event: str | None,
    named: str = "last_received_server_event_seq",
) -> Return:
    """The return that a client asks for, from members that may be anything. `named` is what it calls `after`.

    Raises Undecodable `invalid_session_resume`.
    """
    for name, given in (("session_id", session), ("resume_token", token)):
        if not isinstance(given, str) or not 0 < len(given) <= LONGEST:
            raise _invalid(f"to come back takes the {name} that was given", name, client_event)
    if after is not None and (
        isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 2**63
    ):
        raise _invalid(f"{named} says which frame was received last", named, client_event)
    return Return(SessionId(str(session)), str(token), after)


def _invalid(message: str, parameter: str, client_event: str | None) -> Undecodable:
    return Undecodable("invalid_session_resume", message, parameter, client_event)
