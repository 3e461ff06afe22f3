"""How a native session begins: with its client's first message, which must come within CONFIG_TIMEOUT_S.

    session.create, open_session, session.config    opens the session as it says
    any other event                                 opens nothing

`?model=X` is what its model is called where session.create does not say. Whatever fails before the session is
open ends the connection, after one error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET

from antiphon.events.vocabulary import Abilities, Config
from antiphon.web.dialect import Beginning, Receive
from antiphon.web.duplex.frames import SessionResume
from antiphon.web.duplex.opening import first_message, opened_config, usual_config
from antiphon.web.duplex.session import configure
from antiphon.web.intake import read_aside
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f
from .decode import NativeDecoder, cannot_resume


async def begin(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning:
    """Raises Undecodable, Refused, Left, and whatever asking for abilities raises."""
    text = await first_message(receive)
    able = abilities()
    usual = usual_config(able, query.get("model") or model)
    return await read_aside(text, lambda text: _opened(text, able, usual))


def _opened(text: str, able: Abilities, usual: Config) -> Beginning:
    """Raises Undecodable, Refused."""
    frame = NativeDecoder(lambda: usual).parse(text)
    match frame:
        case f.SessionCreate(session=session):
            given = {} if session is UNSET else session
            return Beginning(
                opened_config(able, usual, configure(given, usual, frame.event_id, opening=True))
            )
        case SessionResume():
            cannot_resume(frame)
        case _:
            message = "a session opens with session.create"
            raise Undecodable("unknown_session", message, "type", frame.event_id)
