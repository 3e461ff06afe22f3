"""JoyVL watchers: ticks, memory, delegations, and what a failure leaves."""

from __future__ import annotations

import pytest

from antiphon.actors.modes.joyvl.commands import SetPersona, Tick
from antiphon.actors.modes.joyvl.ending import PATIENCE_S
from antiphon.actors.modes.joyvl.personas import PERSONAS
from antiphon.actors.modes.joyvl.summing import AGAIN_S, MOST_ATTEMPTS
from antiphon.actors.modes.joyvl.ticking import MOST_BYTES, MOST_FRAMES
from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import (
    ActionDecided,
    ChunkClosed,
    DelegationFailed,
    DelegationReady,
    DelegationSubmitted,
    LongTermAdded,
    MidTermAdded,
    SessionClosed,
    SessionExpired,
    SummaryAsked,
    SummaryFailed,
    TickFailed,
    WatchOptions,
)
from tests.actors.session.given import names, only

from .watchers import Watcher

SMALL = WatchOptions(chunk_frames=3)
STUB = WatchOptions(delegation="stub")
DELEGATES = WatchOptions(delegation="chat")
DELEGATE = "</response> wait </delegation> how many?"


# --- ticks ------------------------------------------------------------------------------------------------


def test_without_a_query_there_is_silence_and_nobody_is_asked() -> None:
    watcher = Watcher()
    watcher.show()
    assert not watcher.asked
    told = watcher.answer_
    assert (told["action"], told["inference_skipped"], told["frame_index"]) == ("silence", True, 1)
    assert (told["spoke"], told["chunk_index"], told["delegation"]) == (False, 1, None)


def test_where_silence_is_not_forced_the_model_is_asked_at_once() -> None:
    watcher = Watcher(WatchOptions(force_silence=False))
    watcher.show()
    (asked,) = watcher.asked
    assert (asked.instructions, asked.verbatim) == (PERSONAS["default"], True)
    assert asked.sampling["skip_special_tokens"] is False


def test_an_answer_is_a_completion_and_what_was_decided() -> None:
    watcher = Watcher()
    watcher.sees("</response> A cat.", "What is it?")
    told = watcher.frames[-1]
    assert told["id"].startswith("intchat-")
    assert len(told["id"]) == len("intchat-") + 32
    assert (told["object"], told["model"], told["usage"]) == ("chat.completion", "joy", None)
    assert told["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "</response> A cat."},
            "finish_reason": "stop",
        }
    ]
    assert told["interaction"]["text"] == "A cat."


def test_a_query_that_is_repeated_is_not_new() -> None:
    watcher = Watcher()
    watcher.sees("</silence>", "A")
    assert watcher.prompt(" A ")[-1] == ("user", ["<1.0 seconds>", "#"])


def test_the_model_is_shown_the_chunk_and_what_it_said_in_it() -> None:
    watcher = Watcher()
    watcher.sees("</silence>", "A")
    watcher.sees("</response> Hello", frames=2)
    assert watcher.prompt("B") == [
        ("user", ["A", "<0.0 seconds>", "#"]),
        ("assistant", ["</silence>"]),
        ("user", ["<1.0 seconds>", "#", "<2.0 seconds>", "#"]),
        ("assistant", ["</response> Hello"]),
        ("user", ["B", "<3.0 seconds>", "#"]),
    ]


def test_frames_of_one_request_are_consecutive_seconds() -> None:
    watcher = Watcher()
    watcher.sees("</silence>", "A", frames=4)
    told = watcher.sees("</silence>", frames=2)
    assert told["frame_index"] == 6
    labels = [frame.label for frame in watcher.own.moments[-1].frames]
    assert labels == ["<4.0 seconds>", "<5.0 seconds>"]


def test_what_is_said_again_is_silence_until_there_was_silence() -> None:
    watcher = Watcher()
    actions = [watcher.sees(raw, "A")["action"] for raw in ("Hello", "Hello", "Hello", "</silence>", "Hello")]
    assert actions == ["response", "silence", "silence", "silence", "response"]


@pytest.mark.parametrize(("threshold", "action"), [(1.0, "response"), (0.8, "silence"), (0.99, "response")])
def test_how_alike_replies_must_be_to_be_the_same(threshold: float, action: str) -> None:
    watcher = Watcher(WatchOptions(dedup_threshold=threshold))
    watcher.sees("There is a cat on the chair.", "A")
    assert watcher.sees("there is a cat on a chair.")["action"] == action


def test_delegations_are_never_repetitions() -> None:
    watcher = Watcher(STUB)
    assert [watcher.sees(DELEGATE, "A")["action"] for _ in range(2)] == ["delegate", "delegate"]


def test_one_tick_at_a_time() -> None:
    watcher = Watcher()
    watcher.show("A")
    assert watcher.refuses(Tick(frames=(c.Image("image/jpeg", b""),))).code == "active_response"


def test_a_tick_has_so_many_images_at_most() -> None:
    watcher = Watcher()
    assert (
        watcher.refuses(Tick(frames=(c.Image("image/jpeg", b"x"),) * (MOST_FRAMES + 1))).code
        == "invalid_value"
    )
    heavy = c.Image("image/jpeg", bytes(MOST_BYTES // 2 + 1))
    assert watcher.refuses(Tick(frames=(heavy, heavy))).code == "invalid_value"


# --- failures ---------------------------------------------------------------------------------------------


def test_a_tick_that_fails_leaves_everything_as_it_was() -> None:
    watcher = Watcher()
    watcher.sees("</response> Hello", "A")
    before = watcher.own
    watcher.show("B")
    assert names(watcher.fails(watcher.present.operation)) == ["TickFailed"]
    assert watcher.frames[-1]["error"]["code"] == "llm_unreachable"
    after = watcher.own
    assert (after.frames, after.moments, after.query, after.last) == (
        before.frames, before.moments, before.query, before.last,
    )  # fmt: skip
    roles = [role for role, _ in watcher.prompt("B")]
    assert roles == ["user", "assistant", "user"]


def test_half_an_answer_is_none() -> None:
    watcher = Watcher()
    watcher.show("A")
    operation = watcher.present.operation
    word = {"operation": operation, "epoch": 0, "last": False}
    watcher.do(c.RecordSpeech(text="</response> Hel", pcm=b"", index=0, **word))
    failure = {**word, "last": True}
    watcher.do(c.RecordFailure(code="llm_timeout", message="silent", index=1, **failure))
    assert watcher.own.frames == 0
    late = watcher.do(c.RecordSpeech(text="lo", pcm=b"", index=2, **word))
    assert not late


def test_a_model_that_says_nothing_is_waited_for_only_so_long() -> None:
    watcher = Watcher()
    watcher.show("A")
    assert not only(TickFailed, watcher.wait(PATIENCE_S * 1_000 - 1))
    (failed,) = only(TickFailed, watcher.wait(1))
    assert failed.code == "stage_timeout"


def test_a_stage_that_goes_takes_the_tick_with_it_and_not_the_session() -> None:
    watcher = Watcher()
    watcher.show("A")
    happened = watcher.do(c.RecordStage(stage="model", what="away", message="killed"))
    assert only(TickFailed, happened)[0].code == "stage_lost"
    watcher.do(c.RecordStage(stage="model", what="returned"))
    assert watcher.sees("</response> Hello", "A")["text"] == "Hello"


def test_a_writer_that_takes_over_asks_nothing_again() -> None:
    watcher = Watcher()
    watcher.show("A")
    happened = watcher.open_writer()
    assert only(TickFailed, happened)[0].code == "effect_interrupted"
    assert not watcher.asked


# --- memory -----------------------------------------------------------------------------------------------


def filled(watcher: Watcher, ticks: int, query: str = "A") -> None:
    for _ in range(ticks):
        watcher.sees("</silence>", query)


def test_the_tick_behind_a_full_chunk_begins_a_new_one_and_the_old_one_is_summed_up() -> None:
    watcher = Watcher(SMALL)
    filled(watcher, 3)
    happened = watcher.show()
    assert only(ChunkClosed, happened)
    (summing,) = [one for one in watcher.asked if one.instructions != PERSONAS["default"]]
    assert len([piece for piece in summing.conversation[0].pieces if piece.image is not None]) == 3
    watcher.says("</silence>", watcher.present.operation)
    assert watcher.answer_["chunk_index"] == 2
    assert watcher.answer_["memory"]["mid_term_summaries"] == []
    watcher.sums_up("A cat came.")
    told = watcher.sees("</silence>")
    assert told["memory"]["mid_term_summaries"] == [
        {"chunk_index": 1, "frame_range": "0.0 seconds-3.0 seconds", "summary_text": "A cat came."}
    ]


def test_summaries_are_written_one_after_the_other_and_ticks_go_on_meanwhile() -> None:
    watcher = Watcher(SMALL)
    filled(watcher, 7)
    assert len(only(SummaryAsked, watcher.events)) == 1
    assert len(watcher.own.chunks) == 2
    happened = watcher.sums_up("First.")
    assert names(happened)[-2:] == ["MidTermAdded", "SummaryAsked"]
    assert watcher.own.summing is not None
    assert watcher.own.summing.chunk == 2


def test_five_summaries_become_one_of_the_long_term() -> None:
    watcher = Watcher(SMALL)
    filled(watcher, 16)
    for n in range(5):
        watcher.sums_up(f"Part {n}.")
    assert watcher.own.summing is not None
    assert watcher.own.summing.kind == "long"
    watcher.sums_up("All of it.")
    (added,) = only(LongTermAdded, watcher.events)
    assert (added.from_ms, added.until_ms) == (0, 15_000)
    memory = watcher.sees("</silence>")["memory"]
    assert memory == {
        "long_term_memory": "<0.0 seconds-15.0 seconds>\nAll of it.",
        "mid_term_summaries": [],
    }


def test_the_long_term_has_a_window() -> None:
    watcher = Watcher(WatchOptions(chunk_frames=1, long_every=1, long_window=2))
    filled(watcher, 5)
    for n in range(4):
        watcher.sums_up(f"part {n}")
        watcher.sums_up(f"whole {n}")
    assert [one.text for one in watcher.own.long_term] == ["whole 2", "whole 3"]


def test_a_summary_that_fails_is_tried_again_and_the_log_says_so() -> None:
    watcher = Watcher(SMALL)
    filled(watcher, 4)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        assert watcher.own.summing is not None
        assert watcher.own.summing.attempt == attempt
        watcher.fails(watcher.own.summing.operation)
        assert not only(SummaryAsked, watcher.wait(AGAIN_S * 1_000 - 1)) or attempt == MOST_ATTEMPTS
        watcher.wait(1)
    failures = only(SummaryFailed, watcher.events)
    assert [one.final for one in failures] == [False] * (MOST_ATTEMPTS - 1) + [True]
    assert (watcher.own.summing, watcher.own.chunks) == (None, ())
    filled(watcher, 3)
    watcher.sums_up("The second.")
    assert only(MidTermAdded, watcher.events)[0].chunk == 2


def test_a_summary_that_says_nothing_has_failed() -> None:
    watcher = Watcher(SMALL)
    filled(watcher, 4)
    watcher.sums_up("  ")
    assert only(SummaryFailed, watcher.events)[0].code == "empty_summary"


def test_without_memory_what_is_over_is_gone() -> None:
    watcher = Watcher(WatchOptions(chunk_frames=3, memory=False))
    filled(watcher, 4)
    assert not only(SummaryAsked, watcher.events)
    assert watcher.answer_["chunk_index"] == 2


def test_a_chunk_is_over_early_where_its_images_are_heavy() -> None:
    watcher = Watcher()
    for _ in range(4):
        watcher.show("A", size=11_000_000)
        watcher.says("</silence>", watcher.present.operation)
    assert len(only(ChunkClosed, watcher.events)) == 1
    assert sum(moment.size for moment in watcher.own.moments) <= MOST_BYTES


def test_what_is_remembered_stands_before_the_chunks_first_frame() -> None:
    watcher = Watcher(SMALL)
    watcher.sees("</response> One", "How many?")
    watcher.sees("</silence>", "What colour?")
    watcher.sees("</response> Red")
    watcher.sees("</silence>")
    watcher.sums_up("A red cat.")
    memory, *shown = watcher.prompt()[0][1]
    assert memory == (
        "[Video History]\n<0.0 seconds-3.0 seconds>\nA red cat.\n\n[Current Question]\nWhat colour?"
    ) or memory.startswith("[Video History]")
    assert "[Current Question]\nWhat colour?" in memory
    assert shown == ["<3.0 seconds>", "#"]


def test_former_queries_with_their_answers_are_remembered_from_the_next_chunk_on() -> None:
    watcher = Watcher(SMALL)
    watcher.sees("</response> One", "How many?")
    watcher.sees("</silence>", "What colour?")
    watcher.sees("</silence>")
    memory = watcher.prompt()[0][1][0]
    assert "[Q&A History]\n<0.0 seconds> Q: How many? A: <0.0 seconds> One" in memory


def test_a_query_without_an_answer_is_not_remembered() -> None:
    watcher = Watcher()
    watcher.sees("</silence>", "How many?")
    watcher.sees("</silence>", "What colour?")
    assert watcher.own.asked == ()


# --- delegations ------------------------------------------------------------------------------------------


def test_a_stubs_answer_is_there_at_the_second_tick_behind() -> None:
    watcher = Watcher(STUB)
    told = [
        watcher.sees(raw, "A")["delegation"] for raw in (DELEGATE, "</silence>", "</silence>", "</silence>")
    ]
    assert [one and one["status"] for one in told] == ["submitted", None, "ready", None]
    assert told[0] == {"task_id": "deleg-1", "status": "submitted", "question": "how many?"}
    assert told[2]["digest"]


def test_where_nothing_can_be_delegated_the_decision_stands_and_nothing_is() -> None:
    watcher = Watcher()
    told = watcher.sees(DELEGATE, "A")
    assert (told["action"], told["delegated_question"], told["delegation"]) == ("delegate", "how many?", None)


def test_another_model_is_shown_the_last_frames_and_asked() -> None:
    watcher = Watcher(DELEGATES)
    for _ in range(10):
        watcher.sees("</silence>", "A")
    watcher.show()
    watcher.says(DELEGATE, watcher.present.operation)
    (asked,) = watcher.asked
    assert asked.endpoint == "delegation"
    assert [piece.text for piece in asked.conversation[0].pieces][-1] == "how many?"
    assert len([piece for piece in asked.conversation[0].pieces if piece.image is not None]) == 8


def delegated(watcher: Watcher) -> list:
    return [one.operation for one in watcher.own.delegated if one.is_pending]


def test_the_very_next_prompt_knows_what_was_found_out() -> None:
    watcher = Watcher(DELEGATES)
    watcher.sees(DELEGATE, "A")
    assert only(DelegationReady, watcher.says("Three.", delegated(watcher)[0]))
    memory = watcher.prompt()[0][1][0]
    assert "[delegated] how many? A: <1.0 seconds> Three." in memory


def test_of_several_that_are_over_all_are_told_and_the_last_is_the_one() -> None:
    watcher = Watcher(DELEGATES)
    for n in range(2):
        watcher.sees(f"</response> wait </delegation> q{n}", "A")
    for operation in delegated(watcher):
        watcher.says("Found.", operation)
    told = watcher.sees("</silence>")
    assert [one["task_id"] for one in told["delegations"]] == ["deleg-1", "deleg-2"]
    assert told["delegation"]["task_id"] == "deleg-2"
    assert watcher.sees("</silence>")["delegations"] == []


def test_a_delegation_that_fails_is_told_and_not_remembered() -> None:
    watcher = Watcher(DELEGATES)
    watcher.sees(DELEGATE, "A")
    watcher.fails(delegated(watcher)[0])
    told = watcher.sees("</silence>")["delegation"]
    assert (told["status"], told["code"]) == ("error", "llm_unreachable")
    assert watcher.own.asked == ()


def test_a_failed_tick_keeps_what_was_to_be_told_for_the_next() -> None:
    watcher = Watcher(DELEGATES)
    watcher.sees(DELEGATE, "A")
    watcher.says("Three.", delegated(watcher)[0])
    watcher.show()
    watcher.fails(watcher.present.operation)
    assert watcher.sees("</silence>")["delegation"]["status"] == "ready"


def test_only_so_many_may_wait() -> None:
    watcher = Watcher(DELEGATES)
    for n in range(9):
        watcher.sees(f"</response> wait </delegation> q{n}", "A")
    assert len(only(DelegationSubmitted, watcher.events)) == 9
    assert [one.code for one in only(DelegationFailed, watcher.events)] == ["resource_exhausted"]


# --- personas, and ends -----------------------------------------------------------------------------------


def test_a_persona_changes_what_the_model_is_told_and_nothing_else() -> None:
    watcher = Watcher()
    watcher.sees("</silence>", "A")
    assert names(watcher.do(SetPersona(persona="talkative"))) == ["PersonaSet"]
    assert not watcher.do(SetPersona(persona="talkative"))
    assert len(watcher.prompt()) == 3
    assert watcher.asked[-1].instructions == PERSONAS["talkative"]
    assert watcher.refuses(SetPersona(persona="zzz")).code == "invalid_value"


def test_whoever_waits_is_told_when_the_session_ends() -> None:
    watcher = Watcher()
    watcher.show("A")
    assert names(watcher.do(c.CloseSession(reason="reset"))) == ["TickFailed", "SessionClosed"]
    assert watcher.answer_["error"]["code"] == "session_closed"


def test_what_comes_late_for_a_session_that_was_reset_is_for_nobody() -> None:
    watcher = Watcher(SMALL)
    filled(watcher, 4)
    assert watcher.own.summing is not None
    operation = watcher.own.summing.operation
    watcher.do(c.CloseSession(reason="reset"))
    assert not watcher.says("Late.", operation)


def test_a_session_that_is_shown_nothing_ends_and_one_in_a_tick_does_not() -> None:
    watcher = Watcher(WatchOptions(idle_s=60))
    watcher.sees("</silence>", "A")
    assert not only(SessionExpired, watcher.wait(59_999))
    assert only(SessionExpired, watcher.wait(1))


def test_a_process_that_stops_ends_its_watchers() -> None:
    assert only(SessionClosed, Watcher().do(c.Park(reason="shutdown")))


def test_a_tick_says_how_long_it_took() -> None:
    watcher = Watcher()
    watcher.show("A")
    watcher.now_ms += 250
    watcher.says("</silence>", watcher.present.operation)
    assert only(ActionDecided, watcher.events)
    assert watcher.answer_["latency_ms"] == 250.0


@pytest.mark.parametrize(("question", "kind"), [
    ("how many?", "chat"), ("Draw a cat", "image"), ("Turn this scene into a cartoon", "edit"),
    ("In what style is it?", "chat"), ("withdraw it", "chat"), ("把画面变成卡通风格", "edit"), ("画一只猫", "image"),
])  # fmt: skip
def test_a_router_goes_by_the_words(question: str, kind: str) -> None:
    watcher = Watcher(WatchOptions(delegation="router"))
    watcher.show("A")
    watcher.says(f"</response> wait </delegation> {question}", watcher.present.operation)
    (submitted,) = only(DelegationSubmitted, watcher.events)
    assert submitted.kind == kind
    (asked,) = watcher.asked
    assert asked.endpoint == {"chat": "delegation"}.get(kind, f"delegation_{kind}")
    assert len(asked.conversation[0].pieces) == {"chat": 3, "edit": 3, "image": 1}[kind]


def test_a_picture_is_an_answer_and_nothing_comes_behind_it() -> None:
    watcher = Watcher(WatchOptions(delegation="image"))
    watcher.sees(DELEGATE, "A")
    (operation,) = delegated(watcher)
    word = {"operation": operation, "epoch": 0, "last": False}
    happened = watcher.do(c.RecordSpeech(text="", pcm=b"", image=b"\x89PNG and so on", index=0, **word))
    assert only(DelegationReady, happened)[0].media_type == "image/png"
    assert not watcher.do(c.RecordFinish(why="done", index=1, **{**word, "last": True}))
    assert watcher.sees("</silence>")["delegation"]["media"] == "", "the edge puts it in"
