"""What the thinker on vLLM refuses before vLLM hears of it."""

import pytest

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, Facts, Rejected
from antiphon.actors.stages.vllm_streaming.accounts import Accounts, room_in
from antiphon.actors.stages.vllm_streaming.versions import Dialect, dialect

FACTS = Facts(
    name="vllm",
    max_sessions=3,
    context_tokens=100,
    kv_tokens=250,
    hidden=4,
    vocabulary=50,
    can_truncate=False,
    gives_hidden=True,
)
STOP = frozenset((2,))


def append(number: int = 0, tokens: int = 8, max_tokens: int = 8, **drawing: object) -> Append:
    drawn = Drawing(**drawing)  # type: ignore[arg-type]
    return Append(number=number, pieces=((3,) * tokens,), max_tokens=max_tokens, stop=STOP, drawing=drawn)


def accounts(*, max_tokens_per_append: bool = True) -> Accounts:
    return Accounts(FACTS, Dialect("0.0", max_tokens_per_append), most_tokens=64)


def refused(call, *arguments) -> str:
    with pytest.raises(Rejected) as refusal:
        call(*arguments)
    return refusal.value.code


def test_sessions_are_admitted_by_slots_and_by_kv():
    held = accounts()
    assert FACTS.places == 2
    held.open("a")
    held.open("b")
    assert refused(held.open, "c") == "resource_exhausted"


def test_a_place_is_taken_until_its_session_is_closed_and_not_while_it_closes():
    held = accounts()
    rows = {held.open("a").row, held.open("b").row}
    held.closing("a")
    assert refused(held.open, "c") == "resource_exhausted"
    assert refused(held.begin, "a", append()) == "out_of_order"
    held.closed("a")
    assert held.open("c").row in rows


def test_one_append_is_in_flight_and_numbers_have_no_gap():
    held = accounts()
    account = held.open("a")
    assert refused(held.begin, "a", append(1)) == "out_of_order"
    held.begin("a", append(0))
    assert refused(held.begin, "a", append(1)) == "busy"
    held.ended(account, 15)
    held.begin("a", append(1))


def test_what_would_pass_the_context_is_refused_and_may_be_asked_again_shorter():
    held = accounts()
    account = held.open("a")
    held.begin("a", append(0))
    held.ended(account, 80)
    assert refused(held.begin, "a", append(1, tokens=12, max_tokens=8)) == "context_full"
    held.begin("a", append(1, tokens=11, max_tokens=8))


def test_more_tokens_than_there_is_room_for_their_states_are_refused():
    held = accounts()
    held.open("a")
    assert refused(held.begin, "a", append(max_tokens=65)) == "out_of_order"


def test_where_max_tokens_is_ignored_a_segment_must_end_by_a_token_that_is_forced():
    held = accounts(max_tokens_per_append=False)
    held.open("a")
    assert refused(held.begin, "a", append()) == "out_of_order"
    assert refused(held.begin, "a", append(last=7)) == "out_of_order"
    assert refused(held.begin, "a", append(max_tokens=1, first=(2, 3))) == "out_of_order"
    held.begin("a", append(last=2))


def test_where_max_tokens_is_ignored_one_may_still_be_made_to_listen():
    held = accounts(max_tokens_per_append=False)
    held.open("a")
    held.begin("a", append(max_tokens=1, first=(2,)))


@pytest.mark.parametrize(("blocks", "tokens"), [(17, 200), (16, 100), (9, 100), (8, 0)])
def test_kv_is_counted_in_whole_sessions_of_whole_blocks_less_one(blocks, tokens):
    assert room_in(blocks, 13, 100) == tokens


@pytest.mark.parametrize("version", ["0.33.0", "0.31.1", "0.25.1", "1.32", "0.32rc1.x", "dev"])
def test_a_vllm_that_was_not_tried_is_refused(version):
    with pytest.raises(EngineRefused) as refusal:
        dialect(version, measuring=False)
    assert refusal.value.code == "runtime_version_invalid"
    assert version in refusal.value.message


def test_a_vllm_for_measurements_is_admitted_for_those():
    assert dialect("0.25.1", measuring=True) == Dialect("0.25.1", max_tokens_per_append=False)
    assert dialect("0.32.0", measuring=False) == Dialect("0.32.0", max_tokens_per_append=True)
    with pytest.raises(EngineRefused):
        dialect("0.26.0", measuring=True)
