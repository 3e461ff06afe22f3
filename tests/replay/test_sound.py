"""What a conversation sounded like, sample by sample."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from antiphon.events.envelope import BlobRef
from antiphon.events.errors import Corrupt
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect
from antiphon.events.units import SAMPLE_RATE
from antiphon.replay import sound
from antiphon.replay.sound import LONGEST, Piece, Placed, TooLong, write_conversation, write_wav

from .calls import Call, samples_of, tone

MS = SAMPLE_RATE // 1000
Channel = NDArray[np.int16]


@pytest.fixture
def call() -> Call:
    return Call(MemoryLog())


def heard(call: Call, *, generated: bool = False) -> tuple[Channel, Channel]:
    """Left and right of the call's WAV file."""
    file = io.BytesIO()
    write_conversation(call.log, call.session, file, generated=generated)
    with wave.open(io.BytesIO(file.getvalue())) as read:
        assert (read.getnchannels(), read.getsampwidth(), read.getframerate()) == (2, 2, SAMPLE_RATE)
        frames = read.readframes(read.getnframes())
        assert read.getnframes() * 4 == len(frames)
    stereo = np.frombuffer(frames, "<i2").reshape(-1, 2)
    return stereo[:, 0].astype(np.int16), stereo[:, 1].astype(np.int16)


def only(channel: Channel, *placed: tuple[int, bytes]) -> None:
    """Exactly these sounds lie at these samples, and silence everywhere else."""
    wanted = np.zeros(len(channel), np.int16)
    for start, pcm in placed:
        wanted[start : start + len(pcm) // 2] = samples_of(pcm)
    np.testing.assert_array_equal(channel, wanted)


def test_the_user_is_on_the_left_where_the_audio_arrived_and_the_answer_on_the_right_where_it_was_sent(
    call: Call,
) -> None:
    asked, answered = tone(100 * MS, 300), tone(3_000 * MS, 700)
    call.hear(500, asked)  # spoken from 400 on
    call.answer(510)
    call.speak(600, answered)
    call.sent(620, 3_000 * MS, first_ms=610)
    call.end_answer(630)
    call.heard(4_000, 3_000)
    call.hang_up(5_000)
    left, right = heard(call)
    only(left, (400 * MS, asked))
    only(right, (610 * MS, answered))
    assert len(right) == 3_610 * MS


def test_only_what_was_heard_of_an_answer_is_heard_again(call: Call) -> None:
    answered = tone(1_000 * MS)
    call.answer(0)
    for start in range(0, 1_000, 100):
        call.speak(10, answered[start * MS * 2 : (start + 100) * MS * 2])
    call.sent(20, 1_000 * MS, first_ms=20)
    call.end_answer(30, outcome="cancelled", reason="turn_detected")
    call.truncate(300, 250)
    call.hang_up(400)
    _, right = heard(call)
    only(right, (20 * MS, answered[: 250 * MS * 2]))
    assert len(right) == 270 * MS
    _, everything = heard(call, generated=True)
    only(everything, (20 * MS, answered))


def test_an_answer_that_was_never_sent_is_heard_only_where_everything_generated_is_asked_for(
    call: Call,
) -> None:
    call.answer(0)
    call.speak(40, tone(100 * MS))
    call.end_answer(50)
    call.hang_up(60)
    left, right = heard(call)
    assert len(left) == len(right) == 0
    _, everything = heard(call, generated=True)
    only(everything, (40 * MS, tone(100 * MS)))


def test_pieces_that_come_in_time_follow_each_other_without_a_gap(call: Call) -> None:
    spoken = tone(400 * MS)
    late = (0, 30, -20, 45)  # what the network did to each
    for n, ms in enumerate(late):
        call.hear(1_100 + 100 * n + ms, spoken[n * 100 * MS * 2 : (n + 1) * 100 * MS * 2])
    call.hang_up(2_000)
    left, _ = heard(call)
    only(left, (1_000 * MS, spoken))


def test_a_pause_of_the_client_is_silence_and_haste_is_not_an_overlap(call: Call) -> None:
    first, second, hurried = tone(100 * MS, 300), tone(100 * MS, 500), tone(2_000 * MS, 700)
    call.hear(100, first)
    call.hear(1_000, second)  # a long time nothing, then what was spoken from 900 on
    call.hear(1_010, hurried)  # two seconds in ten milliseconds
    call.hang_up(2_000)
    left, _ = heard(call)
    only(left, (0, first), (900 * MS, second), (1_000 * MS, hurried))


def test_answers_that_overlap_are_mixed_and_what_is_too_loud_is_cut(call: Call) -> None:
    loud = np.full(100 * MS, 30_000, "<i2").tobytes()
    for response, at in (("resp_1", 0), ("resp_2", 50)):
        call.answer(at, response)
        call.speak(at, loud, response)
        call.sent(at, 100 * MS, first_ms=at, response=response)
        call.end_answer(at, response)
        call.heard(200, 100, response)
    call.hang_up(300)
    _, right = heard(call)
    assert set(right[: 50 * MS]) == set(right[100 * MS :]) == {30_000}
    assert set(right[50 * MS : 100 * MS]) == {32_767}


def test_time_in_which_nobody_hosted_the_session_is_left_out(call: Call) -> None:
    call.hear(100, tone(100 * MS, 300))
    call.log.release(call.lease)
    call.open(Expect.RESUME, boot="another boot", at_ms=10_000_000)
    call.hear(10_000_400, tone(100 * MS, 500))
    call.hang_up(10_000_500)
    left, _ = heard(call)
    only(left, (0, tone(100 * MS, 300)), (400 * MS, tone(100 * MS, 500)))


def test_a_life_is_read_by_its_own_blobs() -> None:
    log = MemoryLog()
    first = Call(log)
    first.hear(100, tone(100 * MS, 300))
    first.hang_up(200)
    second = Call(log)
    second.hear(200, tone(200 * MS, 500))
    second.hang_up(300)
    left, _ = heard(second)
    only(left, (0, tone(200 * MS, 500)))
    earlier = io.BytesIO()
    write_conversation(log, first.session, earlier, incarnation=0)
    assert len(earlier.getvalue()) == 44 + 100 * MS * 4


def test_what_is_longer_than_a_wav_file_is_refused_before_anything_is_written(call: Call) -> None:
    call.hear(100, tone(100))
    [stored] = [one for one in call.log.read(call.session) if one.blob is not None]
    assert stored.blob is not None
    placed = Placed((Piece(LONGEST, 1, stored.blob),), ())
    file = io.BytesIO()
    with pytest.raises(TooLong, match=r"12\.4 hours"):
        write_wav(placed, lambda ref: b"", file)
    assert file.getvalue() == b""


def test_a_damaged_payload_is_no_sound(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path, deliver=lambda call: call())
    call = Call(log)
    call.hear(100, tone(100 * MS))
    call.hang_up(200)
    [blobs] = tmp_path.glob("sessions/*/*/0/audio.blob")
    content = bytearray(blobs.read_bytes())
    content[100] ^= 1
    blobs.write_bytes(content)
    with pytest.raises(Corrupt):
        write_conversation(log, call.session, io.BytesIO())


def test_however_long_a_call_is_no_more_than_a_moment_of_it_is_held(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every payload is let go before the one that begins two windows later is read."""
    piece = tone(SAMPLE_RATE // 2)
    for n in range(40):
        call.hear(500 * (n + 1), piece)
    call.hang_up(30_000)
    placed = sound.place(call.log.read(call.session), call.session)
    written = io.BytesIO()
    read_at: list[int] = []

    def payload(ref: object) -> bytes:
        read_at.append(written.tell())
        return piece

    write_wav(placed, payload, written)
    behind = [n * len(piece) * 2 - at for n, at in enumerate(read_at)]
    assert len(read_at) == 40
    assert max(behind) <= 2 * sound.WINDOW * 4


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 48_000)), min_size=1, max_size=12))
def test_however_the_users_audio_arrives_it_is_in_order_and_nothing_lies_on_another(
    arrivals: list[tuple[int, int]],
) -> None:
    """Each piece lies where it arrived, or right behind the one before it."""
    call, at = Call(MemoryLog()), 0
    due = []
    for later_ms, samples in arrivals:
        at += later_ms
        call.hear(at, bytes(2 * samples))
        due.append(at * MS - samples)
    placed = sound.place(call.log.read(call.session), call.session).user
    end = 0
    for piece, wanted in zip(placed, due, strict=True):
        assert piece.start >= max(end, wanted - sound.JITTER)
        assert piece.start in (end, wanted)
        end = piece.start + piece.samples


Answer = tuple[int, int, int, int]
"""When it is sent (None of it where that is 0), how many pieces, how long each, how much of it was heard; ms."""


def placing(heard: list[tuple[int, int]], answers: list[Answer]) -> sound.Placing:
    call = Call(MemoryLog())
    at = 0
    for later_ms, ms in heard:
        at += later_ms
        call.hear(at, bytes(2 * MS * ms))
    for k, (sent, pieces, ms, heard_ms) in enumerate(answers):
        response = f"resp_{k}"
        call.answer(at, response)
        for _ in range(pieces):
            call.speak(at, bytes(2 * MS * ms), response)
        if sent:
            call.sent(at + sent, pieces * ms * MS, first_ms=at + sent, response=response)
        call.end_answer(at + sent, response)
        at += sent + 1
        call.heard(at, min(heard_ms, pieces * ms), response)
    made = sound.Placing(call.session)
    for stored in call.log.read(call.session):
        made.take(stored)
    return made


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 120)), max_size=6),
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 4), st.integers(1, 200), st.integers(0, 700)),
        max_size=3,
    ),
    st.integers(0, 1_500),
    st.integers(1, 900),
    st.booleans(),
)
def test_a_part_of_it_is_what_is_cut_out_of_the_whole(
    heard: list[tuple[int, int]], answers: list[Answer], start_ms: int, ms: int, generated: bool
) -> None:
    laid = placing(heard, answers).laid(generated=generated)
    start, stop = start_ms * MS, (start_ms + ms) * MS

    def cut(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
        return tuple(
            Piece(one.start - start, min(one.samples, stop - one.start), one.blob)
            for one in pieces
            if one.start < stop and one.start + one.samples > start
        )

    whole = laid.between(0, 1 << 62)
    assert laid.between(start, stop) == Placed(cut(whole.user), cut(whole.played))


def test_a_part_of_it_is_found_without_walking_the_whole() -> None:
    touched = 0

    class Counted(list[Piece]):
        def __getitem__(self, place: Any) -> Any:
            nonlocal touched
            touched += 1
            return super().__getitem__(place)

    blob = BlobRef(0, 0, 0)
    pieces = Counted(Piece(k * 100, 100, blob) for k in range(100_000))
    laid = sound.Laid(sound.Run(0, 100 * 100_000, pieces), ())
    assert len(laid.between(5_000_000, 5_000_500).user) == 5
    assert touched < 60
