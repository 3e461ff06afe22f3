"""Whatever happens in whatever order, what must always hold holds.

A conversation is drawn as a list of acts (acts.py) and acted out against a live session: clients that say
sensible and foolish things, stages that answer, repeat themselves and come late, clocks that move, writers
that die. After each step the session is held to what given.py holds every session to.

`pytest -m campaign` acts out 100,000 conversations, each of which is its seed.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.heard import heard_ms
from antiphon.actors.session.state import Session
from antiphon.events.units import samples_to_ms
from antiphon.events.vocabulary import Config, Overlap, Terms

from .acts import (
    ACTS,
    DUPLEX_ACTS,
    Act,
    acknowledge,
    change_writer,
    commit_somehow,
    end,
    end_unit,
    fall_silent,
    finish,
    pass_time,
    report_sent,
    say,
    send_judged,
    speak_up,
    truncate,
    understand,
)
from .given import VAD, Talk, kept
from .laws import check_duplex_frames, check_events, check_frames, frames_of

EXAMPLES = 2_000 if os.environ.get("CI") else 150

Kind = dict[str, Any]
TERMS = Terms(disconnect_grace_s=30, idle_ttl_s=300, max_session_s=3_600)
Conversation = list[tuple[Act, int]]

PLAIN: list[Kind] = [
    {},
    {"detection": None},
    {"hears": "continuously"},
    {"hears": "continuously", "detection": None},
    {"must_not_repeat": True},
    {"modalities": ("text",)},
]

ASKED = Config(strict=True, playback="ack_only", overlap=Overlap())
BY_ITSELF = Config(strict=True, playback="ack_only", overlap=Overlap(), auto_response=True)
LET_IN = Config(
    playback="commit_all_on_done", overlap=Overlap(policy="barge_in_on_speech"), auto_response=True
)
NATIVE: dict[str, Any] = {"unit_ms": 200, "sees": True, "reads": False, "calls_tools": True}

DUPLEX: list[Kind] = [
    {"detection": None, "config": ASKED},
    {"detection": None, "config": BY_ITSELF},
    {"detection": VAD, "config": LET_IN},
    {"detection": None, "config": LET_IN, "able": {"confirms_config": True}},
    {"hears": "continuously", "detection": None, "config": BY_ITSELF},
    {"hears": "continuously", "detection": VAD, "config": LET_IN},
    {"hears": "continuously", "detection": None, "config": ASKED, "able": NATIVE},
    {"hears": "continuously", "detection": None, "config": BY_ITSELF, "able": NATIVE},
    {"hears": "continuously", "detection": VAD, "config": LET_IN, "able": NATIVE | {"reads": True}},
    {
        "hears": "continuously",
        "detection": None,
        "config": BY_ITSELF,
        "able": NATIVE | {"confirms_config": True, "response_options": ("instructions",)},
    },
    {"hears": "continuously", "detection": VAD, "able": NATIVE | {"confirms_config": True}},
]


def conversations(acts: list[Act]) -> st.SearchStrategy[Conversation]:
    return st.lists(st.tuples(st.sampled_from(acts), st.integers(0, 9)), min_size=20, max_size=60)


FULL: Conversation = [
    (speak_up, 9), (fall_silent, 4), (understand, 1), (fall_silent, 7), (say, 4), (report_sent, 9), (say, 7),
    (pass_time, 3), (speak_up, 9), (say, 9), (fall_silent, 9), (understand, 2), (say, 4), (finish, 0),
    (acknowledge, 2), (change_writer, 0), (truncate, 1), (pass_time, 5), (end, 9),
]  # fmt: skip
IN_UNITS: Conversation = [
    (send_judged, 3), (end_unit, 0), (end_unit, 3), (change_writer, 0), (send_judged, 4), (end_unit, 4),
    (send_judged, 1), (commit_somehow, 1), (end_unit, 0), (end_unit, 3), (pass_time, 3), (end_unit, 3),
    (pass_time, 3), (end_unit, 0), (pass_time, 5), (pass_time, 5), (end, 9),
]  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(PLAIN), acts=conversations(ACTS), cut=st.integers(0, 10_000))
@example(kind={}, acts=FULL, cut=57)
@example(kind={"hears": "continuously"}, acts=FULL, cut=31)
def test_any_conversation_cut_anywhere_and_refolded_is_the_same_conversation(
    kind: Kind, acts: Conversation, cut: int
) -> None:
    hold(kind, acts, cut)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(DUPLEX), acts=conversations(DUPLEX_ACTS), cut=st.integers(0, 10_000))
@example(kind=DUPLEX[7], acts=IN_UNITS, cut=21)
@example(kind=DUPLEX[6], acts=IN_UNITS, cut=12)
@example(kind=DUPLEX[2], acts=FULL, cut=40)
def test_any_duplex_conversation_cut_anywhere_and_refolded_is_the_same_conversation(
    kind: Kind, acts: Conversation, cut: int
) -> None:
    hold(kind, acts, cut)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, 100_000, 1_000))
def test_campaign(first: int) -> None:
    acted = facts = 0
    for seed in range(first, first + 1_000):
        rng = random.Random(seed)
        duplex = rng.random() < 0.75
        kind = rng.choice(DUPLEX if duplex else PLAIN)
        steps = range(rng.choice((20, 60, 150)))
        acts = [(rng.choice(DUPLEX_ACTS if duplex else ACTS), rng.randrange(10)) for _ in steps]
        try:
            facts += hold(kind, acts, rng.randrange(10_000))
        except BaseException as error:
            error.add_note(f"seed {seed}: {kind} {[(act.__name__, n) for act, n in acts]}")
            raise
        acted += len(acts)
    sys.stdout.write(f"\nseeds {first} to {first + 999}: {acted} acts, {facts} facts\n")


def hold(kind: Kind, acts: Conversation, cut: int) -> int:
    """Act it out and look at what came of it. How many facts that is."""
    talk = Talk(terms=TERMS, token=b"token", **kind)
    for act, n in acts:
        act(talk, n)
    check_events(talk.stored)
    if kind in DUPLEX:
        check_duplex_frames(talk.stored, cut % len(talk.stored))
    else:
        check_frames(talk.stored)
    check_cursors(talk)
    check_cut(talk, cut % len(talk.stored))
    return len(talk.stored)


def check_cursors(talk: Talk) -> None:
    for played in talk.state.played:
        assert played.sent <= played.generated
        assert heard_ms(played, talk.state.mono_ns) <= samples_to_ms(played.generated)
        untold = played.acknowledged_ms is None and played.cap_ms is None and not played.whole
        if untold and played.interrupted:
            assert heard_ms(played, talk.state.mono_ns) <= samples_to_ms(played.sent)


def check_cut(talk: Talk, cut: int) -> None:
    """Another process folds up to the cut and keeps what it has, a second one goes on from that; an attachment
    does the same."""
    state = Session(talk.state.id)
    for stored in talk.stored[:cut]:
        state = refold(state, stored)
    state = kept(state)
    for stored in talk.stored[cut:]:
        before, state = state, refold(state, stored)
        check_moved(before, state)
    assert state == talk.state == talk.restarted()
    view, shown = frames_of(talk.stored[:cut])
    view = msgspec.msgpack.decode(msgspec.msgpack.encode(view), type=type(view))
    _, rest = frames_of(talk.stored[cut:], view)
    assert shown + rest == frames_of(talk.stored)[1]


def check_moved(before: Session, after: Session) -> None:
    """Cursors never fall; what caps them only falls."""
    if before.played is after.played:
        return
    for was, now in zip(before.played, after.played, strict=False):
        assert was.response == now.response
        for cursor in ("generated", "sent", "acknowledged_ms", "estimated_ms", "played_ms"):
            assert (getattr(was, cursor) or 0) <= (getattr(now, cursor) or 0), f"{cursor} fell"
        assert was.cap_ms is None or (now.cap_ms is not None and now.cap_ms <= was.cap_ms)
        assert was.ended <= now.ended
