"""Whatever a session goes through, a duplex client sees it in lawful order, and always the same."""

from __future__ import annotations

import json
import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.events.vocabulary import Config
from tests.actors.session.acts import ACTS, DUPLEX_ACTS
from tests.actors.session.given import Talk
from tests.actors.session.test_any_conversation import (
    DUPLEX,
    PLAIN,
    Conversation,
    Kind,
    conversations,
)

from .duplex_laws import check, frames_of
from .sdk import MODELS

EXAMPLES = 2_000 if os.environ.get("CI") else 100


def acted_out(kind: Kind, acts: Conversation) -> Talk:
    talk = Talk(**kind)
    for act, n in acts:
        act(talk, n)
    return talk


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(DUPLEX), acts=conversations(DUPLEX_ACTS))
def test_every_frame_of_any_conversation_is_lawful(kind: Kind, acts: Conversation) -> None:
    check(frames_of(acted_out(kind, acts).stored))


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(PLAIN), acts=conversations(ACTS))
def test_the_log_of_a_plain_session_can_be_read_by_a_duplex_client(kind: Kind, acts: Conversation) -> None:
    check(frames_of(acted_out(kind, acts).stored))


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


def test_the_same_events_always_give_the_same_frames() -> None:
    talk = Talk()
    talk.utterance()
    talk.say("Hello.", 300)
    talk.finish()
    assert frames_of(talk.stored) == frames_of(talk.stored)
