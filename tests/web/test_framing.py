"""The short cut past websockets' parser: it takes whole texts only, and knows where frames end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from antiphon.web.framing import Boundary, server_frame, whole_text

SIZES = st.sampled_from([0, 1, 125, 126, 127, 1000, (1 << 16) - 1, 1 << 16, 70_000])


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """What a client may send: any frame, masked."""
    opcode = draw(st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.CONT, Opcode.PING, Opcode.CLOSE]))
    control = opcode in (Opcode.PING, Opcode.CLOSE)
    payload = bytes(draw(st.integers(2, 125) if control else SIZES))
    return Frame(opcode, payload, fin=control or draw(st.booleans())).serialize(mask=True)


@given(st.lists(frames(), max_size=5), st.lists(st.integers(0, 80_000), max_size=12))
def test_wherever_the_stream_is_cut_it_is_known_whether_a_frame_ends_there(
    sent: list[bytes], cuts: list[int]
) -> None:
    stream, ends, at = b"".join(sent), {0}, 0
    for frame in sent:
        at += len(frame)
        ends.add(at)
    boundary, at = Boundary(), 0
    for cut in [*sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]:
        boundary.pass_over(stream[at:cut])
        at = cut
        assert boundary.is_here == (at in ends)


@given(st.text(max_size=300) | SIZES.map(lambda size: "a" * size))
def test_a_whole_text_is_read_as_it_was_sent(text: str) -> None:
    assert whole_text(Frame(Opcode.TEXT, text.encode()).serialize(mask=True)) == text


@given(st.text(min_size=1, max_size=200), st.integers(0, 300))
def test_a_part_of_a_text_and_more_than_one_are_left_alone(text: str, cut: int) -> None:
    frame = Frame(Opcode.TEXT, text.encode()).serialize(mask=True)
    assert whole_text(frame[: cut % len(frame)]) is None
    assert whole_text(frame + frame) is None
    assert whole_text(frame + b"\x81") is None


def test_what_is_not_one_sound_masked_text_is_left_alone() -> None:
    for frame in (
        Frame(Opcode.BINARY, b"ab"),
        Frame(Opcode.PING, b"ab"),
        Frame(Opcode.TEXT, b"ab", fin=False),
        Frame(Opcode.CONT, b"ab"),
        Frame(Opcode.TEXT, b"ab", rsv1=True),
        Frame(Opcode.TEXT, b"\xff"),
    ):
        data = frame.serialize(mask=True) if not frame.rsv1 else b"\xc1\x82\0\0\0\0ab"
        assert whole_text(data) is None
    assert whole_text(Frame(Opcode.TEXT, b"abcdef").serialize(mask=False)) is None


@given(SIZES)
def test_a_text_is_framed_as_websockets_frames_it(size: int) -> None:
    text = b"a" * size
    assert server_frame(text) == Frame(Opcode.TEXT, text).serialize(mask=False)
    assert server_frame(text, binary=True) == Frame(Opcode.BINARY, text).serialize(mask=False)
