"""Whatever happens in a stream in whatever order, what must always hold holds."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.actors.modes.video.commands import AppendSound, Finish, Query, Show
from antiphon.actors.modes.video.hearing import MOST_BYTES
from antiphon.actors.modes.video.seeing import MOST_BYTES as MOST_IMAGES
from antiphon.actors.session import commands as c
from antiphon.actors.session.state import Session
from antiphon.events import vocabulary as v
from antiphon.events.vocabulary import Labels, VideoOptions
from tests.actors.session.acts import (
    Act,
    attempt,
    change_writer,
    end,
    fail,
    finish,
    measure_or_route,
    pass_time,
    report_sent,
    report_stage,
    say,
    wait_long,
)
from tests.actors.session.given import Talk, kept, refold
from tests.actors.session.laws import check_events
from tests.actors.session.test_any_conversation import TERMS, Conversation

from .streams import JPEG, Watched

EXAMPLES = 500 if os.environ.get("CI") else 100
KINDS = [
    {"options": VideoOptions(max_frames=3, num_frames=2)},
    {"options": VideoOptions(max_frames=5, filter_threshold=None), "must_not_repeat": True},
    {"options": VideoOptions(sampling=({"temperature": 0.5},)), "modalities": ("text", "audio")},
    {"options": VideoOptions(sampling=({"no such": 1},))},
]


def show(talk: Talk, n: int) -> None:
    labels = Labels(frame_id=f"f{talk.state.seq}" if n % 3 else None, pts_ms=n)
    size = 11_000_000 if n == 9 else 8
    image = c.Image("image/jpeg", JPEG + bytes(size)) if n else None
    attempt(talk, Show(image=image, size=size, labels=labels, similarity=None if n < 2 else n / 9))


def hear(talk: Talk, n: int) -> None:
    sent = MOST_BYTES // 3 if n == 9 else 320 * n
    attempt(talk, AppendSound(pcm=bytes(sent // 2 * 3), sent_bytes=sent))


def ask(talk: Talk, n: int) -> None:
    text = "" if n == 1 else f"question {n}"
    attempt(talk, Query(text=text, pcm=bytes(48 * n), sent_bytes=32 * n, streams=n != 2))


def leave(talk: Talk, n: int) -> None:
    if n == 0:
        talk.do(c.KeepAlive(attachment=1))
    elif n == 8:
        attempt(talk, Finish())
    elif n == 9:
        talk.do(c.Detach(attachment=talk.state.attached.current, reason="lost"))


ACTS: list[Act] = [
    show, show, show, hear, hear, ask, ask, ask, say, say, say, finish, finish, fail, report_sent, leave,
    measure_or_route, pass_time, wait_long, change_writer, report_stage, end,
]  # fmt: skip
ORDERLY: Conversation = [
    (show, 1), (hear, 9), (hear, 9), (hear, 9), (hear, 9), (show, 4), (ask, 3), (say, 4), (show, 9), (ask, 4),
    (say, 5), (finish, 0), (show, 9), (show, 9), (show, 9), (ask, 2), (say, 7), (fail, 0), (ask, 5), (leave, 8),
    (say, 4), (finish, 0),
]  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(KINDS),
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60),
    cut=st.integers(0, 10_000),
)
@example(kind=KINDS[0], acts=ORDERLY, cut=17)
@example(kind=KINDS[2], acts=ORDERLY, cut=23)
def test_any_stream_cut_anywhere_and_refolded_is_the_same_stream(
    kind: dict, acts: Conversation, cut: int
) -> None:
    talk = Watched(terms=TERMS, **kind)
    for act, n in acts:
        act(talk, n)
    check_events(talk.stored)
    check_kept(talk)
    check_frames(talk)
    state = Session(talk.state.id)
    for place, stored in enumerate(talk.stored):
        state = refold(kept(state) if place == cut % len(talk.stored) else state, stored)
    assert state == talk.state == talk.restarted()


def check_kept(talk: Watched) -> None:
    """Only so many images, of so much weight, and a question is about those that were there."""
    there: list[int] = []
    weights: dict[int, int] = {}
    most = (talk.state.config.video or VideoOptions()).max_frames
    for stored in talk.stored:
        match stored.event:
            case v.VideoFrameReceived(evicted=evicted, size=size):
                assert list(evicted) == there[: len(evicted)], "the oldest go first"
                there = [*there[len(evicted) :], stored.seq]
                weights[stored.seq] = size
                assert len(there) <= most
                assert sum(weights[one] for one in there) <= MOST_IMAGES
            case v.VideoQueried(frames=frames):
                assert list(frames) == [one for one in there if one in frames]
                assert frames[-1] == there[-1]
    assert len(talk.state.played) <= 3


def check_frames(talk: Watched) -> None:
    """Every answer that began has exactly one end of its words, and of its audio if it had any."""
    live: str | None = None
    ended: list[str] = []
    sounding: list[str] = []
    for frame in talk.frames:
        match frame["type"]:
            case "response.start":
                live = frame["response_id"]
                assert live not in ended
            case "response.text.done":
                assert frame["response_id"] == live
                assert live not in ended, "one end only"
                ended.append(live)
            case "response.output_audio.delta":
                assert frame["response_id"] == live
                sounding.append(live)
            case "response.output_audio.done":
                assert sounding.count(frame["response_id"]) >= 1
                sounding = [one for one in sounding if one != frame["response_id"]]
            case "video.frames.consumed":
                assert frame["request_id"] == live
    begun = [frame["response_id"] for frame in talk.frames if frame["type"] == "response.start"]
    under_way = [] if talk.state.turns.active is None else begun[-1:]
    assert [one for one in begun if one not in ended] in ([], under_way)
    assert set(sounding) <= set(under_way), "audio without an end"
