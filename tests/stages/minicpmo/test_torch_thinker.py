"""The plain-torch thinker beside transformers' Qwen3 with the same weights, in float32 on a CPU."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from antiphon.actors.stages.minicpmo.drawing import Drawing, choose, forced, numbers
from antiphon.actors.stages.minicpmo.shapes import named
from antiphon.actors.stages.minicpmo.thinker import Append, Facts, Rejected, ThinkerDied
from tests.stages.minicpmo.asking import PATIENCE_S, Asked

pytestmark = pytest.mark.minicpmo
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from antiphon.actors.stages.minicpmo import torch_thinker  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.nets.decoder import Decoder, names  # noqa: E402
from antiphon.actors.stages.minicpmo.nets.steps import Steps  # noqa: E402
from antiphon.actors.stages.minicpmo.nets.weights import random as random_weights  # noqa: E402
from antiphon.actors.stages.minicpmo.torch_thinker import TorchThinker  # noqa: E402

SHAPE = named("tiny")
SLOTS, LENGTH = 4, 1024
CPU = torch.device("cpu")
CHARACTERS = [4] * SHAPE.vocab_size
LISTEN = 300
SAMPLED = Drawing(
    temperature=0.7,
    top_p=0.8,
    top_k=20,
    repetition_penalty=1.05,
    banned=(1, 2),
    boundary=(301, 302),
    banned_later=(301, 303),
    rewrites=((LISTEN, 304),),
    rewrites_from=1,
    last=301,
    seed=11,
)


@pytest.fixture(scope="module")
def weights() -> dict[str, Any]:
    wanted = {
        "embed_tokens.weight": (SHAPE.vocab_size, SHAPE.hidden_size),
        "lm_head.weight": (SHAPE.vocab_size, SHAPE.hidden_size),
    }
    return random_weights(wanted | names(SHAPE, qk_norm=True), CPU, torch.float32, std=0.15, seed=5)


@pytest.fixture(scope="module")
def reference(weights: dict[str, Any]) -> Any:
    """Of transformers."""
    config = transformers.Qwen3Config(
        vocab_size=SHAPE.vocab_size,
        hidden_size=SHAPE.hidden_size,
        intermediate_size=SHAPE.intermediate_size,
        num_hidden_layers=SHAPE.num_hidden_layers,
        num_attention_heads=SHAPE.num_attention_heads,
        num_key_value_heads=SHAPE.num_key_value_heads,
        head_dim=SHAPE.head_dim,
        rms_norm_eps=SHAPE.rms_norm_eps,
        rope_parameters={"rope_theta": SHAPE.rope_theta, "rope_type": "default"},
        max_position_embeddings=SHAPE.max_position_embeddings,
        tie_word_embeddings=False,
    )
    model = transformers.Qwen3ForCausalLM(config).eval()
    theirs = {name if name == "lm_head.weight" else f"model.{name}": one for name, one in weights.items()}
    model.load_state_dict(theirs)
    return model


@pytest.fixture
def thinker(weights: dict[str, Any]) -> Iterator[TorchThinker]:
    decoder = Decoder(SHAPE, weights, qk_norm=True, slots=SLOTS, length=LENGTH)
    facts = Facts(
        name="torch tiny",
        max_sessions=SLOTS,
        context_tokens=LENGTH,
        kv_tokens=SLOTS * LENGTH,
        hidden=SHAPE.hidden_size,
        vocabulary=SHAPE.vocab_size,
        can_truncate=True,
        gives_hidden=True,
    )
    made = TorchThinker(
        Steps(decoder, weights["embed_tokens.weight"], weights["lm_head.weight"]),
        facts,
        CHARACTERS,
        lambda told: None,
    )
    yield made
    made.stop()


def one_shot(reference: Any, given: list[int], count: int) -> tuple[list[int], np.ndarray]:
    """Greedy tokens of transformers, and the states of all that was fed."""
    whole = list(given)
    with torch.no_grad():
        for _ in range(count):
            scores = reference(torch.tensor([whole])).logits[0, -1]
            whole.append(int(scores.argmax()))
        states = reference.model(torch.tensor([whole])).last_hidden_state[0].numpy()
    return whole[len(given) :], states


def unit(number: int) -> tuple[int, ...]:
    return tuple((7 * number + 3 * place) % 250 for place in range(13))


def conversation(session: Asked, units: int) -> list[list[int]]:
    said: list[list[int]] = []
    for number in range(units):
        carried = (said[-1][-1],) if said else ()
        said.append(session.segment((*carried, *unit(number)), max_tokens=6)[0])
    return said


def test_appended_segments_are_those_of_one_shot(thinker: TorchThinker, reference: Any):
    session = Asked(thinker, "a").open()
    whole: list[int] = []
    held = 0
    for number in range(6):
        carried = whole[-1:]
        tokens, ended = session.segment((*carried, *unit(number)), max_tokens=6)
        before = len(whole)
        whole += unit(number)
        expected, states = one_shot(reference, whole, 6)
        assert tokens == expected
        assert ended.hidden is not None
        np.testing.assert_allclose(ended.hidden, states[len(whole) : len(whole) + 5], atol=2e-4)
        held += len(carried) + 13 + 5
        assert (ended.why, ended.n_in, ended.n_out, ended.context_len) == (
            "length",
            len(carried) + 13,
            6,
            held,
        )
        assert before <= held
        whole += tokens


def test_embeddings_count_as_the_tokens_they_stand_for(thinker: TorchThinker, weights: dict[str, Any]):
    table = weights["embed_tokens.weight"].numpy()
    by_token, _ = Asked(thinker, "a").open().segment(unit(1))
    mixed, _ = Asked(thinker, "b").open().segment(unit(1)[:2], table[list(unit(1)[2:9])], unit(1)[9:])
    assert mixed == by_token


def test_two_interleaved_sessions_are_two_separate_ones(thinker: TorchThinker):
    alone = [conversation(Asked(thinker, "alone").open(), 5)]
    one, other = Asked(thinker, "one").open(), Asked(thinker, "other").open()
    said: list[list[int]] = []
    for number in range(5):
        other.begin((*range(number + 1, 40), number), max_tokens=9)
        carried = (said[-1][-1],) if said else ()
        said.append(one.segment((*carried, *unit(number)), max_tokens=6)[0])
        other.ended()
    assert [said] == alone


def test_a_long_append_is_given_in_pieces_and_says_the_same(thinker: TorchThinker, reference: Any):
    long = [place % 250 for place in range(900)]
    busy = Asked(thinker, "busy").open()
    busy.begin(unit(0), max_tokens=60)
    tokens, _ = Asked(thinker, "long").open().segment(tuple(long), max_tokens=4)
    assert tokens == one_shot(reference, long, 4)[0]
    assert len(busy.ended()[0]) == 60


def test_a_segment_ends_at_a_stop_and_its_last_token_is_not_in_the_context(thinker: TorchThinker):
    session = Asked(thinker, "a").open()
    first = session.segment(unit(1), max_tokens=8)[0]
    again = Asked(thinker, "b").open()
    tokens, ended = again.segment(unit(1), max_tokens=8, stop=frozenset((first[2],)))
    assert (tokens, ended.why, ended.last_token) == (first[: first.index(first[2]) + 1], "stop", first[2])
    assert ended.context_len == 13 + len(tokens) - 1


def test_cut_and_given_again_it_says_the_same(thinker: TorchThinker):
    session = Asked(thinker, "a").open()
    said = session.segment(unit(0), max_tokens=6)
    once = session.segment((said[0][-1], *unit(1)), max_tokens=6)
    thinker.truncate("a", said[1].context_len).result(PATIENCE_S)
    twice = session.segment((said[0][-1], *unit(1)), max_tokens=6)
    assert twice[0] == once[0]
    np.testing.assert_array_equal(twice[1].hidden, once[1].hidden)
    with pytest.raises(Rejected):
        thinker.truncate("a", LENGTH)


def test_two_hundred_cancels_leave_no_slot_and_no_kv(thinker: TorchThinker):
    dice = random.Random(3)
    expected = Asked(thinker, "expected").open().segment(unit(9))[0]
    thinker.close("expected").result(PATIENCE_S)
    for count in range(200):
        session = Asked(thinker, f"s{count}").open()
        session.begin(tuple(range(dice.choice((5, 13, 120)))), max_tokens=40)
        for _ in range(dice.randrange(4)):
            session.said.get(timeout=PATIENCE_S)
        session.close()
        assert session.ended()[1].why in ("aborted", "length")
    health = thinker.health()
    assert (health.sessions, health.kv_tokens, health.died) == (0, 0, "")
    sessions = [Asked(thinker, f"last{count}").open() for count in range(SLOTS)]
    for session in sessions:
        assert session.segment(unit(9))[0] == expected


def test_tokens_are_drawn_by_the_rules(thinker: TorchThinker, reference: Any):
    """What the reference draws of transformers' scores."""
    with torch.no_grad():
        for place in range(12):
            ruled = replace(SAMPLED, place=place, recent=(5, 6, 7))
            session = Asked(thinker, f"s{place}").open()
            tokens, _ = session.segment(
                unit(place), max_tokens=12, stop=frozenset((LISTEN, 301, 302)), drawing=ruled
            )
            session.close()
            for count, token in enumerate(tokens):
                must = forced(ruled, tokens[:count], 12, CHARACTERS)
                scores = reference(torch.tensor([[*unit(place), *tokens[:count]]])).logits[0, -1].numpy()
                expected = choose(scores, ruled, tokens[:count], numbers(ruled, count))
                assert token == (expected if must is None else must)


def test_what_is_not_in_order_is_refused_and_changes_nothing(thinker: TorchThinker):
    session = Asked(thinker, "a").open()
    for wrong in (
        lambda: thinker.open("a"),
        lambda: thinker.append("b", _append(0), print),
        lambda: thinker.append("a", _append(1), print),
    ):
        with pytest.raises(Rejected) as refused:
            wrong()
        assert refused.value.code == "out_of_order"
    with pytest.raises(Rejected) as refused:
        session.begin(tuple(range(250)) * 4, max_tokens=30)
    assert refused.value.code == "context_full"
    session.appended = 0
    session.begin(unit(1), max_tokens=50)
    with pytest.raises(Rejected) as refused:
        thinker.append("a", _append(1), print)
    assert refused.value.code == "busy"
    assert len(session.ended()[0]) == 50


def test_no_session_more_than_there_are_places(thinker: TorchThinker):
    sessions = [Asked(thinker, f"s{count}").open() for count in range(SLOTS)]
    with pytest.raises(Rejected) as refused:
        thinker.open("more")
    assert refused.value.code == "resource_exhausted"
    sessions[1].close()
    Asked(thinker, "more").open()


def test_a_death_is_told_to_everybody(thinker: TorchThinker):
    sessions = [Asked(thinker, f"s{count}").open() for count in range(2)]

    def broken(*_: object) -> None:
        raise RuntimeError("the device is lost")

    thinker._steps.step = broken  # type: ignore[assignment,method-assign]
    sessions[0].begin(unit(1))
    with pytest.raises(ThinkerDied, match="the device is lost"):
        sessions[0].ended()
    with pytest.raises(ThinkerDied):
        sessions[1].begin(unit(1))
    assert "the device is lost" in thinker.health().died


def _append(number: int) -> Append:
    return Append(number=number, pieces=((1,),), max_tokens=1, stop=frozenset(), drawing=Drawing())


def test_sessions_at_rest_that_begin_together_are_stepped_together(
    thinker: TorchThinker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_thinker, "GATHER_S", PATIENCE_S)
    sessions = [Asked(thinker, f"together-{number}").open() for number in range(3)]
    for session in sessions:
        session.begin((1, 2, 3), max_tokens=2)
    first = [session.said.get(timeout=PATIENCE_S).at_ns for session in sessions]
    assert len(set(first)) == 1
    for session in sessions:
        session.ended()


def test_who_is_alone_waits_for_nobody(thinker: TorchThinker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_thinker, "GATHER_S", 10 * PATIENCE_S)
    tokens, _ = Asked(thinker, "alone").open().segment((1, 2, 3), max_tokens=4)
    assert len(tokens) == 4


def test_who_does_not_come_is_not_waited_for_long(thinker: TorchThinker) -> None:
    Asked(thinker, "silent").open()
    tokens, _ = Asked(thinker, "speaks").open().segment((1, 2, 3), max_tokens=4)
    assert len(tokens) == 4
