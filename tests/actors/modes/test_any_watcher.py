"""Whatever a watcher is shown and whatever its models say in whatever order, what must always hold holds."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.actors.modes.joyvl.commands import SetPersona, Tick
from antiphon.actors.session import commands as c
from antiphon.actors.session.state import Session
from antiphon.events import vocabulary as v
from antiphon.events.ids import Operation
from antiphon.events.vocabulary import WatchOptions
from tests.actors.session.acts import Act, attempt, change_writer, end, pass_time, report_stage, wait_long
from tests.actors.session.given import Talk, kept, refold
from tests.actors.session.laws import check_events
from tests.actors.session.test_any_conversation import TERMS, Conversation

from .streams import JPEG
from .watchers import Watcher

EXAMPLES = 500 if os.environ.get("CI") else 100
KINDS = [
    WatchOptions(chunk_frames=3, long_every=2, long_window=2, delegation="chat"),
    WatchOptions(chunk_frames=2, force_silence=False, delegation="stub"),
    WatchOptions(chunk_frames=1, memory=False, dedup_threshold=0.5),
]
SAYS = (
    "</silence>", "</response> Hello", "</response> Hello", "</response> wait </delegation> how many?", "",
    "</delegation>", "</response> Good bye", "hm\nhm", "</response>", "</silence>",
)  # fmt: skip


def show(talk: Talk, n: int) -> None:
    query = None if n < 4 else f"query {n // 2}"
    attempt(talk, Tick(frames=(c.Image("image/jpeg", JPEG),) * (1 + n % 2), query=query))


def operations(talk: Talk) -> list[Operation]:
    """What models were asked and have not answered, the latest first; and what nobody asked."""
    assert isinstance(talk, Watcher)
    own = talk.own
    asked = [one.operation for one in (own.present, own.summing) if one is not None]
    return [*asked, *(one.operation for one in own.delegated), Operation(1)]


def word(talk: Talk, n: int, **members: Any) -> dict[str, Any]:
    asked = operations(talk)
    return {"operation": asked[n % len(asked)], "epoch": 0, **members}


def write(talk: Talk, n: int) -> None:
    talk.do(c.RecordSpeech(text=SAYS[n], pcm=b"", last=False, **word(talk, n // 4, index=talk.state.seq % 3)))


def finish(talk: Talk, n: int) -> None:
    talk.do(c.RecordFinish(why="done", last=True, **word(talk, n // 3, index=9)))


def fail(talk: Talk, n: int) -> None:
    talk.do(c.RecordFailure(code="llm_refused", message="no", last=True, **word(talk, n // 3, index=9)))


def measure(talk: Talk, n: int) -> None:
    talk.do(c.RecordMeasure(name="first_token_ms", value_ms=n, last=False, **word(talk, n, index=0)))
    talk.do(c.RecordRoute(route="model", last=False, **word(talk, n, index=0)))


def leave(talk: Talk, n: int) -> None:
    if n < 7:
        attempt(talk, SetPersona(persona=("default", "silent", "talkative", "zzz")[n % 4]))
    elif n == 9:
        talk.do(c.Detach(attachment=talk.state.attached.current, reason="closed"))


ACTS: list[Act] = [
    show, show, show, write, write, write, finish, finish, finish, finish, fail, measure, leave, pass_time,
    wait_long, change_writer, report_stage, end,
]  # fmt: skip
ORDERLY: Conversation = [
    (show, 4), (write, 1), (finish, 0), (show, 0), (write, 3), (finish, 0), (show, 1), (write, 0), (finish, 0),
    (show, 0), (write, 0), (finish, 0), (write, 6), (finish, 0), (show, 1), (fail, 0), (show, 9), (write, 1),
    (finish, 0),
]  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    options=st.sampled_from(KINDS),
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60),
    cut=st.integers(0, 10_000),
)
@example(options=KINDS[0], acts=ORDERLY, cut=19)
def test_any_watcher_cut_anywhere_and_refolded_is_the_same_watcher(
    options: WatchOptions, acts: Conversation, cut: int
) -> None:
    watcher = Watcher(options, terms=TERMS)
    for act, n in acts:
        act(watcher, n)
    check_events(watcher.stored)
    check_ticks(watcher)
    check_memory(watcher)
    state = Session(watcher.state.id)
    for place, stored in enumerate(watcher.stored):
        state = refold(kept(state) if place == cut % len(watcher.stored) else state, stored)
    assert state == watcher.state == watcher.restarted()


def check_ticks(watcher: Watcher) -> None:
    """Each tick has one end and one answer, and what a failed one brought does not count."""
    live: v.TickBegan | None = None
    frames = ends = 0
    for event in watcher.events:
        match event:
            case v.TickBegan():
                assert live is None, "two ticks at a time"
                live = event
            case v.ActionDecided(tick=tick) | v.TickFailed(tick=tick):
                assert live is not None
                assert tick == live.tick
                frames += len(live.frames) if isinstance(event, v.ActionDecided) else 0
                ends, live = ends + 1, None
            case v.SessionClosed() | v.SessionExpired() | v.SessionFailed():
                assert live is None, "whoever waits is told before the end"
    assert watcher.own.frames == frames
    answers = [one for one in watcher.frames if one.get("error", {}).get("type") != "invalid_request_error"]
    assert len(answers) == ends


def check_memory(watcher: Watcher) -> None:
    """Chunks are summed up in order, each once; a delegation ends once, and is told of once."""
    summed = [event.chunk for event in watcher.events if isinstance(event, v.MidTermAdded)]
    assert summed == sorted(set(summed))
    over: list[int] = []
    told: list[int] = []
    for event in watcher.events:
        if isinstance(event, v.DelegationReady | v.DelegationFailed):
            over.append(event.task)
        elif isinstance(event, v.ActionDecided):
            assert set(event.reported) <= set(over)
            told += event.reported
    assert len(over) == len(set(over))
    assert len(told) == len(set(told))
    assert len(watcher.own.long_term) <= 15
