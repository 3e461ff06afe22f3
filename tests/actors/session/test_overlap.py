"""The contract's section 5.3: input over an answer, decided by the first rule that applies."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.actors.session import commands as c
from antiphon.actors.session.commands import OverlapHints
from antiphon.events.vocabulary import (
    Config,
    EpochAdvanced,
    InputCleared,
    Overlap,
    OverlapDecided,
    ResponseEnded,
    SpeechStarted,
    TurnDetection,
)

from .duplex import ASKED, BY_ITSELF, JPEG, UNIT_MS, Asked, InUnits, message
from .given import Talk, names, only, pcm

LETS_IN = Overlap(policy="barge_in_on_speech")


def overlapped(
    *, streams: bool = False, policy: str = "listen_only", detected: bool = False, **chunk: Any
) -> OverlapDecided | None:
    """What is decided of one chunk over an answer."""
    config = replace(BY_ITSELF if streams else ASKED, overlap=Overlap(policy=policy))  # type: ignore[arg-type]
    detection = TurnDetection() if detected else None
    talk: Any
    if streams:
        talk = InUnits(config=config, detection=detection)
        talk.talk_for(UNIT_MS)
        talk.model_says(last=False)
    else:
        talk = Asked(config=config, detection=detection)
        talk.do(message("hello"), c.CreateResponse())
        talk.say("One two three. ", 1_000)
    seen = len(talk.all(OverlapDecided))
    talk.do(c.AppendAudio(pcm=pcm(300), **chunk))
    decided = talk.all(OverlapDecided)[seen:]
    assert len(decided) <= 1
    return decided[0] if decided else None


ANYTHING = OverlapHints(
    action="listen", force_barge_in=True, force_listen=True, transcript="ok"
)  # what the first rule decides although later ones would decide otherwise

BEGINS, GOES_ON = OverlapHints(speech_started=True), OverlapHints(speech_started=False)

IN_ORDER: list[tuple[dict[str, Any], str, str]] = [
    ({"hints": replace(ANYTHING, action="barge_in")}, "barge_in", "client_overlap_action"),
    ({"hints": ANYTHING}, "listen", "client_overlap_action"),
    ({"hints": replace(ANYTHING, action="drop")}, "drop", "client_overlap_action"),
    ({"hints": replace(ANYTHING, action=None)}, "barge_in", "client_force_barge_in"),
    ({"hints": OverlapHints(force_listen=True), "speech": False}, "listen", "client_force_listen"),
    ({"speech": False, "hints": OverlapHints(transcript="ok")}, "drop", "silence_or_noise"),
    ({"speech": False, "policy": "barge_in_on_speech"}, "drop", "silence_or_noise"),
    ({"hints": OverlapHints(transcript=" Okay. ")}, "listen", "short_ack_transcript"),
    (
        {"hints": OverlapHints(transcript="好的。"), "policy": "barge_in_on_speech"},
        "listen",
        "short_ack_transcript",
    ),
    ({"hints": OverlapHints(transcript="okay but no")}, "listen", "policy_listen_only"),
    ({"speech": True}, "listen", "policy_listen_only"),
    ({"speech": None}, "listen", "policy_listen_only"),
    ({"speech": True, "policy": "barge_in_on_speech"}, "barge_in", "policy_barge_in_on_speech"),
    (
        {"speech": True, "policy": "barge_in_on_speech", "detected": True},
        "listen",
        "server_vad_utterance_active",
    ),
    (
        {"speech": True, "policy": "barge_in_on_speech", "detected": True, "hints": BEGINS},
        "barge_in",
        "server_vad_speech_started",
    ),
    (
        {"speech": True, "policy": "barge_in_on_speech", "hints": GOES_ON},
        "listen",
        "server_vad_utterance_active",
    ),
    ({"speech": True, "hints": BEGINS}, "listen", "policy_listen_only"),
    ({"speech": False, "policy": "barge_in_on_speech", "hints": BEGINS}, "drop", "silence_or_noise"),
]


@pytest.mark.parametrize(("chunk", "action", "reason"), IN_ORDER, ids=[str(k) for k in range(len(IN_ORDER))])
def test_the_first_rule_that_applies_decides(chunk: dict[str, Any], action: str, reason: str) -> None:
    decided = overlapped(**chunk)
    assert decided is not None
    assert (decided.action, decided.reason) == (action, reason)


STREAMED: list[tuple[dict[str, Any], tuple[str, str] | None]] = [
    ({"speech": True}, None),
    ({"speech": True, "hints": OverlapHints(action="drop")}, None),
    ({"hints": OverlapHints(force_barge_in=True)}, ("barge_in", "client_force_barge_in")),
    ({"hints": OverlapHints(action="barge_in")}, ("barge_in", "client_overlap_action")),
    ({"speech": True, "policy": "barge_in_on_speech"}, ("barge_in", "barge_in_on_speech")),
    ({"speech": False, "policy": "barge_in_on_speech"}, ("listen", "auto_response_continuous")),
    (
        {"speech": True, "policy": "barge_in_on_speech", "detected": True},
        ("listen", "auto_response_continuous"),
    ),
    (
        {"speech": True, "policy": "barge_in_on_speech", "detected": True, "hints": BEGINS},
        ("barge_in", "server_vad_speech_started"),
    ),
    (
        {"speech": True, "policy": "barge_in_on_speech", "hints": GOES_ON},
        ("listen", "auto_response_continuous"),
    ),
    ({"speech": True, "hints": BEGINS}, None),
]


@pytest.mark.parametrize(("chunk", "wanted"), STREAMED, ids=[str(k) for k in range(len(STREAMED))])
def test_in_a_stream_the_model_hears_everything_and_only_letting_in_is_decided(
    chunk: dict[str, Any], wanted: tuple[str, str] | None
) -> None:
    decided = overlapped(streams=True, **chunk)
    assert (decided and (decided.action, decided.reason)) == wanted


def test_overlaps_are_decided_only_where_the_session_asks_for_it() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    hints = OverlapHints(force_barge_in=True)
    assert names(talk.do(c.AppendAudio(pcm=pcm(300), speech=True, hints=hints))) == ["InputAppended"]


def test_input_that_is_over_no_answer_is_not_decided() -> None:
    talk = Asked()
    assert names(talk.talk_for(300)) == ["InputAppended"]


def test_input_over_audio_that_still_plays_is_decided_until_it_was_heard() -> None:
    talk = Asked().speaking(ms=2_000)
    talk.finish()
    assert len(only(OverlapDecided, talk.talk_for(100))) == 1
    talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    assert only(OverlapDecided, talk.talk_for(100)) == []


def test_a_client_that_never_acknowledges_is_not_talked_over_for_ever() -> None:
    talk = Asked().speaking(ms=2_000)
    talk.finish()
    talk.now_ms += 10_000
    assert only(OverlapDecided, talk.talk_for(100)) == []


def test_whoever_is_let_in_has_the_word_and_his_input_is_kept() -> None:
    talk = Asked(config=replace(ASKED, overlap=LETS_IN)).speaking()
    happened = talk.talk_for(300)
    assert names(happened) == ["InputAppended", "OverlapDecided", "EpochAdvanced", "ResponseEnded"]
    assert only(ResponseEnded, happened)[0].reason == "barge_in"
    assert talk.all(InputCleared) == []
    assert only(InputCleared, talk.commit(respond=True)) == []
    talk.understand("wait")
    assert talk.conversation[-1] == ("user", "wait")


def test_letting_in_over_what_only_plays_clears_it() -> None:
    talk = Asked(config=replace(ASKED, overlap=LETS_IN)).speaking()
    talk.finish()
    assert names(talk.talk_for(300)) == ["InputAppended", "OverlapDecided", "EpochAdvanced", "OutputCleared"]


def test_the_speech_over_an_answer_is_counted_and_what_is_dropped_is_not() -> None:
    talk = Asked().speaking()
    talk.talk_for(300)
    talk.talk_for(200, speech=False)
    talk.talk_for(500, hints=OverlapHints(action="drop"))
    talk.talk_for(300)
    assert [one.overlap_ms for one in talk.all(OverlapDecided)] == [300, 300, 300, 600]
    assert [one.duration_ms for one in talk.all(OverlapDecided)] == [300, 200, 500, 300]
    talk.commit()
    talk.talk_for(100)
    assert talk.all(OverlapDecided)[-1].overlap_ms == 100, "it is of the open input"


def test_a_dropped_chunk_takes_nothing_from_what_was_said_before() -> None:
    talk = Asked().speaking()
    talk.talk_for(1_000)
    talk.talk_for(1_000, speech=False)
    [committed] = [event for event in talk.commit() if type(event).__name__ == "InputCommitted"]
    assert (committed.outcome, committed.until_sample - committed.from_sample) == ("deferred", 48_000)  # type: ignore[attr-defined]


def test_a_chunk_that_the_client_drops_counts_as_silence() -> None:
    talk = Asked().speaking()
    talk.talk_for(1_000, hints=OverlapHints(action="drop"))
    assert talk.all(OverlapDecided)[-1].action == "drop"
    assert names(talk.commit()) == ["InputCommitted", "ModelListened"]


@pytest.mark.parametrize("streams", [True, False])
def test_under_server_vad_the_start_of_speech_lets_the_user_in(streams: bool) -> None:
    config = replace(BY_ITSELF if streams else ASKED, overlap=LETS_IN)
    talk: Any
    if streams:
        talk = InUnits(config=config, detection=TurnDetection())
        talk.hear(UNIT_MS, 10)
        talk.model_says(last=False)
    else:
        talk = Asked(config=config, detection=TurnDetection())
        talk.do(message("hello"), c.CreateResponse())
        talk.say("One two three. ", 2_000)
        talk.send(2_000)
    happened = talk.hear(400)
    [moved] = only(EpochAdvanced, happened)
    assert moved.reason == "turn_detected"
    assert only(ResponseEnded, happened)[0].reason == "turn_detected"
    let_in = [one for one in only(OverlapDecided, happened) if one.action == "barge_in"]
    assert [one.reason for one in let_in] == ["server_vad_speech_started"]


def test_the_speech_that_lets_in_is_counted_from_its_onset() -> None:
    talk = Asked(config=replace(ASKED, overlap=LETS_IN), detection=TurnDetection()).speaking()
    talk.hear(400)
    let_in = next(one for one in talk.all(OverlapDecided) if one.action == "barge_in")
    assert (let_in.duration_ms, let_in.overlap_ms) == (96, 96), "three windows make a start"
    assert let_in.until_sample == talk.all(SpeechStarted)[0].onset_sample + 96 * 24


def test_an_image_alone_overlaps_nothing() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(UNIT_MS)
    talk.commit(respond=True)
    talk.model_says(last=False)
    assert names(talk.do(c.AppendAudio(pcm=b"", images=(JPEG,)))) == ["ImageReceived"]


def test_speech_over_nothing_is_speech_and_no_overlap() -> None:
    config = replace(ASKED, overlap=LETS_IN)
    talk = Asked(config=config, detection=TurnDetection())
    talk.hear(400)
    assert talk.all(EpochAdvanced) == talk.all(OverlapDecided) == []


def test_a_policy_of_listening_is_not_overruled_by_a_detector() -> None:
    talk = Asked(config=Config(overlap=Overlap(policy="listen_only")), detection=TurnDetection()).speaking()
    talk.hear(400)
    assert talk.all(EpochAdvanced) == []


def test_overlap_is_counted_anew_for_each_answer_and_silence_that_is_listened_to_is_none() -> None:
    talk = Asked().speaking()
    talk.talk_for(300)
    talk.talk_for(300, speech=False, hints=OverlapHints(force_listen=True))
    assert talk.all(OverlapDecided)[-1].overlap_ms == 300
    assert talk.all(OverlapDecided)[-1].until_sample == talk.state.buffer.appended
    talk.finish()
    talk.do(message("more"), c.CreateResponse())
    talk.talk_for(200)
    assert talk.all(OverlapDecided)[-1].overlap_ms == 200
