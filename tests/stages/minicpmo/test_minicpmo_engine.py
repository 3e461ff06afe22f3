"""The stage around a tiny model: what it does when somebody cuts in, and when the model hangs or dies."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from antiphon.actors.stages.contract import (
    ENGINE_DEAD,
    Body,
    Consumed,
    EngineDied,
    EngineRefused,
    Failed,
    Finished,
    Measured,
    PastUnit,
    Said,
    TurnEnded,
)
from antiphon.actors.stages.minicpmo.layout import AUDIO_POSITIONS, IMAGE_POSITIONS, UNIT_POSITIONS
from antiphon.media.wav import write_wav

pytestmark = pytest.mark.minicpmo
for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)

from antiphon.actors.stages.minicpmo.engine import past_units  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.nets import audio, talker  # noqa: E402
from antiphon.actors.stages.minicpmo.tiny import make_tiny  # noqa: E402
from tests.stages.minicpmo.talking import (  # noqa: E402
    GREEDY,
    PATIENCE_S,
    SECOND,
    Stage,
    Talk,
    sound,
    text,
)

Make = Callable[..., Talk]
TALKATIVE = {"engine": {"seed": 0}}
"""It speaks for the whole of its first second, and its turn goes on."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    make_tiny(folder, seed=1)
    return folder


@pytest.fixture
def talks(tiny: Path) -> Iterator[Make]:
    """Each at a stage of its own."""
    made: list[Stage] = []

    def make(config: dict[str, Any] = GREEDY, **settings: Any) -> Talk:
        made.append(Stage(tiny, **settings))
        return Talk(made[-1], config)

    yield make
    for stage in made:
        stage.engine.stop()


def in_whole_seconds(bodies: list[Body]) -> bool:
    """A second, or up to four where the turn ends."""
    ends = any(isinstance(body, TurnEnded) for body in bodies)
    return sound(bodies) == 24_000 or (ends and 0 < sound(bodies) <= 4 * 24_000)


# --- barge-ins --------------------------------------------------------------------------------------------


def test_over_a_barge_in_the_context_survives_and_nothing_more_is_said(talks: Make):
    talk = talks()
    first = talk.unit()
    assert text(first)
    void = talk.begin()
    talk.cancel()
    following = talk.unit(force_listen=True)
    assert isinstance(following[-1], Consumed)
    assert sound(talk.said(void)) == 0
    assert talk.context > 3 * 13, "the three seconds stand in it, the void one too"
    assert talk.stage.thinker.health().sessions == 1


def test_every_unit_ends_also_one_whose_speech_was_cut_off(talks: Make):
    talk = talks()
    void = []
    for _ in range(6):
        void.append(talk.begin())
        talk.until(void[-1], Measured)
        talk.cancel()
    talk.unit()
    assert all(talk.has_ended(operation) for operation in void)


def test_where_it_must_listen_in_the_middle_of_its_turn_the_next_turn_has_a_sound_of_its_own(talks: Make):
    talk = talks()
    assert sound(talk.unit())
    assert isinstance(talk.unit(force_listen=True)[-1], Consumed)
    assert in_whole_seconds(talk.unit())


# --- what is said, and in which order -----------------------------------------------------------------------


def test_without_sound_there_are_words_alone(talks: Make):
    spoken = [talk.unit() for talk in (talks(), talks({**GREEDY, "modalities": ["text"]}))]
    assert text(spoken[0]) == text(spoken[1])
    assert in_whole_seconds(spoken[0])
    assert sound(spoken[1]) == 0


def test_the_first_word_leaves_before_the_segment_is_whole(talks: Make):
    """The thinker stops in the middle of it until the first word was heard."""
    talk = talks(TALKATIVE)
    goes_on = threading.Event()
    append = talk.stage.thinker.append

    def slow(key: str, asked: Any, said: Any) -> None:
        told: list[Any] = []

        def saying(what: Any) -> None:
            told.append(what)
            if len(told) == 8:
                goes_on.wait(PATIENCE_S)
            said(what)

        append(key, asked, saying)

    talk.stage.thinker.append = slow  # type: ignore[method-assign]
    operation = talk.begin()
    try:
        talk.until(operation, Said)
        first = text(talk.said(operation))
    finally:
        goes_on.set()
    assert 0 < len(first) < len(text(talk.ended(operation)))


@pytest.mark.parametrize("config", [GREEDY, TALKATIVE], ids=["a turn ends", "a turn goes on"])
def test_what_was_measured_waits_until_words_and_sound_are_out(talks: Make, config: dict[str, Any]):
    bodies = talks(config).unit()
    kinds = [type(body) for body in bodies]
    names = [body.name for body in bodies if isinstance(body, Measured)]
    assert kinds[0] is Said
    assert names == ["first_token_ms", "token_gaps_ms", "first_audio_ms"]
    sounds = next(place for place, body in enumerate(bodies) if isinstance(body, Said) and body.pcm)
    assert isinstance(bodies[sounds + 1], Measured)
    assert text(bodies[kinds.index(Measured) :]) == ""


def test_who_asks_for_no_seed_says_the_same_wherever_the_session_is_opened_again(talks: Make):
    once, again = ([talk.unit() for _ in range(4)] for talk in (talks({}), talks({})))
    assert [text(bodies) for bodies in once] == [text(bodies) for bodies in again]
    other = Talk(talks({}).stage, {}, session="other").unit()
    assert text(other) != text(once[0]), "others have another"


def test_another_seed_is_that_of_the_words_and_of_the_sound(talks: Make):
    talk = talks(TALKATIVE)
    talk.unit()
    talk.configure({"engine": {"seed": 6}})
    talk.unit()
    for asked in (talk.stage.thinker, talk.stage.talker):
        seeds = [append.drawing.seed for append in asked.appends["s"]]
        assert (seeds[0], seeds[-1]) == (0, 6)


# --- configurations -----------------------------------------------------------------------------------------


def test_another_temperature_does_not_give_the_context_anew(talks: Make):
    talk = talks()
    talk.unit()
    talk.configure({"engine": {"seed": 4, "temperature": 1.5}})
    talk.unit()
    assert [append.number for append in talk.appends] == [0, 1]
    assert talk.appends[1].drawing.temperature == 1.5


def test_other_instructions_do(talks: Make):
    talk = talks()
    talk.unit()
    held = talk.context
    talk.configure({**GREEDY, "instructions": "Speak of the sea."})
    talk.unit(force_listen=True)
    assert [append.number for append in talk.appends] == [0, 0]
    assert talk.context == held + 1 + 1 + 11 + len("Speak of the sea."), "the unit before is whole in it"


def test_instructions_that_are_refused_change_nothing(talks: Make):
    talk = talks(context_tokens=512)
    talk.unit()
    with pytest.raises(EngineRefused, match="half of the context"):
        talk.configure({**GREEDY, "instructions": "x" * 400})
    talk.configure(GREEDY)
    talk.unit()
    assert [append.number for append in talk.appends] == [0, 1]


def test_a_voice_is_heard_once_and_before_the_first_session(talks: Make, tmp_path: Path):
    noise = np.random.default_rng(5).normal(0, 0.1, 3 * 16_000).astype(np.float32)
    (tmp_path / "anna.wav").write_bytes(write_wav(noise, 16_000))
    talk = talks({**GREEDY, "voice": "anna"}, voices=str(tmp_path))
    ears = talk.engine._parts.ears
    heard, hear = [], ears.hear
    ears.hear = lambda *given: heard.append(1) or hear(*given)
    talk.configure({**GREEDY, "voice": "anna", "instructions": "Speak."})
    assert not heard
    talk.unit()
    assert len(heard) == 1
    assert talk.appends[0].positions > 30


def test_what_a_session_will_need_was_driven_before_the_first_one(
    talks: Make, monkeypatch: pytest.MonkeyPatch
):
    heard, conditioned = [], []
    hear, of = audio.Ears.hear, talker.Conditions.of
    monkeypatch.setattr(
        audio.Ears,
        "hear",
        lambda self, hearing, sound: heard.append(hearing.position) or hear(self, hearing, sound),
    )
    monkeypatch.setattr(
        talker.Conditions,
        "of",
        lambda self, words, last: conditioned.append(words) or of(self, words, last=last),
    )
    stage = talks().stage
    assert heard == [audio.POSITIONS * second for second in range(31)], "until the encoder begins anew"
    assert {(len(words.tokens), words.states is None) for words in conditioned} == {
        (count, without) for count in range(20) for without in (False, True)
    }
    assert stage.thinker.appends["warming"][0].positions == 2000
    assert stage.thinker.health().sessions == 1, "the one that talks"


# --- what it sees ---------------------------------------------------------------------------------------


def image(color: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 48), color).save(out, "JPEG")
    return out.getvalue()


def test_an_image_stands_in_the_context_before_the_sound_of_its_second(talks: Make):
    talk = talks()
    talk.unit(images=(image("red"), image("blue")))
    talk.unit()
    shown, plain = talk.appends
    specials = talk.engine._parts.words.specials
    kinds = [piece if isinstance(piece, tuple) else len(piece) for piece in shown.pieces]

    assert kinds[-5:-1] == [
        IMAGE_POSITIONS,
        (specials.image_end, specials.image),
        IMAGE_POSITIONS,
        (specials.image_end,),
    ]
    assert kinds[-1] == AUDIO_POSITIONS
    assert not np.allclose(shown.pieces[-5], shown.pieces[-3]), "red is not blue"
    assert plain.positions == AUDIO_POSITIONS + 3


def test_an_image_that_is_only_half_there_is_left_out_and_its_second_is_heard(talks: Make):
    talk = talks()
    talk.unit(images=(image("red")[:-200],))
    (heard,) = talk.appends
    assert [len(piece) for piece in heard.pieces if not isinstance(piece, tuple)] == [AUDIO_POSITIONS]


# --- hangs and deaths ---------------------------------------------------------------------------------------


def talk_on(talk: Talk) -> None:
    patience = time.monotonic() + PATIENCE_S
    while time.monotonic() < patience:
        talk.unit()


def test_a_model_that_hangs_is_found_out_while_another_session_goes_on_talking(talks: Make):
    talk = talks(append_timeout_s=1.0)
    other = Talk(talk.stage, GREEDY, session="other")
    talk.stage.thinker.hangs_for.add("s")
    hung = talk.begin()
    with pytest.raises(EngineDied):
        talk_on(other)
    (failed,) = talk.ended(hung)
    assert isinstance(failed, Failed)
    assert failed.code == ENGINE_DEAD
    assert "not answered" in failed.message


def broken(*_: object) -> None:
    raise RuntimeError("the device is lost")


def test_who_waits_for_a_configuration_is_told_when_the_stage_dies(talks: Make):
    talk = talks()
    talk.engine._parts.words.tokens = broken
    with pytest.raises(EngineDied, match="the device is lost"):
        talk.configure({**GREEDY, "instructions": "Speak."})
    with pytest.raises(EngineDied):
        talk.begin()


def test_who_waits_for_a_place_to_be_free_is_told_when_the_stage_dies(talks: Make):
    talk = talks()
    talk.stage.thinker.close = broken  # type: ignore[assignment,method-assign]
    closed = talk.engine.close(talk.fence)
    assert closed is not None
    with pytest.raises(EngineDied, match="the device is lost"):
        closed.result(PATIENCE_S)


def never(*_: object) -> Future[None]:
    return Future()


def test_a_model_that_hangs_while_a_session_ends_is_found_out(talks: Make):
    """Else its place would be gone without a word."""
    talk = talks(append_timeout_s=1.0)
    talk.unit()
    talk.stage.thinker.close = never  # type: ignore[assignment,method-assign]
    closed = talk.engine.close(talk.fence)
    assert closed is not None
    with pytest.raises(EngineDied, match="not answered"):
        closed.result(PATIENCE_S)
    with pytest.raises(EngineDied):
        talk.engine.open(talk.fence, GREEDY)


# --- how long it remembers ----------------------------------------------------------------------------------


def test_a_window_gives_the_context_anew_and_the_session_goes_on(talks: Make):
    talk = talks(context_tokens=256, window="basic", window_high=150, window_low=80)
    contexts = []
    for _ in range(14):
        ended = talk.unit()
        assert isinstance(ended[-1], Said | Consumed | Finished)
        contexts.append(talk.context)
    assert max(contexts) < 256
    assert any(later < earlier for earlier, later in pairwise(contexts))


def test_a_window_that_is_larger_than_the_context_goes_down_with_it(talks: Make):
    talk = talks(context_tokens=512)
    for _ in range(40):
        talk.unit(force_listen=True)
    anew = [place for place, append in enumerate(talk.appends) if append.number == 0]
    window = talk.engine._rules.window.high
    assert 512 * 3 // 4 < window < 512
    assert len(anew) >= 2
    assert min(later - earlier for earlier, later in pairwise(anew)) >= window // 4 // UNIT_POSITIONS


def test_a_stage_that_knows_what_was_said_has_it_in_its_context(talks: Make):
    past = [PastUnit(SECOND), PastUnit(SECOND, "abc"), PastUnit(SECOND, "d", turn_ended=True)]
    talk = talks({**GREEDY, "past_units": past})
    assert talk.context == 0
    talk.unit(force_listen=True)
    fresh = talks()
    fresh.unit(force_listen=True)
    spoken = (1 + 0, 1 + 3 + 1, 1 + 1 + 2)  # <|listen|>; <|speak|>, words, <|chunk_eos|>; with <|turn_eos|>
    assert talk.context - fresh.context == sum(12 + count for count in spoken)


def told_of(bodies: list[Body]) -> PastUnit:
    ended = bodies[-1]
    assert isinstance(ended, Said | Consumed | Finished)
    return PastUnit(SECOND, text(bodies), any(isinstance(body, TurnEnded) for body in bodies), ended.tokens)


def test_the_context_after_a_stage_was_lost_is_the_one_that_was_there_position_for_position(talks: Make):
    begun = {**TALKATIVE, "instructions": "Speak."}
    live = talks(TALKATIVE)
    past = [told_of(live.unit()) for _ in range(4)]
    live.configure(begun)  # which gives it anew
    live.unit()
    again = talks({**begun, "past_units": past})
    again.unit()
    there, rebuilt = live.appends[-1], again.appends[0]
    assert there.number == rebuilt.number == 0
    assert len(there.pieces) == len(rebuilt.pieces)
    for one, other in zip(there.pieces, rebuilt.pieces, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (there.drawing.recent, there.drawing.place) == (rebuilt.drawing.recent, rebuilt.drawing.place)


def test_tokens_of_another_checkpoint_are_not_taken_for_the_text(talks: Make):
    talk = talks(
        {
            **GREEDY,
            "past_units": [PastUnit(SECOND, "ab", tokens=(7, 7)), PastUnit(SECOND, "", tokens=(9**9,))],
        }
    )
    talk.unit(force_listen=True)
    fresh = talks()
    fresh.unit(force_listen=True)
    assert talk.context - fresh.context == (12 + 1 + 2 + 1) + (12 + 1)


def test_what_was_said_before_is_heard_again_behind_the_units_of_others(talks: Make):
    talk = talks()
    ears = talk.engine._parts.ears
    heard, hear, goes_on = [], ears.hear, threading.Event()

    def slow(hearing: Any, second: Any) -> Any:
        heard.append(id(hearing))
        goes_on.wait(PATIENCE_S)
        return hear(hearing, second)

    ears.hear = slow
    primed = Talk(talk.stage, {**GREEDY, "past_units": [PastUnit(SECOND)] * 9}, session="primed")
    waits = primed.begin()
    live = talk.begin()
    goes_on.set()
    talk.ended(live)
    primed.ended(waits)
    assert len(heard) == 11
    assert len(set(heard[:3])) == 2, "the live unit waited for one second of the past at most"
    assert primed.appends[0].positions > 9 * 13


def test_as_many_seconds_are_told_as_a_context_holds_and_a_message():
    assert past_units(8_000, 4) == 615
    assert past_units(40_000, 4) * 48_000 < 48 * 1024 * 1024
    assert past_units(8_000, 64) == 64
    assert past_units(8_000, 10_000) == 1
