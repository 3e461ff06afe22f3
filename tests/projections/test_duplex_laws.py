"""Whatever a session goes through, a duplex client and a native one see it in lawful order, always the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.events.vocabulary import Config
from antiphon.projections.base import Projection
from antiphon.projections.dialects import DIALECTS
from tests.actors.session.acts import ACTS, DUPLEX_ACTS
from tests.actors.session.given import Talk
from tests.actors.session.test_any_conversation import (
    DUPLEX,
    PLAIN,
    TERMS,
    Conversation,
    Kind,
    conversations,
)

from . import native_laws
from .duplex_laws import check, continued, frames_of
from .sdk import MODELS

EXAMPLES = 2_000 if os.environ.get("CI") else 100


def acted_out(kind: Kind, acts: Conversation) -> Talk:
    talk = Talk(terms=TERMS, token=b"token", **kind)
    for act, n in acts:
        act(talk, n)
    return talk


LAWS: dict[str, tuple[Projection, Callable[[list[dict[str, Any]]], None]]] = {
    "duplex": (DIALECTS["duplex"], check),
    "native": (DIALECTS["native"], native_laws.check),
}
dialects = pytest.mark.parametrize("dialect", LAWS)


def held_to_its_laws(dialect: str, kind: Kind, acts: Conversation) -> None:
    projection, laws = LAWS[dialect]
    laws(frames_of(acted_out(kind, acts).stored, projection))


@dialects
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(DUPLEX), acts=conversations(DUPLEX_ACTS))
def test_every_frame_of_any_conversation_is_lawful(dialect: str, kind: Kind, acts: Conversation) -> None:
    held_to_its_laws(dialect, kind, acts)


@dialects
@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(PLAIN), acts=conversations(ACTS))
def test_the_log_of_a_plain_session_can_be_read_as_well(dialect: str, kind: Kind, acts: Conversation) -> None:
    held_to_its_laws(dialect, kind, acts)


@dialects
@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(DUPLEX), acts=conversations(DUPLEX_ACTS), cut=st.floats(0, 1))
def test_what_was_seen_and_the_rest_are_the_whole(
    dialect: str, kind: Kind, acts: Conversation, cut: float
) -> None:
    """Wherever it is cut, and however often it goes on from there."""
    log, (projection, _) = acted_out(kind, acts).stored, LAWS[dialect]
    at = int(cut * len(log))
    view, seen = continued(projection.begin(1), log[:at], projection)
    for _ in range(2):
        _, rest = continued(view, log[at:], projection)
        assert [*seen, *rest] == frames_of(log, projection)


PCM_24 = {"audio": {"input": {"format": {"type": "pcm16", "rate": 24_000}}}}
OWN_REASONS = {"turn_detected", "client_cancelled", "max_output_tokens", "content_filter"}


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(DUPLEX), acts=conversations(DUPLEX_ACTS))
def test_frames_of_the_public_protocol_are_as_its_sdk_wants_them(kind: Kind, acts: Conversation) -> None:
    """Where a client asks for the only rate that it knows. Only why an answer ended may be a word of ours."""
    config = replace(kind.get("config", Config()), echo=PCM_24)
    for frame in frames_of(acted_out(kind | {"config": config}, acts).stored):
        model = MODELS.get(frame["type"])
        if model is None:
            continue
        details = frame.get("response", {}).get("status_details")
        if details is not None and details["reason"] not in OWN_REASONS:
            del details["reason"]
        model.model_validate_json(json.dumps(frame), strict=True)
