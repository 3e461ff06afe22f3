"""Whatever a session goes through, a duplex client sees it in lawful order, and always the same."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Overlap
from tests.actors.session.given import Talk
from tests.actors.session.test_any_conversation import CONVERSATIONS, KINDS, Act

from .duplex_laws import check, frames_of

POLICIES = st.sampled_from(["ack_only", "commit_all_on_done", "estimate"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=KINDS, policy=POLICIES, overlap=st.booleans(), acts=CONVERSATIONS)
def test_every_frame_of_any_conversation_is_lawful(
    kind: dict[str, Any], policy: Any, overlap: bool, acts: list[tuple[Act, int]]
) -> None:
    talk = Talk(**kind)
    talk.do(c.Configure(playback=policy, overlap=Overlap() if overlap else None))
    for act, n in acts:
        act(talk, n)
    check(frames_of(talk.stored))


def test_the_same_events_always_give_the_same_frames() -> None:
    talk = Talk()
    talk.utterance()
    talk.say("Hello.", 300)
    talk.finish()
    assert frames_of(talk.stored) == frames_of(talk.stored)
