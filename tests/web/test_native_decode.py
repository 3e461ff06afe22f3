"""What a native client's frames ask for: what the duplex dialect's do, and how a session opens."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.session.commands import Command
from antiphon.actors.session.refusals import Refused
from antiphon.events.vocabulary import Config
from antiphon.projections.duplex.errors import CODES, TYPES
from antiphon.web.dialect import Left
from antiphon.web.duplex.decode import DuplexDecoder
from antiphon.web.native import frames as f
from antiphon.web.native.decode import NativeDecoder
from antiphon.web.native.opening import begin
from antiphon.web.realtime.undecodable import Undecodable
from antiphon.web.wishes import AskItem, Beat, Wish

from .test_duplex_decode import SIMPLE
from .test_duplex_session import ABLE

NAMES = sorted(str(cls.__struct_config__.tag) for cls in f.KINDS)
OPENINGS = ["session.create", "open_session", "session.config"]


def decoder() -> NativeDecoder:
    return NativeDecoder(Config)


@pytest.mark.parametrize(("frame", "wish"), SIMPLE, ids=lambda value: str(value)[:60])
def test_a_frame_asks_for_what_it_asks_for_in_duplex(frame: dict[str, Any], wish: Any) -> None:
    assert decoder().read(json.dumps(frame)) == [wish]


@pytest.mark.parametrize(
    ("kind", "code"),
    [*((kind, "session_exists") for kind in OPENINGS), ("session.resume", "unsupported_session_resume")],
)
def test_an_open_session_is_not_opened_again_nor_resumed(kind: str, code: str) -> None:
    with pytest.raises(Undecodable) as caught:
        decoder().read(json.dumps({"type": kind, "event_id": "e", "session": {}}))
    assert (caught.value.code, caught.value.client_event) == (code, "e")


def test_what_is_in_a_hurry_or_audio_in_duplex_is_so_here() -> None:
    for one in ("hurried", "audio", "voiding"):
        assert getattr(NativeDecoder, one) == getattr(DuplexDecoder, one) <= f.KINDS.keys()


# --- opening ----------------------------------------------------------------------------------------------


async def opened(first: dict[str, Any] | str, query: dict[str, str] | None = None) -> Config:
    async def receive() -> dict[str, Any]:
        return {
            "type": "websocket.receive",
            "text": first if isinstance(first, str) else json.dumps(first),
        }

    began = await begin(query or {}, receive, lambda: ABLE, "house")
    assert began.first is None
    return began.config


@pytest.mark.parametrize("kind", OPENINGS)
@pytest.mark.parametrize("nested", [True, False])
async def test_a_session_opens_as_it_says_under_each_name(kind: str, nested: bool) -> None:
    session = {"instructions": "Be brief.", "playback_commit_policy": "commit_all_on_done"}
    first = {"type": kind, **({"session": session} if nested else session)}
    config = await opened({**first, "session_id": "mine"})
    assert (config.instructions, config.playback) == ("Be brief.", "commit_all_on_done")
    assert "session_id" not in config.echo, "the server names sessions"


async def test_a_session_that_says_nothing_runs_by_what_is_usual() -> None:
    config = await opened({"type": "session.create"})
    assert (config.model, config.playback, config.strict, config.overlap is None) == (
        "house",
        "ack_only",
        True,
        False,
    )
    assert (await opened({"type": "session.create"}, {"model": "m"})).model == "m"
    assert (await opened({"type": "session.create", "session": {"model": "n"}}, {"model": "m"})).model == "n"


async def test_who_goes_before_saying_anything_has_left() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "websocket.disconnect", "code": 1001}

    with pytest.raises(Left):
        await begin({}, receive, lambda: ABLE, "")


# --- whatever comes ---------------------------------------------------------------------------------------

MEMBERS = sorted(
    {name for cls in f.KINDS for name in cls.__struct_fields__}
    | {"type", "instructions", "modalities", "turn_detection", "extra_body", "tools", "id", "content", "role"}
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["UklGRg==", "AAAA", "pcm16", "wav", "barge_in", "session.update", "message", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.builds(
    lambda kind, members: {**members, "type": kind},
    st.sampled_from(NAMES) | st.text(max_size=8),
    st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=5),
)
TEXTS = OBJECTS.map(json.dumps) | st.text(max_size=40) | VALUES.map(json.dumps)


def read_by(reader: NativeDecoder, text: str) -> tuple[list[Wish], str | None]:
    """What the frame asks for, or the code of why that cannot be said."""
    try:
        return reader.read(text), None
    except Undecodable as bad:
        return [], bad.code


@settings(max_examples=400, deadline=None)
@given(texts=st.lists(TEXTS, max_size=4))
def test_whatever_comes_is_read_or_refused_by_name(texts: list[str]) -> None:
    reader = decoder()
    for text in texts:
        wishes, code = read_by(reader, text)
        assert code is None or CODES.get(code, code) in TYPES
        assert all(isinstance(wish, Command | AskItem | Beat) for wish in wishes)
    assert all(isinstance(wish, Command) for wish in reader.flush())


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
async def test_whatever_comes_first_opens_a_session_or_is_refused(text: str) -> None:
    with contextlib.suppress(Undecodable, Refused):
        assert (await opened(text)).strict
