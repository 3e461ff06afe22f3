"""How a duplex session begins.

    ?model=X                        at once, with the session {"model": X}
    otherwise, or ?autostart=0      with the first message, which must come within CONFIG_TIMEOUT_S
        session.update              opens the session as it says
        session.resume              brings the client back to the session that it names
        any other event             opens a session of defaults, and is then what is asked first

Whatever fails before the session is open ends the connection, after one error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.actors.session.commands import Configure
from antiphon.actors.session.decide import decide
from antiphon.actors.session.state import Session
from antiphon.events.ids import SessionId
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Abilities, Config, ConfigProposed, Overlap, SessionConfigured
from antiphon.web.coming_back import asked_by
from antiphon.web.dialect import Beginning, Left, Receive, Return
from antiphon.web.intake import read_aside
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f
from .decode import DuplexDecoder
from .session import configure

CONFIG_TIMEOUT_S = 10.0

YES = ("1", "true", "on")
NO = ("0", "false", "no", "off")


def is_asked_for(query: Mapping[str, str]) -> bool:
    """Whether a connection to /v1/realtime wants this dialect."""
    return query.get("duplex", "").lower() in YES


async def begin(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning | Return:
    """Raises Undecodable, Refused, Left, and whatever asking for abilities raises."""
    model = query.get("model") or model
    if query.get("model") and not _waits(query):
        return Beginning(usual_config(abilities(), model))
    text = await first_message(receive)
    able = abilities()  # who speaks first is answered, also where nothing can be opened
    usual = usual_config(able, model)
    return await read_aside(text, lambda text: _beginning(text, able, usual))


def _beginning(text: str, able: Abilities, usual: Config) -> Beginning | Return:
    """What the first message opens, or goes on with. Raises Undecodable, Refused."""
    frame = DuplexDecoder(lambda: usual).parse(text)
    match frame:
        case f.SessionUpdate(session=session):
            given = {} if session is UNSET else session
            asked = configure(given, usual, frame.event_id, opening=True)
            return Beginning(opened_config(able, usual, asked))
        case f.SessionResume():
            after = frame.last_received_server_event_seq
            return asked_by(frame.session_id, frame.resume_token, after, frame.event_id)
        case _:
            return Beginning(usual, text)


def _waits(query: Mapping[str, str]) -> bool:
    """Whether nothing is to be opened before the client's first message."""
    resumes = query.get("resume", "").lower() in (*YES, "yes")
    return resumes or query.get("autostart", "").lower() in NO


async def first_message(receive: Receive) -> str:
    try:
        message = await asyncio.wait_for(receive(), CONFIG_TIMEOUT_S)
    except TimeoutError:
        told = f"nothing came within {CONFIG_TIMEOUT_S:g} s"
        raise Undecodable("config_timeout", told) from None
    if message["type"] == "websocket.disconnect":
        raise Left
    text = message.get("text")
    if not isinstance(text, str):
        raise Undecodable("invalid_json", "frames are JSON text, not binary")
    return text


def usual_config(abilities: Abilities, model: str) -> Config:
    """What a session runs by where its client says nothing."""
    return Config(
        model=model or abilities.stage,
        output_modalities=("text", "audio") if abilities.speaks else ("text",),
        overlap=Overlap(),
        playback="ack_only",
        strict=True,
    )


def opened_config(abilities: Abilities, usual: Config, asked: Configure) -> Config:
    """The configuration to open with: decided as for a session that runs by the usual one. Raises Refused.

    The stage is opened with it, so all of it can still be told to the stage.
    """
    abilities = replace(abilities, confirms_config=True)
    if isinstance(asked.model, str):
        usual, asked = replace(usual, model=asked.model), replace(asked, model=UNSET)
    state = Session(SessionId(""), phase="open", abilities=abilities, config=usual)
    for draft in decide(state, asked, Moment(0, 0)).drafts:
        if isinstance(draft.event, SessionConfigured | ConfigProposed):
            return draft.event.config
    return usual
