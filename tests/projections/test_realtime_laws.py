"""Whatever a session goes through, every frame of it is one the public SDK accepts, and in lawful order."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.actors.session.acts import ACTS
from tests.actors.session.given import Talk
from tests.actors.session.laws import check_frames, frames_of
from tests.actors.session.test_any_conversation import PLAIN, Conversation, Kind, conversations

from .sdk import all_judged


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(PLAIN), acts=conversations(ACTS))
def test_every_frame_of_any_conversation_is_accepted_by_the_sdk(kind: Kind, acts: Conversation) -> None:
    talk = Talk(**kind)
    for act, n in acts:
        act(talk, n)
    all_judged(frames_of(talk.stored)[1])
    check_frames(talk.stored)


def test_the_same_events_always_give_the_same_frames() -> None:
    talk = Talk()
    talk.utterance()
    talk.say("Hello.", 300)
    talk.finish()
    assert frames_of(talk.stored) == frames_of(talk.stored)
