"""What stages say: each output once, in its place, whatever is said again after a takeover."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session.decide import decide
from antiphon.events.ids import ItemId, Operation
from antiphon.events.vocabulary import (
    AudioSpoken,
    ConfigRefused,
    Item,
    ModelListened,
    Part,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionFailed,
    StageOutputDropped,
    TextSpoken,
    TurnDetection,
    UnitCompleted,
    UnitSubmitted,
)

from .given import SILENCE, Talk, ms_of, names, only, pcm, spoken


def asked(**how: object) -> Talk:
    talk = Talk(**how)  # type: ignore[arg-type]
    talk.do(c.CreateResponse())
    return talk


def test_operation_id_and_index_remove_duplicates() -> None:
    talk = asked()
    talk.say("one", 500, index=0)
    assert talk.say("one", 500, index=0) == []
    talk.say("two", 500, index=1)
    assert talk.say("one", 500, index=0) == []
    assert [spoken.text for spoken in talk.all(TextSpoken)] == ["one", "two"]
    assert ms_of(talk.events) == 1_000


def test_an_answer_that_is_finished_is_known_when_it_is_said_again() -> None:
    """It was in the log, but its acknowledgement was not with the stage when the server died."""
    talk = asked()
    operation = talk.active.operation
    talk.say("one", 500)
    talk.finish()
    talk.open_writer()
    word = {"operation": operation, "epoch": 0}
    again = [
        c.RecordSpeech(text="one", pcm=pcm(500), index=0, last=False, **word),
        c.RecordMeasure(name="first_token_ms", value_ms=3, index=0, last=False, **word),
        c.RecordFinish(why="done", index=1, last=True, **word),
    ]
    assert talk.do(*again) == []
    talk.do(c.CreateResponse())
    assert talk.do(*again) == []
    assert talk.all(StageOutputDropped) == []


def test_long_audio_is_stored_in_pieces_of_at_most_200_ms() -> None:
    talk = asked()
    happened = only(AudioSpoken, talk.say("one", 900))
    assert [piece.samples for piece in happened] == [4_800, 4_800, 4_800, 4_800, 2_400]
    assert happened[-1].until_sample == sum(piece.samples for piece in happened)
    assert b"".join(payload for payload in talk.payloads if payload) == pcm(900)


def test_a_very_long_piece_stays_one_short_batch() -> None:
    talk = asked()
    happened = talk.say("one", 60_000)
    assert len(happened) <= 25
    assert ms_of(happened) == 60_000


def test_text_stands_where_its_audio_begins() -> None:
    talk = asked()
    talk.say("one ", 500)
    talk.say("two ", 0)
    talk.say("three", 500)
    assert [spoken.from_sample for spoken in talk.all(TextSpoken)] == [0, 12_000, 12_000]


def test_an_answer_cut_at_its_limit_is_incomplete() -> None:
    talk = asked()
    talk.say("one", 100)
    talk.finish("length")
    [ended] = talk.all(ResponseEnded)
    assert (ended.outcome, ended.reason) == ("incomplete", "max_output_tokens")


def test_the_model_is_asked_as_soon_as_the_last_word_of_the_user_is_understood() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(700, SILENCE)
    assert "UnitSubmitted" in names(talk.understand("hello"))
    [speak] = [effect for effect in talk.effects if type(effect).__name__ == "Answer"]
    assert spoken(speak.conversation) == [("user", "hello")]  # type: ignore[attr-defined]


def test_a_model_that_is_lost_for_good_fails_the_session_and_ends_its_answer_first() -> None:
    talk = asked()
    happened = talk.lose("model")
    assert names(happened) == ["StageAway", "StageLost", "ResponseEnded", "SessionFailed"]
    assert only(SessionFailed, happened)[0].code == "stage_lost"
    [ended] = only(ResponseEnded, happened)
    assert (ended.outcome, ended.reason, ended.session_over) == ("failed", "stage_lost", True)


def test_an_engine_that_says_it_is_dead_fails_the_answer_by_its_own_code_and_the_session_waits() -> None:
    talk = asked(must_not_repeat=True)
    operation = talk.active.operation
    died = c.RecordFailure(
        operation=operation, index=0, epoch=0, last=True, code="engine_dead", message="out of memory"
    )
    happened = talk.do(died)
    assert names(happened) == ["UnitRefused", "EffectFailed", "ResponseEnded"]
    assert only(ResponseEnded, happened)[0].reason == "engine_dead"
    assert names(talk.do(c.RecordStage(stage="model", what="away", message="killed"))) == ["StageAway"]
    assert talk.state.phase == "open"


@pytest.mark.parametrize("ending", ["lost", "closed"])
def test_no_owed_answer_begins_when_the_session_ends(ending: str) -> None:
    talk = asked(detection=TurnDetection(interrupt_response=False))
    talk.utterance("And what of Lisbon?")
    assert talk.state.turns.owed
    happened = talk.lose("model") if ending == "lost" else talk.do(c.CloseSession(reason="client"))
    assert len(only(ResponseEnded, happened)) == 1
    assert not only(ResponseCreated, happened)


def test_the_loss_of_the_voice_detector_leaves_the_session_without_server_vad() -> None:
    talk = Talk()
    happened = talk.lose("voice")
    assert names(happened) == ["StageAway", "StageLost", "ConfigRefused", "SessionConfigured"]
    assert only(ConfigRefused, happened)[0].code == "server_vad_unavailable"
    assert talk.state.config.turn_detection is None
    assert talk.refuses(c.Configure(turn_detection=TurnDetection())).code == "server_vad_unavailable"


def test_a_voice_detector_that_is_of_no_more_use_is_told_to_let_go() -> None:
    talk = Talk()
    talk.do(c.RecordStage(stage="voice", what="refused", code="engine_error", message="it broke"))
    assert [(type(effect).__name__, effect.stage) for effect in talk.effects] == [("CloseStage", "voice")]  # type: ignore[attr-defined]
    assert talk.state.config.turn_detection is None
    talk.do(c.RecordStage(stage="voice", what="released"))
    assert talk.state.holding == {"model"}


def test_the_slot_is_held_until_the_stages_have_really_let_go() -> None:
    talk = Talk()
    talk.do(c.CloseSession(reason="client"))
    assert [type(effect).__name__ for effect in talk.effects] == ["CloseStage", "CloseStage"]
    assert talk.state.holding == {"model", "voice"}
    talk.do(c.RecordStage(stage="model", what="released"))
    assert talk.state.holding == {"voice"}
    talk.do(c.RecordStage(stage="voice", what="released"))
    assert talk.state.holding == frozenset()


def test_a_session_ends_with_its_only_connection_and_every_created_response_has_its_end() -> None:
    talk = asked()
    happened = talk.do(c.Detach(attachment=1, reason="lost"))
    assert names(happened) == ["ClientDetached", "ResponseEnded", "SessionClosed"]
    assert only(SessionClosed, happened)[0].reason == "disconnected"


def test_a_connection_that_is_not_bound_ends_nothing_when_it_goes() -> None:
    talk = Talk()
    assert talk.do(c.Detach(attachment=0, reason="lost"), c.Detach(attachment=7, reason="lost")) == []
    assert talk.state.phase == "open"


def test_an_end_is_not_followed_by_an_answer_that_was_owed() -> None:
    talk = asked(detection=TurnDetection(interrupt_response=False))
    talk.utterance()
    talk.do(c.CloseSession(reason="client"))
    assert names(talk.events[-2:]) == ["ResponseEnded", "SessionClosed"]


# --- continuously hearing stages --------------------------------------------------------------------------


def duplex(**how: object) -> Talk:
    return Talk(hears="continuously", transcribes=False, **how)  # type: ignore[arg-type]


def piece(talk: Talk) -> Operation:
    """80 ms of input, as the operation by which the stage knows it."""
    talk.do(c.AppendAudio(pcm=pcm(80)))
    return Operation(talk.state.seq - 1)


def said(operation: Operation, index: int = 0, *, epoch: int = 0, ms: int = 80) -> c.RecordSpeech:
    return c.RecordSpeech(text="", pcm=pcm(ms), operation=operation, index=index, epoch=epoch, last=True)


def test_a_duplex_model_is_given_every_piece_and_its_words_count_once() -> None:
    talk = duplex(detection=None)
    first, second = piece(talk), piece(talk)
    talk.do(said(first), said(second), said(first), said(second))
    assert ms_of(talk.events) == 160
    assert len(talk.all(ResponseCreated)) == 1


def test_a_piece_that_the_model_only_listened_to_is_not_given_again() -> None:
    talk = duplex(detection=None)
    first, second = piece(talk), piece(talk)
    heard = c.RecordConsumed(operation=first, index=0, epoch=0, last=True)
    assert names(talk.do(heard, heard)) == ["ModelListened"]
    talk.open_writer()
    [again] = [effect for effect in talk.effects if type(effect).__name__ == "HearAgain"]
    assert (again.after, second) == (first, second)  # type: ignore[attr-defined]
    assert talk.all(ModelListened)[0].operation == first


def test_the_end_of_the_user_s_turn_is_told_and_its_answer_ends_the_response() -> None:
    talk = duplex(detection=None)
    operation = piece(talk)
    talk.do(said(operation), c.AppendAudio(pcm=pcm(80)), c.CommitInput())
    [turn] = talk.all(UnitSubmitted)
    assert turn.work == "turn"
    ending = talk.state.turns.endings[0].operation
    tail = said(ending)
    done = c.RecordFinish(why="done", operation=ending, index=1, epoch=0, last=True)
    talk.do(tail, tail, done, done)
    assert ms_of(talk.events) == 160
    assert len(talk.all(UnitCompleted)) == len(talk.all(ResponseEnded)) == 1
    assert talk.do(tail, done) == []


def test_two_ends_of_turn_under_way_are_each_answered() -> None:
    talk = duplex(detection=None)
    for _ in range(2):
        talk.do(c.AppendAudio(pcm=pcm(160)), c.CommitInput())
    one, two = (ending.operation for ending in talk.state.turns.endings)
    for operation in (one, two):
        talk.do(c.RecordFinish(why="done", operation=operation, index=0, epoch=0, last=True))
    assert [done.operation for done in talk.all(UnitCompleted)] == [one, two]
    assert talk.state.turns.endings == ()


def test_what_a_duplex_model_was_given_before_a_barge_in_is_void() -> None:
    talk = duplex(detection=None)
    first, second = piece(talk), piece(talk)
    talk.do(said(first), c.CancelResponse())
    assert names(talk.do(said(second))) == ["StageOutputDropped"]
    third = piece(talk)
    assert names(talk.do(said(third, epoch=1))) == ["ResponseCreated", "AudioSpoken"]


def test_a_stage_may_report_on_a_session_that_has_ended() -> None:
    talk = asked()
    operation = talk.active.operation
    talk.do(c.CloseSession(reason="client"))
    assert talk.do(said(operation), c.RecordScores(until_sample=768, window=768, permille=(900,))) == []
    assert names(talk.do(c.RecordStage(stage="model", what="released"))) == ["StageReleased"]


@pytest.mark.parametrize("hears", ["utterances", "continuously"])
def test_a_measure_of_something_unknown_is_nothing(hears: str) -> None:
    talk = Talk(hears=hears)
    word = c.RecordMeasure(
        name="first_token_ms", value_ms=7, operation=Operation(99), index=0, epoch=5, last=False
    )
    assert decide(talk.state, word, talk.moment).drafts == ()


def test_items_of_the_client_are_part_of_what_the_model_sees_in_their_place() -> None:
    talk = Talk()
    system = Item(id=ItemId("s"), role="system", content=(Part(kind="input_text", text="Be kind."),))
    user = Item(id=ItemId("u"), role="user", content=(Part(kind="input_text", text="Hi."),))
    before = Item(id=ItemId("b"), role="user", content=(Part(kind="input_text", text="First."),))
    talk.do(c.AddItem(item=system), c.AddItem(item=user), c.AddItem(item=before, previous=ItemId("s")))
    assert talk.conversation == [("system", "Be kind."), ("user", "First."), ("user", "Hi.")]
    talk.do(c.RemoveItem(item=ItemId("b")), c.AddItem(item=before, previous=None))
    assert talk.conversation == [("user", "First."), ("system", "Be kind."), ("user", "Hi.")]


def test_a_recognition_that_was_answered_cannot_fail_any_more() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, SILENCE)
    [recognition] = talk.state.input.recognitions
    talk.understand("hello")
    word = {"operation": recognition.operation, "index": 1, "epoch": 0, "last": True}
    assert talk.do(c.RecordFailure(code="busy", message="later", **word)) == []
    talk.hear(400, SILENCE)
    assert talk.conversation == [("user", "hello")]


def test_a_report_of_what_was_sent_counts_once_also_after_the_detachment() -> None:
    talk = asked()
    talk.say("one", 500)
    report = talk.report(talk.active.response, 12_000, 1)
    talk.do(c.Detach(attachment=1, reason="lost"))
    assert names(talk.do(report, report)) == ["FramesSent"]
