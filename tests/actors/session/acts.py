"""What may happen to a session, each act steered by one small number: sensible things and foolish ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from antiphon.actors.session import commands as c
from antiphon.actors.session.refusals import Refused
from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.units import ms_to_samples
from antiphon.events.vocabulary import EpochAdvanced, Item, Overlap, Part, TurnDetection, UnitSubmitted

from .given import HESITATION, SILENCE, SPEECH, WINDOW, Talk, pcm

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


def send_judged(talk: Talk, n: int) -> None:
    """Audio with the client's own verdict of it, and what else it may say of it."""
    attempt(talk, c.AppendAudio(pcm=pcm(60 + 110 * n), speech=(True, True, False)[n % 3], hints=HINTS.get(n)))


HINTS = {
    1: c.OverlapHints(action="drop"),
    2: c.OverlapHints(force_listen=True),
    4: c.OverlapHints(action="barge_in"),
    6: c.OverlapHints(transcript="Okay."),
    7: c.OverlapHints(force_barge_in=True),
    9: c.OverlapHints(action="listen"),
}
JPEG = c.Image("image/jpeg", b"\xff\xd8 not much of one")


def show(talk: Talk, n: int) -> None:
    """An image with audio, alone, or in an item."""
    if n % 3 == 0:
        attempt(talk, c.AppendAudio(pcm=pcm(40 * n), images=(JPEG,) * (1 + n % 2)))
        return
    part = Part(kind="input_image")
    role: Any = "assistant" if n == 7 else "user"
    item = Item(id=ItemId(""), role=role, content=(part,) * (n % 3))
    attempt(talk, c.AddItem(item=item, images=(JPEG,) * (2 if n == 8 else n % 3)))


def commit_somehow(talk: Talk, n: int) -> None:
    respond = (None, True, False)[n % 3]
    speech = False if n == 9 else None
    attempt(talk, c.CommitInput(respond=respond, speech=speech, any_length=n != 8, final=n not in (5, 8)))


def break_in(talk: Talk, n: int) -> None:
    if n < 3:
        attempt(talk, c.BargeIn())
    elif n < 6:
        attempt(talk, c.CancelInput())
    else:
        attempt(talk, c.ClearOutput(response=None if n % 2 else some_response(talk, n)))


def write_or_signal(talk: Talk, n: int) -> None:
    if n < 5:
        attempt(talk, c.AppendText(text=f"written {n}"))
    elif n < 8:
        attempt(talk, c.SignalTurn(event="user_started", payload={"n": n}))
    else:
        attempt(talk, c.AcknowledgeEvents(attachment=1, through=talk.state.seq * 64 - 65 + 8 * n))


def come_and_go(talk: Talk, n: int) -> None:
    """The connection is lost; it, or another, takes its place; the process stops, or only the client is slow."""
    attached = talk.state.attached
    if n < 3:
        talk.do(c.Detach(attachment=attached.current, reason="lost", code=1006))
    elif n < 6 and talk.state.phase == "open":
        token = attached.token if n < 5 else (attached.token, *attached.former_tokens)[-1]
        was_sent = attached.reported < talk.state.seq * 64  # reports here are numbered as they please
        after = None if n == 3 and was_sent else talk.state.seq * 32
        new = b"token %d" % attached.count
        talk.do(c.Resume(dialect="duplex", presented=token, token=new, after=after))
    elif n == 6:
        talk.do(c.Park(reason="shutdown"))
        talk.open_writer()
    elif n == 7:
        talk.asks(attached.count, c.ConfirmClient(attachment=attached.count))
    elif n == 8:
        talk.wait(40_000)
    elif talk.state.phase == "open":
        named = f"evt_{talk.state.seq % 7}"
        talk.asks(attached.current or 1, c.AppendAudio(pcm=pcm(100), client_event=named))


def return_output(talk: Talk, n: int) -> None:
    call = f"call_{n % 4}"
    item = Item(id=ItemId(""), kind="function_call_output", call_id=call, output="42" if n else None)
    attempt(talk, c.AddItem(item=item))


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


def acknowledge_somehow(talk: Talk, n: int) -> None:
    """By the item, by both names, by none; with what was played; and with an end."""
    played = talk.state.played
    item = played[-1 - n % len(played)].item if played and n != 8 else ItemId("none")
    named: dict[str, Any] = {"item": item} if n % 3 else {}
    if n % 3 == 2:
        named["response"] = some_response(talk, n + n % 2)
    told = {"heard_ms": n * 150, "played_ms": n * 300 if n % 2 else None, "truncate": n == 5}
    attempt(talk, c.AcknowledgePlayback(**named, **told))


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


def configure_otherwise(talk: Talk, n: int) -> None:
    overlap = (UNSET, UNSET, None, Overlap(short_ack_ms=100 * n))[n % 4]
    change = c.Configure(
        model=f"m{n // 8}" if n > 5 else UNSET,
        voice="other" if n == 3 else UNSET,
        auto_response=bool(n % 2) if n < 4 else UNSET,
        playback=("estimate", "ack_only", "commit_all_on_done")[n % 3] if n % 2 else UNSET,
        overlap=overlap,
        tools=({"name": "f"},) if n == 1 else UNSET,
    )
    attempt(talk, change)


def settle_configuration(talk: Talk, n: int) -> None:
    """The stage takes what it was asked for, or does not, or speaks of something else."""
    asked = talk.state.proposals
    generation = (asked[0].generation if asked else talk.state.generation) + (n == 9)
    what: Any = "config_refused" if n in (3, 8) else "configured"
    talk.do(
        c.RecordStage(stage="model", what=what, generation=generation, code="instructions_update_unsupported")
    )


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
    flight = talk.state.units.flight or talk.state.units.void
    if talk.state.turns.active is not None and talk.active.operation is not None:
        operation, index = talk.active.operation, talk.active.next_index
    elif flight is not None:
        operation, index = flight.operation, flight.next_index
    elif talk.state.turns.endings:
        ending = talk.state.turns.endings[0]
        operation, index = ending.operation, ending.next_index
    if n == 7:
        index = max(index - 1, 0)
    if n == 8:
        for stored in talk.stored:  # the first answer ever asked for goes on, however long ago that was
            if isinstance(stored.event, UnitSubmitted) and stored.event.work != "recognise":
                return {"operation": Operation(stored.seq), "index": 3, "epoch": stored.event.fence.epoch}
    return {"operation": operation, "index": index, "epoch": epoch_of(talk, operation) - (n == 9)}


def epoch_of(talk: Talk, operation: int) -> int:
    """In which the operation was asked: a stage names that one."""
    moved = [one.event for one in talk.stored[: operation + 1] if isinstance(one.event, EpochAdvanced)]
    return moved[-1].next.epoch if moved else 0


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
    reason = "buffering" if n == 2 else "model_listen"
    talk.do(c.RecordConsumed(last=n != 4, reason=reason, **work_of(talk, n)))


def end_unit(talk: Talk, n: int) -> None:
    """The last word of a unit: speech, listening, a mere end, or that it was not taken."""
    word = {"last": True, **work_of(talk, n)}
    if n in (0, 1, 5, 6):
        talk.do(c.RecordConsumed(**word))
    elif n in (2, 7):
        talk.do(c.RecordFinish(why="done", **word))
    elif n in (3, 8, 9):
        talk.do(c.RecordSpeech(text=f"unit {n} ", pcm=pcm(100), **word))
    else:
        talk.do(
            c.RecordFailure(
                code=("busy", "stale_fence")[n == 4 and talk.state.units.flight is None],
                message="not now",
                **word,
            )
        )


def go_on_in_units(talk: Talk, n: int) -> None:
    """Time passes unit by unit, and the stage answers each: it speaks on, or it has nothing to say."""
    for k in range(3 * (1 + n)):
        talk.wait(210)
        if talk.state.units.flight is not None:
            end_unit(talk, 3 if n % 2 else (2, 0)[k % 7 == 6])


def wait_long(talk: Talk, n: int) -> None:
    """Stages that hang are given up."""
    talk.wait(35_000 + 10_000 * n)


def end_model_turn(talk: Talk, n: int) -> None:
    talk.do(c.RecordTurnEnd(last=False, **work_of(talk, n)))


def call_function(talk: Talk, n: int) -> None:
    word = work_of(talk, n)
    talk.do(c.RecordCall(call_id=f"call_{n % 4}", name="f", arguments="{}", last=n == 6, **word))


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
    if n > 6:
        stage: Any = ("voice", "model")[n % 2]
        back = any(one == stage for one, _ in talk.state.away)
        talk.do(c.RecordStage(stage=stage, what="returned" if back else "away", message="killed"))
    elif n == 6:
        talk.do(c.RecordStage(stage="voice", what="refused", code="engine_error", message="it broke"))
    elif n > 3:
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
"""All that a plain client and its stages do."""

DUPLEX_ACTS: list[Act] = [
    *ACTS, send_unscored, send_judged, send_judged, send_judged, show, commit_somehow, commit_somehow, break_in,
    write_or_signal, come_and_go, return_output, acknowledge_somehow, configure_otherwise, settle_configuration,
    settle_configuration, end_unit, end_unit, end_unit, end_unit, end_unit, end_model_turn, call_function,
    pass_time, go_on_in_units, go_on_in_units, go_on_in_units, commit_somehow, wait_long,
]  # fmt: skip
