"""The parts of the duplex client that know no socket: formats, addresses, the journal, the playback clock."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.clients.duplex import (
    AudioFormat,
    DuplexOverflowError,
    ReconnectPolicy,
    ResponseHandle,
    SessionConfig,
    audio_data_url,
    build_realtime_url,
    chunk_period_ms,
    duplex_unit_boundary_ms,
    has_residual_model_unit,
    image_data_url,
    presets,
    read_pcm16_wav,
    write_pcm16_wav,
)
from antiphon.clients.duplex import events as e
from antiphon.clients.duplex.acknowledging import Acknowledging
from antiphon.clients.duplex.address import is_loopback
from antiphon.clients.duplex.journal import Command, Journal
from antiphon.clients.duplex.playback import PlaybackClock, Speaker
from antiphon.clients.duplex.standing import Standing

# --- audio ------------------------------------------------------------------------------------------------


def test_bytes_and_time_of_a_format() -> None:
    telephone, wide = AudioFormat("g711_ulaw", 8_000), AudioFormat("pcm_f32le", 24_000)
    assert (telephone.duration_ms(bytes(800)), wide.duration_ms(9_600)) == (100.0, 100.0)
    assert (telephone.byte_count(20), wide.byte_count(80)) == (160, 7_680)
    assert AudioFormat("pcm16", 22_050).byte_count(80) % 2 == 0


@pytest.mark.parametrize(("encoding", "rate"), [("opus", 24_000), ("pcm16", 4_000), ("pcm16", 200_000)])
def test_a_format_that_no_session_has_is_refused(encoding: str, rate: int) -> None:
    with pytest.raises(ValueError):
        AudioFormat(encoding, rate)


def test_a_recording_is_written_and_read_back(tmp_path: Path) -> None:
    write_pcm16_wav(tmp_path / "a.wav", b"\1\0\2\0", 16_000)
    assert read_pcm16_wav(tmp_path / "a.wav") == (b"\1\0\2\0", 16_000)


def test_a_stereo_recording_is_refused(tmp_path: Path) -> None:
    header = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 40, b"WAVE", b"fmt ", 16, 1, 2, 8000, 32000, 4, 16, b"data", 4
    )
    (tmp_path / "stereo.wav").write_bytes(header + bytes(4))
    with pytest.raises(ValueError, match="2 channels of 16 bits"):
        read_pcm16_wav(tmp_path / "stereo.wav")


def test_media_become_data_urls_by_what_they_are() -> None:
    assert image_data_url(b"\xff\xd8\xff") == "data:image/jpeg;base64,/9j/"
    assert image_data_url(b"\x89PNG\r\n").startswith("data:image/png;base64,")
    assert audio_data_url(b"RIFF").startswith("data:audio/wav;base64,")
    with pytest.raises(ValueError):
        image_data_url(b"GIF89a")
    with pytest.raises(ValueError):
        audio_data_url(b"ID3")


# --- addresses and sessions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("ws://host:1", "ws://host:1/v1/realtime?duplex=1&autostart=0"),
        ("https://host/", "wss://host/v1/realtime?duplex=1&autostart=0"),
        ("http://host/v1/realtime?autostart=1&x=y", "ws://host/v1/realtime?autostart=0&x=y&duplex=1"),
    ],
)
def test_the_url_opens_nothing_before_the_first_message(base: str, url: str) -> None:
    assert build_realtime_url(base) == url


def test_a_models_name_is_escaped_and_another_scheme_refused() -> None:
    assert build_realtime_url("ws://h", model="a b&c").endswith("&model=a+b%26c")
    with pytest.raises(ValueError):
        build_realtime_url("ftp://h")


@pytest.mark.parametrize(
    ("url", "loopback"),
    [("ws://127.0.0.1:1", True), ("ws://[::1]:1", True), ("ws://localhost", True), ("ws://a.localhost", True),
     ("ws://192.168.0.1", False), ("ws://localhost.example", False), ("ws://127.0.0.1.example", False)],
)  # fmt: skip
def test_which_servers_are_this_machine(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


def test_a_session_names_both_rates_and_leaves_out_what_is_the_servers() -> None:
    assert SessionConfig(instructions="Be brief.").to_session_payload(model="m") == {
        "model": "m",
        "modalities": ["audio", "text"],
        "input_audio_format": {"type": "pcm16", "rate": 16_000},
        "output_audio_format": {"type": "pcm16", "rate": 24_000},
        "instructions": "Be brief.",
        "extra_body": {"auto_response": True},
    }


def test_presets_differ_where_the_models_do() -> None:
    assert presets.minicpmo_4_5("data:,").extra_body == {"force_listen_count": 0}
    assert presets.personaplex().input_audio == AudioFormat("pcm_f32le", 24_000)
    assert presets.nemotron().output_audio.rate == 22_050
    assert presets.cascade().turn_detection == {"type": "server_vad"}


def test_units_of_a_model() -> None:
    assert chunk_period_ms({"capabilities": {"chunk_period_ms": 1000}}) == 1000
    assert chunk_period_ms({"capabilities": {"chunk_period_ms": None}}) is chunk_period_ms({}) is None
    assert [duplex_unit_boundary_ms(at, 1000) for at in (0, 1, 1000, 1001)] == [0, 1000, 1000, 2000]
    assert [has_residual_model_unit(at, 80) for at in (160, 200)] == [False, True]


# --- the journal ------------------------------------------------------------------------------------------


def journal(*ids: str, sent: int = 0, **limits: int) -> Journal:
    made = Journal(**limits)
    for event_id in ids:
        made.add(Command(event_id, f"<{event_id}>"))
    made.sent = sent
    return made


def drained(made: Journal) -> list[str]:
    ids = []
    while (command := made.next()) is not None:
        ids.append(command.event_id)
        made.sent += 1
    return ids


def test_what_was_not_accepted_is_sent_again_in_its_order() -> None:
    made = journal("a", "b", "c", "d", sent=3)
    told = made.rewind("a")
    assert (told.resent, told.gap) == (2, False)
    assert drained(made) == ["b", "c", "d"]


def test_where_nothing_was_accepted_everything_is_sent_again() -> None:
    made = journal("a", "b", sent=2)
    assert made.rewind(None).resent == 2
    assert drained(made) == ["a", "b"]


def test_where_everything_was_accepted_nothing_is() -> None:
    made = journal("a", "b", sent=2)
    assert made.rewind("b").resent == 0
    assert drained(made) == []
    made.add(Command("c", "<c>"))
    assert not made.rewind("b").gap, "what was accepted before is none"
    assert drained(made) == ["c"]


def test_what_was_sent_makes_room_and_a_resume_that_falls_into_it_is_told() -> None:
    made = journal("a", "b", "c", sent=3, most_commands=3)
    made.add(Command("d", "<d>"))
    assert made.rewind("a").gap
    assert drained(made) == ["b", "c", "d"]


def test_a_resume_behind_what_was_forgotten_is_no_gap() -> None:
    made = journal("a", "b", "c", sent=3, most_commands=3)
    made.add(Command("d", "<d>"))
    assert not made.rewind("b").gap
    assert drained(made) == ["c", "d"]


@pytest.mark.parametrize("limits", [{"most_commands": 2}, {"most_bytes": 6}])
def test_what_was_not_sent_never_makes_room(limits: dict[str, int]) -> None:
    made = journal("a", "b", **limits)
    with pytest.raises(DuplexOverflowError) as full:
        made.add(Command("c", "<c>"))
    assert full.value.what == "commands"
    assert drained(made) == ["a", "b"]


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=40),
    accepted=st.integers(0, 39),
    sent=st.integers(0, 40),
)
def test_after_a_resume_exactly_the_unaccepted_are_sent_or_a_gap_is_told(
    sizes: list[int], accepted: int, sent: int
) -> None:
    made, kept = Journal(most_bytes=200), 0
    for number, size in enumerate(sizes):
        try:
            made.add(Command(str(number), "x" * size))
            kept += 1
        except DuplexOverflowError:
            break
        made.sent = min(sent, kept)
    arrived = min(accepted, made.sent)
    told = made.rewind(str(arrived - 1) if arrived else None)
    again = drained(made)
    expected = [str(number) for number in range(arrived, kept)]
    if told.gap:
        assert again == expected[len(expected) - len(again) :]
    else:
        assert again == expected


# --- where a client stands --------------------------------------------------------------------------------


def test_what_came_before_is_no_news() -> None:
    standing = Standing()
    assert standing.note(e.Event(type="x", server_event_seq=5))
    assert not standing.note(e.Event(type="x", server_event_seq=5))
    assert not standing.note(e.Event(type="x", server_event_seq=4))
    assert standing.note(e.Event(type="x"))
    assert standing.last_number == 5


def test_a_session_without_a_token_cannot_be_resumed() -> None:
    standing = Standing()
    standing.note(e.SessionCreated(type="session.created", session={"id": "s"}))
    assert not standing.can_resume
    standing.note(e.SessionCreated(type="session.created", session={"id": "s"}, resume_token="t"))
    assert standing.can_resume
    standing.note(e.ResyncRequired(type="session.resync_required", reason="journal_gap"))
    assert not standing.can_resume


def test_waits_double_up_to_the_longest_and_chance_shortens_them() -> None:
    policy = ReconnectPolicy()
    assert [policy.delay_s(attempt, 0.0) for attempt in range(1, 7)] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    assert policy.delay_s(1, 1.0) == 0.125


# --- the playback clock -----------------------------------------------------------------------------------


class Time:
    s = 100.0

    def __call__(self) -> float:
        return self.s


def test_what_is_given_sounds_in_real_time() -> None:
    time = Time()
    clock = PlaybackClock(Speaker(time), "in_real_time")
    clock.give(200)
    clock.give(400)
    assert (clock.played_ms, clock.sounding) == (0, True)
    time.s += 0.25
    assert clock.played_ms == pytest.approx(250)
    time.s += 1
    assert (clock.played_ms, clock.sounding) == (400, False)


def test_a_piece_that_comes_late_sounds_when_it_comes() -> None:
    time = Time()
    clock = PlaybackClock(Speaker(time), "in_real_time")
    clock.give(200)
    time.s += 10
    clock.give(400)
    time.s += 0.1
    assert clock.played_ms == pytest.approx(300)


def test_a_second_answer_waits_for_the_first() -> None:
    time = Time()
    speaker = Speaker(time)
    first, second = (PlaybackClock(speaker, "in_real_time") for _ in range(2))
    first.give(1000)
    second.give(500)
    time.s += 1.2
    assert (first.played_ms, second.played_ms) == (1000, pytest.approx(200))


def test_a_player_that_throws_away_what_it_holds_stops_there_and_is_free() -> None:
    time = Time()
    speaker = Speaker(time)
    first, second = (PlaybackClock(speaker, "in_real_time") for _ in range(2))
    first.give(1000)
    time.s += 0.3
    first.stop()
    second.give(100)
    time.s += 0.1
    assert (first.played_ms, second.played_ms) == (pytest.approx(300), pytest.approx(100))
    assert not first.sounding


def test_where_taking_is_playing_and_where_nothing_is() -> None:
    speaker = Speaker(Time())
    taken, never = PlaybackClock(speaker, "when_taken"), PlaybackClock(speaker, "never")
    taken.give(200)
    never.give(200)
    assert (taken.played_ms, never.played_ms) == (200, 0)
    assert not taken.sounding
    assert not never.sounding


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.booleans()), max_size=30))
def test_nothing_is_played_that_was_not_given_and_nothing_faster_than_it_sounds(
    steps: list[tuple[int, int, bool]],
) -> None:
    time = Time()
    speaker = Speaker(time)
    clocks = [PlaybackClock(speaker, "in_real_time") for _ in range(2)]
    given_ms, before = [0, 0], [0.0, 0.0]
    for pause_ms, length_ms, which in steps:
        time.s += pause_ms / 1000
        now = [clock.played_ms for clock in clocks]
        assert all(b <= n + 1e-6 for b, n in zip(before, now, strict=True))
        assert all(n <= g + 1e-6 for n, g in zip(now, given_ms, strict=True))
        assert sum(now) <= (time.s - Time.s) * 1000 + 1e-6
        given_ms[which] += length_ms
        clocks[which].give(given_ms[which])
        before = [clock.played_ms for clock in clocks]
        assert all(n <= b + 1e-6 for n, b in zip(now, before, strict=True))


# --- what is told of it -----------------------------------------------------------------------------------


def delta(until_ms: int) -> e.AudioDelta:
    metadata = e.AudioMetadata(audio_duration_ms=until_ms)
    kind = "response.output_audio.delta"
    return e.AudioDelta(type=kind, response_id="r", item_id="i", delta=b"\0\0", metadata=metadata)


async def test_what_has_moved_is_told_and_what_has_not_is_not_told_again() -> None:
    told: list[tuple[str, int]] = []

    async def acknowledge(played_ms: int, response_id: str) -> None:
        told.append((response_id, played_ms))

    acknowledging = Acknowledging(acknowledge, Time())
    handle = ResponseHandle("r", acknowledging.speak_on)
    audio = handle.audio("when_taken")
    for until_ms in (10, 20):
        handle.heard(delta(until_ms))
        await anext(audio)
        await acknowledging.tell()
        await acknowledging.tell()
    assert told == [("r", 10), ("r", 20)]
    await acknowledging.stop()


async def test_an_answer_was_played_when_its_sound_is_over_or_it_is_interrupted() -> None:
    async def acknowledge(played_ms: int, response_id: str) -> None:
        pass

    time = Time()
    acknowledging = Acknowledging(acknowledge, time)
    handle = ResponseHandle("r", acknowledging.speak_on)
    handle.heard(delta(60_000))
    handle.finish(None)
    assert [len(piece) async for piece in handle.audio()] == [2]
    waiting = asyncio.create_task(handle.wait_played())
    await asyncio.sleep(0)
    assert (handle.may_sound, waiting.done()) == (True, False)
    time.s += 20
    handle.cut()
    await waiting
    assert (handle.played_ms, handle.may_sound) == (20_000, False)
    await acknowledging.stop()
