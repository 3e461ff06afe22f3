"""Credits: never more than the limit under way, and every one comes back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.link.window import HEAVY_LIMIT, LIGHT, REMEMBERED, Window
from antiphon.events.ids import Operation


def test_a_credit_comes_back_with_the_acknowledgement_not_with_the_output() -> None:
    window = Window(1)
    assert window.take(Operation(1), 0)
    window.ended(Operation(1), 1)
    assert not window.take(Operation(2), 0)

    window.acknowledged(1)

    assert window.take(Operation(2), 0)


def test_an_operation_asked_again_takes_no_second_credit() -> None:
    window = Window(1)

    assert window.take(Operation(1), 0)
    assert window.take(Operation(1), 0)
    assert len(window) == 1


def test_an_operation_that_has_ended_takes_no_credit_when_it_is_asked_again() -> None:
    window = Window(1)
    window.ended(Operation(1), 1)
    window.acknowledged(1)

    assert window.take(Operation(1), 0)
    assert len(window) == 0


def test_a_void_epoch_gives_its_credits_back_and_the_users_own_words_keep_theirs() -> None:
    window = Window(2)
    window.take(Operation(1), None)
    window.take(Operation(2), 0)

    window.voided(1)

    assert len(window) == 1
    assert window.take(Operation(3), 1)


def test_what_ended_long_ago_is_still_known() -> None:
    window = Window(1)
    for number in range(2 * REMEMBERED):
        window.ended(Operation(number), number + 1)

    assert all(window.has_ended(Operation(number)) for number in range(2 * REMEMBERED))
    assert not window.has_ended(Operation(2 * REMEMBERED))


@given(limit=st.integers(1, 4), turns=st.lists(st.integers(0, 3), max_size=60))
def test_credits_are_bounded_and_all_come_back(limit: int, turns: list[int]) -> None:
    window, asked, ended, acknowledged = Window(limit), 0, 0, 0
    for turn in turns:
        if turn <= 1 and window.take(Operation(asked), None):
            asked += 1
        elif turn == 2 and ended < asked:
            ended += 1
            window.ended(Operation(ended - 1), ended)
        elif turn == 3:
            acknowledged = ended
            window.acknowledged(acknowledged)
        assert len(window) == asked - acknowledged <= limit

    for operation in range(ended, asked):
        window.ended(Operation(operation), operation + 1)
    window.acknowledged(asked)
    assert len(window) == 0


def test_heavy_operations_hold_bytes_until_they_are_in_the_log_or_void() -> None:
    window = Window(8)
    half = HEAVY_LIMIT // 2
    assert window.take(Operation(1), None, half)
    assert window.take(Operation(2), 0, half)
    assert not window.take(Operation(3), 0, LIGHT + 1)
    assert window.take(Operation(4), 0, LIGHT)  # what is light is counted, not weighed

    window.voided(1)
    assert window.take(Operation(5), 1, half)
    assert not window.take(Operation(6), 1, half)
    window.ended(Operation(1), 1)
    assert not window.take(Operation(6), 1, half)
    window.acknowledged(1)
    assert window.take(Operation(6), 1, half)


def test_one_operation_fits_however_heavy_it_is() -> None:
    window = Window(8)
    assert window.take(Operation(1), None, 3 * HEAVY_LIMIT)
    assert not window.take(Operation(2), None, LIGHT + 1)
    window.ended(Operation(1), 1)
    window.taken_over()
    assert window.take(Operation(2), None, 3 * HEAVY_LIMIT)
