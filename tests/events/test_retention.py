"""What is erased, and in which order, of any store at all."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.events.ids import SessionId
from antiphon.events.retention import Erasure, Policy, due, is_over, key
from antiphon.events.store import Holding, Scope

DAY = 86_400 * 10**9
NOW = 1_000 * DAY
PLENTY = 10**15


def held(
    name: str,
    *,
    days: float,
    audio: int = 1_000,
    events: int = 10,
    live: bool = False,
    erased: bool = False,
    sealed: bool = True,
) -> Holding:
    """A life last written `days` ago."""
    return Holding(
        session=SessionId(name),
        incarnation=0,
        last_written_ns=NOW - int(days * DAY),
        events_bytes=events,
        audio_bytes=0 if erased else audio,
        live=live,
        sealed=sealed and not live,
        erased=erased,
    )


def planned(holdings: Sequence[Holding], policy: Policy, free: int = PLENTY) -> list[tuple[str, str, str]]:
    return [
        (one.holding.session, one.scope.value, one.reason)
        for one in due(holdings, NOW, policy, free_bytes=free)
    ]


def without(holdings: Sequence[Holding], plan: Sequence[Erasure]) -> list[Holding]:
    """The store after the plan was carried out."""
    left = {key(one): one for one in holdings}
    for erasure in plan:
        if erasure.scope is Scope.ALL:
            del left[key(erasure.holding)]
        else:
            left[key(erasure.holding)] = replace(erasure.holding, audio_bytes=0, erased=True, sealed=True)
    return list(left.values())


def stored(holdings: Sequence[Holding]) -> int:
    return sum(one.audio_bytes + one.events_bytes for one in holdings)


# --- some stores ------------------------------------------------------------------------------------------


def test_audio_goes_after_its_time_and_events_after_theirs_oldest_first_and_audio_before_events() -> None:
    store = [held("b", days=8), held("new", days=6.9), held("old", days=40), held("c", days=7)]
    policy = Policy(keep_audio_ns=7 * DAY, keep_events_ns=30 * DAY)
    assert planned(store, policy) == [
        ("b", "audio", "keep_audio"),
        ("c", "audio", "keep_audio"),
        ("old", "all", "keep_events"),
    ]


def test_what_is_erased_already_is_not_erased_again() -> None:
    store = [held("gone", days=100, erased=True)]
    assert planned(store, Policy(keep_audio_ns=DAY)) == []
    assert planned(store, Policy(keep_audio_ns=DAY, keep_events_ns=2 * DAY)) == [
        ("gone", "all", "keep_events")
    ]


def test_no_audio_at_all_is_kept_of_what_is_over() -> None:
    store = [held("now", days=0), held("talking", days=0, live=True)]
    assert planned(store, Policy(keep_audio_ns=0)) == [("now", "audio", "keep_audio")]


def test_what_was_never_sealed_is_left_alone_for_a_while() -> None:
    """Its writer may have let go of it only to open it again."""
    store = [held("just", days=0, sealed=False), held("crashed", days=1, sealed=False)]
    assert planned(store, Policy(keep_audio_ns=0)) == [("crashed", "audio", "keep_audio")]
    assert planned(store, Policy(max_data_bytes=0)) == [("crashed", "all", "max_data")]


def test_a_store_that_is_too_large_gives_up_its_oldest_audio_and_then_its_oldest_lives() -> None:
    store = [held("a", days=3), held("b", days=2), held("c", days=1)]
    assert stored(store) == 3_030
    assert planned(store, Policy(max_data_bytes=3_030)) == []
    assert planned(store, Policy(max_data_bytes=3_029)) == [("a", "audio", "max_data")]
    assert planned(store, Policy(max_data_bytes=30)) == [(one, "audio", "max_data") for one in "abc"]
    assert planned(store, Policy(max_data_bytes=25)) == [
        ("b", "audio", "max_data"),
        ("c", "audio", "max_data"),
        ("a", "all", "max_data"),
    ]


def test_a_full_disk_erases_nothing_unless_a_limit_says_that_the_oldest_may_go() -> None:
    store = [held("a", days=3), held("b", days=2)]
    assert planned(store, Policy(min_free_bytes=500), free=0) == []
    assert planned(store, Policy(min_free_bytes=500, max_data_bytes=10**9), free=0) == [
        ("a", "audio", "min_free")
    ]
    assert planned(store, Policy(min_free_bytes=500, max_data_bytes=10**9), free=500) == []


def test_what_goes_by_its_age_counts_as_room_that_was_made() -> None:
    store = [held("old", days=9), held("new", days=1)]
    policy = Policy(keep_audio_ns=7 * DAY, max_data_bytes=1_020)
    assert planned(store, policy) == [("old", "audio", "keep_audio")]


# --- any store --------------------------------------------------------------------------------------------

limits = st.none() | st.integers(0, 200 * DAY)
sizes = st.none() | st.integers(0, 20_000)
policies = st.builds(
    Policy, keep_audio_ns=limits, keep_events_ns=limits, max_data_bytes=sizes, min_free_bytes=sizes
)


@st.composite
def stores(draw: st.DrawFn) -> list[Holding]:
    names = draw(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8))
    return [
        held(
            name,
            days=draw(st.floats(-1, 250) | st.floats(0, 0.02)),
            audio=draw(st.integers(0, 5_000)),
            events=draw(st.integers(1, 500)),
            live=draw(st.booleans()),
            erased=draw(st.booleans()),
            sealed=draw(st.booleans()),
        )
        for name in names
    ]


free_rooms = st.integers(0, 30_000)


@given(stores(), policies, free_rooms)
def test_a_life_that_is_being_written_is_never_touched(
    store: list[Holding], policy: Policy, free: int
) -> None:
    assert all(is_over(erasure.holding, NOW) for erasure in due(store, NOW, policy, free))


@given(stores(), policies, free_rooms)
def test_nothing_is_erased_twice_and_audio_goes_before_events_and_older_before_younger(
    store: list[Holding], policy: Policy, free: int
) -> None:
    plan = due(store, NOW, policy, free)
    assert len({key(one.holding) for one in plan}) == len(plan)
    assert not any(one.scope is Scope.AUDIO and one.holding.erased for one in plan)
    order = [(one.scope is Scope.ALL, one.holding.last_written_ns) for one in plan]
    assert order == sorted(order)


@given(stores(), policies, free_rooms)
def test_what_is_too_old_goes_and_what_is_not_goes_only_for_room(
    store: list[Holding], policy: Policy, free: int
) -> None:
    plan = due(store, NOW, policy, free)
    left = {key(one): one for one in without(store, plan)}
    for one in store:
        age, after = NOW - one.last_written_ns, left.get(key(one))
        if not is_over(one, NOW):
            continue
        if policy.keep_events_ns is not None and age >= policy.keep_events_ns:
            assert after is None
        if policy.keep_audio_ns is not None and age >= policy.keep_audio_ns:
            assert after is None or after.erased
    for erasure in plan:
        if erasure.reason in ("max_data", "min_free"):
            assert policy.max_data_bytes is not None


@given(stores(), policies, free_rooms)
def test_the_limit_is_reached_if_it_can_be_and_no_further_than_needed(
    store: list[Holding], policy: Policy, free: int
) -> None:
    plan = due(store, NOW, policy, free)
    left = without(store, plan)
    freed = stored(store) - stored(left)
    assert freed == sum(one.bytes_ for one in plan)
    if policy.max_data_bytes is None:
        return
    least = policy.min_free_bytes or 0
    fits = stored(left) <= policy.max_data_bytes and free + freed >= least
    assert fits or not any(is_over(one, NOW) for one in left)
    for_room = [one for one in plan if one.reason in ("max_data", "min_free")]
    if for_room:
        last = for_room[-1]
        spared = last.holding.events_bytes if last.scope is Scope.ALL else last.bytes_
        if last.scope is Scope.ALL and last.holding.erased:
            spared = last.bytes_
        over = stored(left) + spared > policy.max_data_bytes or free + freed - spared < least
        assert over


@given(stores(), policies, free_rooms)
def test_once_done_there_is_nothing_left_to_do(store: list[Holding], policy: Policy, free: int) -> None:
    plan = due(store, NOW, policy, free)
    left = without(store, plan)
    assert due(left, NOW, policy, free + stored(store) - stored(left)) == []


@given(stores(), free_rooms)
def test_without_a_limit_everything_stays(store: list[Holding], free: int) -> None:
    assert due(store, NOW, Policy(min_free_bytes=10**9), free) == []
