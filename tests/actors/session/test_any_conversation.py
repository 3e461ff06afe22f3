"""Whatever happens in whatever order, what must always hold holds.

A conversation is drawn as a list of small numbers and acted out against a live session: clients that say
sensible and foolish things, stages that answer, repeat themselves and come late, clocks that move, writers
that die. After each step the session is held to what given.py holds every session to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.actors.session.evolve import refold
from antiphon.actors.session.heard import heard_ms
from antiphon.actors.session.refusals import Refused
from antiphon.actors.session.state import Session
from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.units import ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import Item, Part, TurnDetection, UnitSubmitted

from .given import HESITATION, SILENCE, SPEECH, WINDOW, Talk, pcm
from .laws import check_events, check_frames, frames_of

Act = Callable[[Talk, int], object]


def attempt(talk: Talk, command: c.Command) -> None:
    """Ask; where that is refused, the refusal is recorded."""
    try:
        talk.do(command)
    except Refused:
        talk.refuses(command)


# --- clients ----------------------------------------------------------------------------------------------


def speak_up(talk: Talk, n: int) -> None:
    sound(talk, 32 * (1 + n), SPEECH)


def fall_silent(talk: Talk, n: int) -> None:
    sound(talk, 64 * (1 + n), SILENCE if n % 3 else HESITATION)


def sound(talk: Talk, ms: int, score: int) -> None:
    if talk.state.phase == "open":
        talk.hear(ms, score)
    else:
        talk.refuses(c.AppendAudio(pcm=pcm(ms)))


def send_unscored(talk: Talk, n: int) -> None:
    attempt(talk, c.AppendAudio(pcm=pcm(80 * (1 + n))))


def score_late(talk: Talk, n: int) -> None:
    late = (talk.state.buffer.appended - talk.state.voice.scored) // WINDOW
    if late:
        talk.score(*[(SPEECH, SILENCE)[n % 2]] * min(late, 1 + n))


def score_again(talk: Talk, n: int) -> None:
    until = max(talk.state.voice.scored - WINDOW * n, 0)
    talk.do(c.RecordScores(until_sample=until, window=WINDOW, permille=(SPEECH,)))


def commit(talk: Talk, n: int) -> None:
    attempt(talk, c.CommitInput() if n % 3 else c.ClearInput())


def create(talk: Talk, n: int) -> None:
    modalities = (None, ("text",), ("audio", "text"))[n % 3]
    attempt(talk, c.CreateResponse(modalities=modalities, in_history=n != 9))


def cancel(talk: Talk, n: int) -> None:
    attempt(talk, c.CancelResponse(response=None if n % 4 else some_response(talk, n)))


def truncate(talk: Talk, n: int) -> None:
    entries = talk.state.entries
    item = entries[n % len(entries)].item.id if entries and n != 9 else ItemId("none")
    attempt(talk, c.TruncateItem(item=item, audio_end_ms=n * 300))


def acknowledge(talk: Talk, n: int) -> None:
    attempt(talk, c.AcknowledgePlayback(response=some_response(talk, n), heard_ms=n * 250))


def add_item(talk: Talk, n: int) -> None:
    item = Item(
        id=ItemId("own" if n == 5 else ""), role="user", content=(Part(kind="input_text", text="hm"),)
    )
    entries = talk.state.entries
    previous = ("", None, entries[n % len(entries)].item.id if entries else "none")[n % 3]
    attempt(talk, c.AddItem(item=item, previous=None if previous is None else ItemId(previous)))


def remove_item(talk: Talk, n: int) -> None:
    entries = talk.state.entries
    attempt(talk, c.RemoveItem(item=entries[n % len(entries)].item.id if entries else ItemId("none")))


def configure(talk: Talk, n: int) -> None:
    detection = (None, TurnDetection(), TurnDetection(interrupt_response=False))[n % 3]
    attempt(talk, c.Configure(turn_detection=detection) if n < 6 else c.Configure(instructions=f"be {n}"))


def report_sent(talk: Talk, n: int) -> None:
    if talk.state.played:
        response = some_response(talk, n)
        first = talk.now_ms * 1_000_000
        talk.do(talk.report(response, ms_to_samples(200 * (1 + n)), first))


def some_response(talk: Talk, n: int) -> ResponseId:
    played = talk.state.played
    return played[-1 - n % len(played)].response if played and n != 8 else ResponseId("none")


# --- stages -----------------------------------------------------------------------------------------------


def work_of(talk: Talk, n: int) -> dict[str, Any]:
    """An operation and the next index of it, sometimes one that has been said, sometimes a void one."""
    operation, index = Operation(talk.state.buffer.submitted), 0
    if talk.state.turns.active is not None and talk.active.operation is not None:
        operation, index = talk.active.operation, talk.active.next_index
    elif talk.state.turns.endings:
        ending = talk.state.turns.endings[0]
        operation, index = ending.operation, ending.next_index
    if n == 7:
        index = max(index - 1, 0)
    epoch = talk.state.fence.epoch - (n == 9)
    if n == 8:
        for stored in talk.stored:  # the first answer ever asked for goes on, however long ago that was
            if isinstance(stored.event, UnitSubmitted) and stored.event.work != "recognise":
                return {"operation": Operation(stored.seq), "index": 3, "epoch": stored.event.fence.epoch}
    return {"operation": operation, "index": index, "epoch": epoch}


def say(talk: Talk, n: int) -> None:
    text = ("", "well ", "you see ")[n % 3]
    talk.do(c.RecordSpeech(text=text, pcm=pcm(130 * (n % 5)), last=False, **work_of(talk, n)))


def finish(talk: Talk, n: int) -> None:
    talk.do(c.RecordFinish(why="length" if n == 3 else "done", last=True, **work_of(talk, n)))


def fail(talk: Talk, n: int) -> None:
    talk.do(c.RecordFailure(code="engine_error", message="it broke", last=True, **work_of(talk, n)))


def measure_or_route(talk: Talk, n: int) -> None:
    word = work_of(talk, n)
    route = c.RecordRoute(route="model", last=False, **word)
    talk.do(route if n % 2 else c.RecordMeasure(name="first_token_ms", value_ms=n, last=False, **word))


def consume(talk: Talk, n: int) -> None:
    talk.do(c.RecordConsumed(last=True, **work_of(talk, n)))


def understand(talk: Talk, n: int) -> None:
    known = talk.state.input.recognitions
    if not known:
        return
    word = {"operation": known[n % len(known)].operation, "index": 0, "epoch": 0, "last": True}
    heard = c.RecordHeard(text=f"words {n}", **word)
    failed = c.RecordFailure(code="busy", message="later", **word)
    talk.do(failed if n == 9 else heard, heard)


# --- the world --------------------------------------------------------------------------------------------


def pass_time(talk: Talk, n: int) -> None:
    talk.wait(50 * 3**n if n < 6 else 20 * n)


def change_writer(talk: Talk, n: int) -> None:
    if n == 9:
        talk.boot += "'"
        talk.now_ms = 500
    talk.open_writer()


def report_stage(talk: Talk, n: int) -> None:
    if n == 9:
        talk.do(c.RecordStage(stage="voice", what="lost", message="killed"))
    elif n == 8:
        talk.do(c.RecordStage(stage="voice", what="refused", code="engine_error", message="it broke"))
    elif n > 5:
        talk.do(c.RecordStage(stage="model", what="opened", engine=f"e{n}"))


def end(talk: Talk, n: int) -> None:
    if n == 9:
        talk.do(c.Detach(attachment=talk.state.attached.current, reason="lost"))
    elif n == 8:
        talk.do(c.CloseSession(reason="client"))


ACTS: list[Act] = [
    speak_up, speak_up, fall_silent, fall_silent, send_unscored, score_late, score_again, commit, create,
    create, cancel, truncate, acknowledge, add_item, remove_item, configure, report_sent, report_sent, say,
    say, say, say, finish, finish, fail, measure_or_route, consume, understand, understand, pass_time,
    pass_time, change_writer, report_stage, end,
]  # fmt: skip

CONVERSATIONS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60)
KINDS = st.sampled_from(
    [
        {},
        {"detection": None},
        {"hears": "continuously"},
        {"hears": "continuously", "detection": None},
        {"must_not_repeat": True},
        {"modalities": ("text",)},
    ]
)

FULL = [
    (speak_up, 9), (fall_silent, 4), (understand, 1), (fall_silent, 7), (say, 4), (report_sent, 9), (say, 7),
    (pass_time, 3), (speak_up, 9), (say, 9), (fall_silent, 9), (understand, 2), (say, 4), (finish, 0),
    (acknowledge, 2), (change_writer, 0), (truncate, 1), (pass_time, 5), (end, 9),
]  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=KINDS, acts=CONVERSATIONS, cut=st.integers(0, 10_000))
@example(kind={}, acts=FULL, cut=57)
@example(kind={"hears": "continuously"}, acts=FULL, cut=31)
def test_any_conversation_cut_anywhere_and_refolded_is_the_same_conversation(
    kind: dict[str, Any], acts: list[tuple[Act, int]], cut: int
) -> None:
    talk = Talk(**kind)
    for act, n in acts:
        act(talk, n)
    check_events(talk.stored)
    check_frames(talk.stored)
    check_cursors(talk)
    check_cut(talk, cut % len(talk.stored))


def check_cursors(talk: Talk) -> None:
    for played in talk.state.played:
        assert played.sent <= played.generated
        assert heard_ms(played, talk.state.mono_ns) <= samples_to_ms(played.generated)
        if played.acknowledged_ms is None and played.cap_ms is None and played.interrupted:
            assert heard_ms(played, talk.state.mono_ns) <= samples_to_ms(played.sent)


def check_cut(talk: Talk, cut: int) -> None:
    """Another process folds up to the cut, and a second one the rest; an attachment does the same."""
    state = Session(talk.state.id)
    for stored in talk.stored[:cut]:
        state = refold(state, stored)
    for stored in talk.stored[cut:]:
        state = refold(state, stored)
    assert state == talk.state == talk.restarted()
    view, shown = frames_of(talk.stored[:cut])
    _, rest = frames_of(talk.stored[cut:], view)
    assert shown + rest == frames_of(talk.stored)[1]
