"""The thinker on the real vLLM, on the processor, with a tiny model: what it says, and each trap it must not
fall into. One engine for all; the last one kills it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from antiphon.actors.stages.minicpmo import drawing as reference
from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Rejected, ThinkerDied, Token
from antiphon.actors.stages.vllm_streaming.options import step_positions
from antiphon.actors.stages.vllm_streaming.thinker import VllmThinker
from tests.vllm.asking import LONG_ENOUGH_S, Said, Talk
from tests.vllm.conftest import CONTEXT, PLACES
from tests.vllm.processes import children
from tests.vllm.tiny import CHUNK_EOS, EOS, LISTEN, PROMPT

pytestmark = pytest.mark.vllm
FORCED_LISTEN = Drawing(first=(LISTEN,))


@pytest.fixture
def talks(thinker: VllmThinker) -> Iterator[list[Talk]]:
    """Whatever a test opens; closed behind it, so that all places are free again."""
    opened: list[Talk] = []
    yield opened
    for talk in opened:
        talk.close()
    assert thinker.health().sessions == 0


def opened(thinker: VllmThinker, talks: list[Talk], key: str) -> Talk:
    talks.append(Talk(thinker, key))
    return talks[-1]


def test_segments_equal_one_shot_where_the_last_token_is_sent_again(thinker, talks, tiny):
    talk = opened(thinker, talks, "a")
    context: list[int] = []
    last: list[int] = []
    for number in range(4):
        appended = [*last, *PROMPT[number:]]
        tokens, ended = talk.say(appended, max_tokens=9)
        context += appended
        alone = opened(thinker, talks, f"one-shot-{number}")
        assert alone.say(context, max_tokens=9)[0] == tokens
        alone.close()
        assert tokens == tiny.greedy(context, 9)
        context += tokens[:-1]
        last = tokens[-1:]
        assert (ended.why, ended.last_token, ended.n_out, ended.context_len) == (
            "length",
            tokens[-1],
            9,
            len(context),
        )


def test_the_last_token_of_a_segment_is_not_in_the_context(thinker, talks, tiny):
    talk = opened(thinker, talks, "a")
    tokens, _ = talk.say(PROMPT, max_tokens=5)
    forgotten, _ = talk.say([40, 41], max_tokens=8)
    assert forgotten == tiny.greedy([*PROMPT, *tokens[:-1], 40, 41], 8)
    assert forgotten != tiny.greedy([*PROMPT, *tokens, 40, 41], 8)


def test_two_interleaved_sessions_equal_two_separate_ones(thinker, talks):
    def conversation(talk: Talk, appends: list[list[int]]) -> Iterator[list[int]]:
        for appended in appends:
            yield talk.say(appended, max_tokens=7)[0]

    asked = {"a": [PROMPT, [3, 9], [7]], "b": [PROMPT[::-1], [200], [1, 2, 3]]}
    separate = {key: list(conversation(opened(thinker, talks, f"{key}-alone"), asked[key])) for key in asked}
    one, other = opened(thinker, talks, "a"), opened(thinker, talks, "b")
    for number in range(3):
        saying = {talk: talk.begin(asked[talk.key][number], max_tokens=7) for talk in (one, other)}
        for talk, said in saying.items():
            said.ended()
            assert said.tokens == separate[talk.key][number]


def test_embeddings_stand_for_tokens(thinker, talks, tiny):
    by_ids, by_embeddings = opened(thinker, talks, "ids"), opened(thinker, talks, "embeddings")
    long = list(range(100, 180))
    for appended in ([5, 6, 7], long):
        given = tiny.embeddings(appended)
        expected, of_ids = by_ids.say([9], appended, [11], max_tokens=6)
        tokens, of_embeddings = by_embeddings.say([9], given, [11], max_tokens=6)
        assert tokens == expected
        assert np.array_equal(of_ids.hidden, of_embeddings.hidden)
        assert of_embeddings.n_in == len(appended) + 2


def test_embeddings_of_another_append_are_not_taken_for_these(thinker, talks, tiny):
    talk = opened(thinker, talks, "a")
    first, _ = talk.say(tiny.embeddings([5, 6]), max_tokens=6)
    other, _ = opened(thinker, talks, "b").say(tiny.embeddings([150, 60]), max_tokens=6)
    assert first == tiny.greedy([5, 6], 6)
    assert other == tiny.greedy([150, 60], 6)


def test_hidden_states_are_those_behind_each_token_that_was_fed(thinker, talks, tiny):
    talk = opened(thinker, talks, "a")
    context: list[int] = []
    for appended in (PROMPT, [9, 10]):
        tokens, ended = talk.say(appended, max_tokens=6)
        context += [*appended, *tokens[:-1]]
        _, states = tiny.forward(context)
        assert ended.hidden.shape == (5, tiny.hidden)
        np.testing.assert_allclose(ended.hidden, states[-5:], atol=2e-4)


def test_tokens_are_drawn_by_the_rules_and_not_by_vllm(thinker, talks, tiny):
    talk = opened(thinker, talks, "a")
    context = list(PROMPT)
    drawn: list[int] = []
    for place in range(3):
        rules = Drawing(
            temperature=0.9,
            top_p=0.9,
            top_k=20,
            repetition_penalty=1.3,
            recent=tuple(drawn),
            banned=(4, 5),
            rewrites=((7, 8),),
            seed=11,
            place=place,
        )
        tokens, _ = talk.say(PROMPT, max_tokens=10, drawing=rules)
        for index, token in enumerate(tokens):
            logits, _ = tiny.forward([*context, *tokens[:index]])
            numbers = reference.numbers(rules, index)
            assert token == reference.choose(logits[-1], rules, tokens[:index], numbers)
        context += [*tokens[:-1], *PROMPT]
        drawn += tokens


def test_the_repetition_penalty_counts_what_was_decoded_and_not_the_prompt(thinker, talks, tiny):
    """vLLM's own would count all that was ever appended."""
    prompt = list(PROMPT)
    while (likeliest := tiny.greedy(prompt, 1)[0]) not in prompt:
        prompt.append(likeliest)
    assert tiny.forward(prompt)[0][-1][likeliest] > 0
    talk = opened(thinker, talks, "a")
    rules = Drawing(repetition_penalty=1000.0)
    [token], _ = talk.say(prompt, max_tokens=1, drawing=rules)
    assert token == likeliest
    decoded = Drawing(repetition_penalty=1000.0, recent=(likeliest,))
    [token], _ = opened(thinker, talks, "b").say(prompt, max_tokens=1, drawing=decoded)
    assert token != likeliest


def test_a_segment_ends_at_its_own_stop_tokens_and_not_at_the_models(thinker, talks):
    talk = opened(thinker, talks, "a")
    tokens, ended = talk.say(PROMPT, max_tokens=3, stop=[LISTEN], drawing=Drawing(first=(EOS,)))
    assert (tokens[0], len(tokens), ended.why) == (EOS, 3, "length")
    tokens, ended = talk.say(
        [tokens[-1]], max_tokens=5, stop=[CHUNK_EOS], drawing=Drawing(first=(CHUNK_EOS,))
    )
    assert (tokens, ended.why, ended.last_token) == ([CHUNK_EOS], "stop", CHUNK_EOS)


def test_max_tokens_is_each_appends_own(thinker, talks):
    talk = opened(thinker, talks, "a")
    assert [talk.say([9], max_tokens=most)[1].n_out for most in (2, 7, 1, 4)] == [2, 7, 1, 4]


def test_a_stop_does_not_leak_into_the_next_segment(thinker, talks):
    talk = opened(thinker, talks, "a")
    assert talk.say(PROMPT, stop=[LISTEN], max_tokens=4, drawing=FORCED_LISTEN)[1].why == "stop"
    _, ended = talk.say([LISTEN], stop=[LISTEN], max_tokens=3, drawing=Drawing(banned=(LISTEN,)))
    assert ended.why == "length"


def test_speak_listen_speak(thinker, talks):
    """A segment that stops on its first token, between two that do not: with async scheduling, which must be
    off, the engine core dies of it on a GPU, or hangs."""
    talk = opened(thinker, talks, "a")
    last: list[int] = []
    for number in range(12):
        listens = number % 2 == 1
        rules = FORCED_LISTEN if listens else Drawing(banned=(LISTEN,), last=CHUNK_EOS)
        tokens, ended = talk.say([*last, 9], max_tokens=5, stop=[LISTEN, CHUNK_EOS], drawing=rules)
        assert (ended.why, len(tokens)) == ("stop", 1 if listens else 5)
        last = tokens[-1:]


def test_thirty_listens_in_a_row_have_thirty_ends(thinker, talks):
    talk = opened(thinker, talks, "a")
    for number in range(30):
        tokens, ended = talk.say([9, 10], max_tokens=4, stop=[LISTEN], drawing=FORCED_LISTEN)
        assert (tokens, ended.n_out, ended.context_len) == ([LISTEN], 1, 2 * (number + 1))


def test_a_session_too_many_is_refused_and_not_left_waiting(thinker, talks):
    for key in "abcd":
        opened(thinker, talks, key).say([9], max_tokens=2)
    with pytest.raises(Rejected) as refusal:
        thinker.open("e")
    assert refusal.value.code == "resource_exhausted"
    talks.pop().close()
    assert opened(thinker, talks, "e").say([9], max_tokens=2)[1].n_out == 2


def test_a_context_that_is_full_is_refused_and_kills_nobody(thinker, talks):
    full, other = opened(thinker, talks, "full"), opened(thinker, talks, "other")
    other.say(PROMPT, max_tokens=2)
    full.say([9] * (CONTEXT - 20), max_tokens=10)
    with pytest.raises(Rejected) as refusal:
        full.begin([9] * 10, max_tokens=10)
    assert refusal.value.code == "context_full"
    assert other.say([9], max_tokens=3)[1].n_out == 3


def test_every_place_can_be_filled_to_its_end_at_once(thinker, talks):
    """Parked KV is never preempted, so that an overfull pool starves sessions without a word."""
    said = []
    for key in "abcd":
        talk = opened(thinker, talks, key)
        talk.say([9] * 100, max_tokens=20)
        said.append(talk.begin([9] * (CONTEXT - 119 - 21), max_tokens=20))
    assert [one.ended().context_len for one in said] == [CONTEXT - 2] * 4


def test_a_context_given_anew_with_hundreds_of_embeddings_takes_several_steps_and_is_whole(
    thinker, talks, tiny
):
    """What a window does that moves: more items and more positions than a step of vLLM's has room for, while
    somebody speaks."""
    ids = [7 * place % 250 for place in range(3 * 300)]
    assert step_positions(PLACES) < len(ids) < CONTEXT - 20
    pieces = []
    for start in range(0, len(ids), 3):
        pieces += [ids[start : start + 1], tiny.embeddings(ids[start + 1 : start + 3])]
    speaking = opened(thinker, talks, "speaks").begin(PROMPT, max_tokens=60)
    assert isinstance(speaking.next(), Token)
    tokens, ended = opened(thinker, talks, "anew").say(*pieces, max_tokens=8)
    assert tokens == tiny.greedy(ids, 8)
    assert ended.context_len == len(ids) + 7
    speaking.ended()
    assert speaking.tokens == tiny.greedy(PROMPT, 60)


def test_who_takes_its_words_late_loses_no_end_and_holds_up_nobody(thinker, talks, tiny):
    """vLLM joins two segments that a slow reader leaves lying."""
    slow, other = opened(thinker, talks, "slow"), opened(thinker, talks, "other")
    late = slow.begin(PROMPT, max_tokens=30)
    for _ in range(4):
        assert other.say([9], max_tokens=8)[1].n_out == 8
    assert late.ended().n_out == 30
    assert late.tokens == tiny.greedy(PROMPT, 30)
    again = slow.begin(late.tokens[-1:], max_tokens=3)
    other.say([9], max_tokens=8)
    assert again.ended().n_out == 3


def test_one_append_at_a_time(thinker, talks):
    talk = opened(thinker, talks, "a")
    said = talk.begin([9], max_tokens=40)
    with pytest.raises(Rejected) as refusal:
        talk.begin([9])
    assert refusal.value.code == "busy"
    assert said.ended().n_out == 40


def test_a_cancel_under_way_ends_the_append_first_and_frees_the_key(thinker, talks):
    talk = Talk(thinker, "a")
    said = talk.begin([9], max_tokens=60)
    assert isinstance(said.next(), Token)
    talk.close()
    ended = said.ended()
    assert (ended.why, ended.hidden, ended.n_out) == ("aborted", None, len(said.tokens))
    assert 0 < ended.n_out < 60
    assert opened(thinker, talks, "a").say(PROMPT, max_tokens=3)[1].context_len == len(PROMPT) + 2


def test_an_append_behind_a_cancel_is_refused(thinker):
    """vLLM takes it for a new request that nobody reads, and that holds a place for ever."""
    talk = Talk(thinker, "a")
    talk.begin([9], max_tokens=60)
    closing = thinker.close("a")
    with pytest.raises(Rejected) as refusal:
        talk.begin([9])
    assert refusal.value.code == "out_of_order"
    closing.result(LONG_ENOUGH_S)
    assert thinker.close("a").done()


def test_200_cancels_at_random_moments_leak_no_slot_and_no_kv(thinker, talks, tiny):
    chance = random.Random(5)
    running: list[tuple[Talk, Said]] = []
    for number in range(200):
        if len(running) == PLACES or (running and chance.random() < 0.4):
            talk, said = running.pop(chance.randrange(len(running)))
            for _ in range(chance.choice((0, 0, 1, 2, 5))):
                if not isinstance(said.next(), Token):
                    break
            talk.close()
        talk = Talk(thinker, f"cancelled-{number}")
        given = tiny.embeddings([5, 6, 7]) if chance.random() < 0.3 else [9] * chance.randrange(1, 60)
        running.append((talk, talk.begin(given, max_tokens=chance.randrange(1, 40))))
    for talk, _ in running:
        talk.close()
    test_every_place_can_be_filled_to_its_end_at_once(thinker, talks)


def test_model_runner_v1_is_the_one_that_runs_whatever_the_operators_environment_says(thinker):
    """V2 does not load what draws our tokens. (That it was loaded is checked at the start.)"""
    assert os.environ["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert not thinker._engine.llm.vllm_config.use_v2_model_runner


def test_vllm_listens_on_loopback_only(thinker):
    here = psutil.Process()
    of_all = [process.net_connections("inet") for process in (here, *children(here))]
    listening = {socket.laddr.ip for sockets in of_all for socket in sockets if socket.status == "LISTEN"}
    assert listening <= {"127.0.0.1", "::1"}


def test_a_killed_engine_is_told_to_everybody(thinker):
    one, idle, other = Talk(thinker, "a"), Talk(thinker, "b"), Talk(thinker, "c")
    idle.say([9])
    saying = [talk.begin(PROMPT, max_tokens=60) for talk in (one, other)]
    assert all(isinstance(said.next(), Token) for said in saying)
    core, *others = children(psutil.Process())
    core.kill()
    for said in saying:
        with pytest.raises(ThinkerDied):
            said.ended()
    for asked in (lambda: idle.begin([9]), lambda: thinker.open("d")):
        with pytest.raises(ThinkerDied):
            asked()
    with pytest.raises(ThinkerDied):
        thinker.close("b").result(LONG_ENOUGH_S)
    assert thinker.health().died
    assert not psutil.wait_procs(others, LONG_ENOUGH_S)[1]
