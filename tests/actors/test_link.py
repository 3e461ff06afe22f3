"""Frames of a link: whatever way the bytes are cut, the same messages come out; what is wrong is refused."""

from __future__ import annotations

import contextlib
import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.link import codec
from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Acknowledge,
    Cancel,
    Close,
    Descriptor,
    EndTurn,
    Failed,
    Listen,
    Open,
    Opened,
    Output,
    Said,
    Scored,
    Speak,
    StageCommand,
    Turn,
)
from antiphon.events.ids import Fence, Operation, ResponseId, SessionId

small = st.integers(0, 1000)
fences = st.builds(
    Fence,
    st.sampled_from([SessionId("a"), SessionId("b")]),
    small,
    small,
    small,
    st.none() | st.just(ResponseId("resp_1")),
)
pcm = st.binary(max_size=64)
commands: st.SearchStrategy[StageCommand] = st.one_of(
    st.builds(Open, fences, small, st.just({"voice": "low"})),
    st.builds(Listen, fences, small.map(Operation), small, pcm, st.booleans()),
    st.builds(EndTurn, fences, small.map(Operation)),
    st.builds(Speak, fences, small.map(Operation), st.just((Turn(role="user", text="hello"),))),
    st.builds(Cancel, fences, fences),
    st.builds(Close, fences, st.text(max_size=8)),
    st.builds(Acknowledge, st.just(SessionId("a")), small),
)
bodies = st.one_of(
    st.builds(Said, st.text(max_size=8), pcm),
    st.builds(Scored, small, small, st.lists(small, max_size=3).map(tuple)),
    st.builds(Failed, st.text(max_size=8), st.text(max_size=8), st.booleans()),
)
messages: st.SearchStrategy[codec.FromStage] = st.one_of(
    st.builds(Opened, fences, st.text(max_size=8)),
    st.builds(Output, fences, small.map(Operation), small, small, st.booleans(), bodies),
    st.builds(codec.Loading, st.text(max_size=8)),
    st.just(
        codec.Hello(
            codec.LINK_VERSION,
            Descriptor(contract=CONTRACT_VERSION, name="echo", role="model", engine="echo-1"),
        )
    ),
)


def cut(written: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(written) + 1) for place in places), len(written)]
    return [written[start:end] for start, end in itertools.pairwise(edges)]


@given(said=st.lists(commands, max_size=8), places=st.lists(st.integers(0, 10_000), max_size=8))
def test_commands_arrive_whole_and_in_order_however_the_bytes_are_cut(
    said: list[StageCommand], places: list[int]
) -> None:
    decoder = codec.command_decoder()

    heard = [command for chunk in cut(codec.encode(said), places) for command in decoder.feed(chunk)]

    assert heard == said


@given(said=st.lists(messages, max_size=8), places=st.lists(st.integers(0, 10_000), max_size=8))
def test_messages_arrive_whole_and_in_order_however_the_bytes_are_cut(
    said: list[codec.FromStage], places: list[int]
) -> None:
    decoder = codec.message_decoder()

    heard = [message for chunk in cut(codec.encode(said), places) for message in decoder.feed(chunk)]

    assert heard == said


@given(noise=st.binary(min_size=1, max_size=200))
def test_noise_is_refused_or_waits_for_more_and_nothing_else(noise: bytes) -> None:
    with contextlib.suppress(codec.FrameTooLarge, codec.LinkBroken):
        codec.command_decoder().feed(noise)


def test_a_message_of_the_other_direction_breaks_the_link() -> None:
    with pytest.raises(codec.LinkBroken):
        codec.command_decoder().feed(codec.encode([codec.Loading("models")]))


def test_a_frame_that_would_be_too_large_is_refused_by_its_length_alone() -> None:
    with pytest.raises(codec.FrameTooLarge) as refused:
        codec.command_decoder().feed((codec.FRAME_LIMIT + 1).to_bytes(4, "little"))

    assert refused.value.length == codec.FRAME_LIMIT + 1


def test_a_message_too_large_for_a_frame_is_not_encoded() -> None:
    fence = Fence(SessionId("a"), 1, 0, 0)

    with pytest.raises(codec.FrameTooLarge):
        codec.encode([Listen(fence, Operation(1), 0, bytes(codec.FRAME_LIMIT))])


def test_audio_crosses_the_link_unchanged() -> None:
    fence = Fence(SessionId("a"), 1, 0, 0)
    spoken = bytes(range(256)) * 1000

    [heard] = codec.command_decoder().feed(codec.encode([Listen(fence, Operation(1), 128_000, spoken)]))

    assert isinstance(heard, Listen)
    assert heard.pcm == spoken
    assert isinstance(heard.pcm, bytes)


@given(batch=st.lists(commands, max_size=12))
def test_cancels_go_first_and_everything_else_keeps_its_order(batch: list[StageCommand]) -> None:
    ordered = codec.cancels_first(list(batch))

    def others(some: list[StageCommand]) -> list[StageCommand]:
        return [command for command in some if not isinstance(command, Cancel)]

    assert others(ordered) == others(batch)
    assert sorted(map(msgspec.json.encode, ordered)) == sorted(map(msgspec.json.encode, batch))
    if not any(isinstance(command, Open) for command in batch):
        cancels = len(batch) - len(others(batch))
        assert all(isinstance(command, Cancel) for command in ordered[:cancels])
    else:
        assert ordered == batch
