"""What a duplex client's frames ask for, and what they are refused by: names, aliases, fields, codes."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest

from antiphon.actors.session import commands as c
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.vocabulary import AudioFormat, Config
from antiphon.media.encodings import from_samples
from antiphon.media.wav import write_wav
from antiphon.projections.duplex.errors import CODES
from antiphon.web.duplex.decode import DuplexDecoder
from antiphon.web.realtime.undecodable import Undecodable
from antiphon.web.wishes import AskItem, Beat

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 64, 48)
JPEG = b"\xff\xd8" + struct.pack(">BBHBHHB", 0xFF, 0xC0, 11, 8, 48, 64, 1) + b"\0" * 8


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def decoder(config: Config | None = None) -> DuplexDecoder:
    return DuplexDecoder(lambda: config or Config())


def read(frame: dict[str, Any] | str, config: Config | None = None) -> list[Any]:
    return decoder(config).read(frame if isinstance(frame, str) else json.dumps(frame))


def refusal(frame: dict[str, Any] | str, config: Config | None = None) -> tuple[str, str | None, str | None]:
    """The dialect's code, the parameter and the client's event."""
    with pytest.raises(Undecodable) as caught:
        read(frame, config)
    bad = caught.value
    return CODES.get(bad.code, bad.code) or "", bad.param, bad.client_event


def append(**members: Any) -> dict[str, Any]:
    return {"type": "input_audio_buffer.append", "event_id": "e", **members}


TONE_MS = 1_000


def tone(rate: int, hertz: float = 440.0, level: float = 0.5) -> Any:
    at = np.arange(rate * TONE_MS // 1000) / rate
    return (level * np.sin(2 * np.pi * hertz * at)).astype(np.float32)


def joined(wishes: list[Any]) -> bytes:
    return b"".join(wish.pcm for wish in wishes if isinstance(wish, c.AppendAudio))


# --- every frame has its command, under each of its names -------------------------------------------------

SIMPLE: list[tuple[dict[str, Any], Any]] = [
    ({"type": "input_audio_buffer.commit"}, c.CommitInput(any_length=True)),
    (
        {"type": "input_audio_buffer.commit", "final": True, "create_response": False, "is_speech": False},
        c.CommitInput(respond=False, speech=False, any_length=True),
    ),
    (
        {"type": "input_audio_buffer.commit", "final": False},
        c.CommitInput(any_length=True, final=False),
    ),
    (
        {"type": "input.commit", "final": False},
        c.CommitInput(respond=False, any_length=True, final=False),
    ),
    (
        {"type": "input_audio_buffer.commit", "response_create": True},
        c.CommitInput(respond=True, any_length=True),
    ),
    ({"type": "input.commit"}, c.CommitInput(respond=True, any_length=True)),
    ({"type": "input.commit", "response_create": False}, c.CommitInput(respond=False, any_length=True)),
    ({"type": "input_audio_buffer.clear"}, c.ClearInput()),
    ({"type": "input.cancel"}, c.CancelInput()),
    ({"type": "input.text.append", "text": "hi"}, c.AppendText(text="hi")),
    ({"type": "input_text.append", "text": "hi"}, c.AppendText(text="hi")),
    ({"type": "push_text", "text": "hi"}, c.AppendText(text="hi")),
    ({"type": "session.event_ack", "server_event_seq": 129}, c.AcknowledgeEvents(attachment=0, through=129)),
    ({"type": "session.heartbeat"}, Beat(None)),
    ({"type": "session.close"}, c.CloseSession(reason="client")),
    ({"type": "close", "reason": "bye"}, c.CloseSession(reason="bye")),
    ({"type": "close_session", "reason": "shutdown"}, c.CloseSession(reason="client")),
    ({"type": "session_close"}, c.CloseSession(reason="client")),
    ({"type": "conversation.item.retrieve", "item_id": "i"}, AskItem(ItemId("i"), None)),
    ({"type": "conversation.item.delete", "item_id": "i"}, c.RemoveItem(item=ItemId("i"))),
    (
        {"type": "conversation.item.truncate", "item_id": "i", "audio_end_ms": 700.9},
        c.TruncateItem(item=ItemId("i"), audio_end_ms=700),
    ),
    ({"type": "response.cancel"}, c.CancelResponse()),
    ({"type": "response.cancel", "response_id": "r"}, c.CancelResponse(response=ResponseId("r"))),
    ({"type": "output_audio_buffer.clear"}, c.ClearOutput()),
    ({"type": "output_audio_buffer.clear", "response_id": "r"}, c.ClearOutput(response=ResponseId("r"))),
    ({"type": "barge_in"}, c.BargeIn()),
    (
        {"type": "playback.ack", "played_ms": 1500.9, "response_id": "r"},
        c.AcknowledgePlayback(heard_ms=1500, played_ms=1500, response=ResponseId("r")),
    ),
    (
        {"type": "audio.playback_ack", "played_ms": 9, "committed_ms": 7, "item_id": "i", "truncate": True},
        c.AcknowledgePlayback(heard_ms=7, played_ms=9, item=ItemId("i"), truncate=True),
    ),
    ({"type": "turn.signal", "event": "user_started"}, c.SignalTurn(event="user_started")),
    (
        {"type": "signal_turn", "event": "thinking", "payload": {"for_ms": 3}},
        c.SignalTurn(event="thinking", payload={"for_ms": 3}),
    ),
]


@pytest.mark.parametrize(("frame", "wish"), SIMPLE, ids=lambda value: str(value)[:60])
def test_a_frame_asks_for_one_thing(frame: dict[str, Any], wish: Any) -> None:
    assert read(frame) == [wish]


@pytest.mark.parametrize(
    ("event", "payload", "wish"),
    [
        ("input.cancel", {}, c.CancelInput(client_event="e")),
        ("barge_in", {}, c.BargeIn(client_event="e")),
        (
            "response.cancel",
            {"response_id": "r"},
            c.CancelResponse(client_event="e", response=ResponseId("r")),
        ),
        ("conversation.item.delete", {"item_id": "i"}, c.RemoveItem(client_event="e", item=ItemId("i"))),
        ("playback_ack", {"played_ms": 5}, c.AcknowledgePlayback(client_event="e", heard_ms=5, played_ms=5)),
        ("close", {"reason": "done"}, c.CloseSession(client_event="e", reason="done")),
    ],
)
def test_some_signals_are_frames_in_disguise(event: str, payload: dict[str, Any], wish: c.Command) -> None:
    assert read({"type": "turn.signal", "event_id": "e", "event": event, "payload": payload}) == [wish]


@pytest.mark.parametrize("payload", [{"instructions": "be brief"}, {"session": {"instructions": "be brief"}}])
def test_an_update_may_come_as_a_signal_or_with_its_members_at_the_top(payload: dict[str, Any]) -> None:
    for frame in (
        {"type": "turn.signal", "event": "session.update", "payload": payload},
        {"type": "session.update", **payload},
    ):
        [update] = read(frame)
        assert isinstance(update, c.Configure)
        assert update.instructions == "be brief"
        assert update.echo == {}


# --- what cannot be read ----------------------------------------------------------------------------------

UNREADABLE: list[tuple[str, dict[str, Any] | str, str, str | None]] = [
    ("not JSON", "{", "invalid_json", None),
    ("not an object", "[1]", "bad_event", "type"),
    ("no type", {"event_id": "e"}, "bad_event", "type"),
    ("a type that is no string", {"type": 3, "event_id": "e"}, "bad_event", "type"),
    ("an unknown type", {"type": "conversation.sing", "event_id": "e"}, "unknown_event", "type"),
    ("too deep", '{"type":"turn.signal","event":"x","payload":' + "[" * 100_000, "bad_event", None),
    ("no audio and no image", append(), "bad_event", "audio"),
    ("audio that is no string", append(audio=5), "bad_event", "audio"),
    ("audio that is not base64", append(audio="###"), "bad_audio", "audio"),
    ("an unknown format", append(audio="AAAA", format="opus"), "unsupported_audio_format", "format"),
    ("a file where none is expected", append(audio="AAAA", format="wav"), "unsupported_audio_format", "format"),
    ("a rate too low", append(audio="AAAA", sample_rate_hz=7_999), "bad_event", "sample_rate_hz"),
    ("a rate too high", append(audio="AAAA", sample_rate=192_001), "bad_event", "sample_rate_hz"),
    ("a rate that is no number", append(audio="AAAA", sample_rate_hz="16000"), "bad_event", "sample_rate_hz"),
    ("a rate that is true", append(audio="AAAA", sample_rate_hz=True), "bad_event", "sample_rate_hz"),
    ("half a sample a second", append(audio="AAAA", sample_rate_hz=16_000.5), "bad_event", "sample_rate_hz"),
    ("floats that are none", append(audio=b64(b"\0\0\xc0\x7f"), format="f32le"), "bad_audio", "audio"),
    ("no action", append(audio="AAAA", overlap_action="dance"), "bad_event", "overlap_action"),
    ("video that is no list", append(video_frames="x"), "invalid_video_frames", "video_frames"),
    ("three images", append(video_frames=[b64(PNG)] * 3), "invalid_video_frames", "video_frames"),
    ("an image as a URL", append(video_frames=["data:image/png;base64,AA"]), "invalid_video_frames", "video_frames"),
    ("an image of another kind", append(video_frames=[b64(b"GIF89a" + bytes(40))]), "invalid_video_frames", "video_frames"),
    ("an image too large", append(video_frames=["A" * 4_000_004]), "invalid_video_frames", "video_frames"),
    ("two slices", append(audio="AAAA", max_slice_nums=2), "invalid_video_frames", "max_slice_nums"),
    ("an acknowledgement below zero", {"type": "session.event_ack", "server_event_seq": -1}, "invalid_event_ack", "server_event_seq"),
    ("an acknowledgement of nothing", {"type": "session.event_ack"}, "invalid_event_ack", "server_event_seq"),
    ("an acknowledgement that is true", {"type": "session.event_ack", "server_event_seq": True}, "invalid_event_ack", "server_event_seq"),
    ("resuming in the middle", {"type": "session.resume", "session_id": "s"}, "unsupported_session_resume", "type"),
    ("retrieving nothing", {"type": "conversation.item.retrieve"}, "missing_item_id", "item_id"),
    ("deleting nothing", {"type": "conversation.item.delete", "item_id": ""}, "missing_item_id", "item_id"),
    ("truncating nothing", {"type": "conversation.item.truncate", "audio_end_ms": 1}, "missing_item_id", "item_id"),
    ("truncating without a place", {"type": "conversation.item.truncate", "item_id": "i"}, "bad_event", "audio_end_ms"),
    ("truncating before the beginning", {"type": "conversation.item.truncate", "item_id": "i", "audio_end_ms": -1}, "bad_event", "audio_end_ms"),
    ("playing without a place", {"type": "playback.ack"}, "bad_event", "played_ms"),
    ("playing before the beginning", {"type": "playback.ack", "played_ms": -1}, "bad_event", "played_ms"),
    ("text that is none", {"type": "input.text.append", "text": 5}, "bad_event", "text"),
    ("a signal of nothing", {"type": "turn.signal"}, "bad_event", "event"),
    ("no item", {"type": "conversation.item.create"}, "bad_event", "item"),
    ("an item of another kind", {"type": "conversation.item.create", "item": {"type": "song"}}, "bad_event", "item.type"),
    (
        "an output that is no string",
        {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c", "output": 4}},
        "invalid_function_call_output",
        "item.output",
    ),
    (
        "a picture from elsewhere",
        {"type": "conversation.item.create", "item": {"content": [{"type": "input_image", "image_url": "http://a/b.png"}]}},
        "invalid_image",
        "item.content",
    ),
    (
        "a picture that is none",
        {"type": "conversation.item.create", "item": {"content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}},
        "invalid_image",
        "item.content",
    ),
    ("tools for one answer", {"type": "response.create", "response": {"tools": []}}, "unsupported_native_response_options", "response.tools"),
    ("a song", {"type": "response.create", "response": {"modalities": ["song"]}}, "unsupported_response_modality", "response.output_modalities"),
    ("an unknown format for one answer", {"type": "response.create", "response": {"output_audio_format": "opus"}}, "unsupported_audio_format", "response.output_audio_format"),
    ("an answer in mid-turn", {"type": "input.commit", "final": False, "create_response": True}, "bad_event", "final"),
    ("too fast", {"type": "response.create", "response": {"speed": 9}}, "bad_event", "response.speed"),
    ("an endless answer of no tokens", {"type": "response.create", "response": {"max_tokens": 0}}, "bad_event", "response.max_output_tokens"),
    ("metadata of numbers", {"type": "response.create", "response": {"metadata": {"n": 1}}}, "bad_event", "response.metadata[...]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("frame", "code", "parameter"), [case[1:] for case in UNREADABLE], ids=[c[0] for c in UNREADABLE]
)
def test_what_cannot_be_read_has_its_code_and_names_the_place(
    frame: dict[str, Any] | str, code: str, parameter: str | None
) -> None:
    event = frame.get("event_id") if isinstance(frame, dict) else None
    assert refusal(frame) == (code, parameter, event)


def test_a_frame_of_more_than_15_mib_is_too_large() -> None:
    assert refusal(append(audio="A" * (15 << 20)))[0] == "event_too_large"
    assert joined(read(append(audio="A" * (15 * 1024 * 1020))))


# --- audio ------------------------------------------------------------------------------------------------

FORMATS = [
    ({"format": "pcm16", "sample_rate_hz": 24_000}, "pcm16", 24_000),
    ({"format": "s16le"}, "pcm16", 16_000),
    ({"format": {"type": "audio/pcm", "rate": 24_000}}, "pcm16", 24_000),
    ({"input_audio_format": "pcm_f32le", "sample_rate": 24_000}, "pcm_f32le", 24_000),
    ({"format": "f32le"}, "pcm_f32le", 16_000),
    ({"format": "g711_ulaw"}, "g711_ulaw", 8_000),
    ({"format": "mulaw", "sample_rate_hz": 16_000}, "g711_ulaw", 16_000),
    ({"format": {"type": "alaw"}}, "g711_alaw", 8_000),
    ({"format": "pcm16", "sample_rate_hz": 48_000}, "pcm16", 48_000),
    ({"format": "pcm16", "sample_rate_hz": 0, "sample_rate": 44_100}, "pcm16", 44_100),
]


@pytest.mark.parametrize(("members", "encoding", "rate"), FORMATS)
def test_whatever_the_format_the_same_sound_arrives(
    members: dict[str, Any], encoding: Any, rate: int
) -> None:
    """In pieces of any length, to the sample, and as loud as it was (within a decibel)."""
    reader = decoder()
    raw = from_samples(tone(rate), rate, encoding)
    heard = b""
    for start in range(0, len(raw), 1323):  # which ends in the middle of samples
        heard += joined(reader.read(json.dumps(append(audio=b64(raw[start : start + 1323]), **members))))
    [*rest, commit] = reader.read('{"type":"input_audio_buffer.commit"}')
    assert isinstance(commit, c.CommitInput)
    pcm = np.frombuffer(heard + joined(rest), "<i2").astype(np.float32) / 32768
    assert len(pcm) == 24 * TONE_MS
    assert abs(20 * np.log10(np.sqrt(np.mean(pcm**2)) / np.sqrt(0.125))) < 1
    spectrum = np.abs(np.fft.rfft(pcm))
    assert np.argmax(spectrum) == 440


def test_the_first_that_says_something_of_the_rate_counts() -> None:
    """The frame's own words, then the format's, then the session's."""
    session = Config(echo={"audio": {"input": {"format": {"type": "pcm16", "rate": 48_000}}}})
    named = {"format": {"type": "pcm16", "rate": 8_000}}
    second = b64(bytes(2 * 48_000))
    for members, ms in (
        ({}, 1_000),
        (named, 6_000),
        ({"sample_rate": 24_000, **named}, 2_000),
        ({"sample_rate_hz": 16_000, "sample_rate": 24_000, **named}, 3_000),
    ):
        reader = decoder(session)
        heard = joined(reader.read(json.dumps(append(audio=second, **members))))
        heard += joined(reader.read('{"type":"input_audio_buffer.commit"}'))
        assert len(heard) == 48 * ms


@pytest.mark.parametrize("alias", ["input.audio.append", "push_chunk"])
def test_under_its_older_names_an_append_is_a_file_that_knows_its_rate(alias: str) -> None:
    file = write_wav(tone(16_000), 16_000)
    reader = decoder()
    heard = joined(reader.read(json.dumps({"type": alias, "audio": b64(file)})))
    heard += joined(reader.read('{"type":"input.commit"}'))
    assert len(heard) == 48 * TONE_MS
    assert joined(read({"type": alias, "audio": b64(bytes(9_600)), "format": "pcm16"}))
    assert refusal({"type": alias, "audio": b64(file[:60])})[0] == "bad_audio"


def test_one_input_has_one_format_until_it_is_committed_or_cleared() -> None:
    reader = decoder()
    piece = b64(bytes(9_600))
    reader.read(json.dumps(append(audio=piece)))
    with pytest.raises(Undecodable) as caught:
        reader.read(json.dumps(append(audio=piece, sample_rate_hz=24_000)))
    assert (caught.value.code, caught.value.param) == ("invalid_value", "sample_rate_hz")
    for end in ("input_audio_buffer.commit", "input_audio_buffer.clear", "input.cancel", "barge_in"):
        reader.read(json.dumps({"type": end}))
        assert joined(reader.read(json.dumps(append(audio=piece, sample_rate_hz=24_000))))
        reader.read('{"type":"input_audio_buffer.clear"}')
        reader.read(json.dumps(append(audio=piece)))


def test_another_format_holds_once_the_session_says_so() -> None:
    held = [Config()]
    reader = DuplexDecoder(lambda: held[0])
    heard = joined(reader.read(json.dumps(append(audio=b64(bytes(32_000))))))
    held[0] = Config(echo={"audio": {"input": {"format": {"type": "g711_alaw", "rate": 8_000}}}})
    heard += joined(reader.read(json.dumps(append(audio=b64(b"\xd5" * 8_000)))))
    heard += joined(reader.read('{"type":"input_audio_buffer.commit"}'))
    assert len(heard) == 48 * 2_000  # a second of each, none of it lost


def test_what_is_cleared_is_not_heard() -> None:
    reader = decoder()
    reader.read(json.dumps(append(audio=b64(b"\x01" * 999))))
    assert reader.read('{"type":"input_audio_buffer.clear"}') == [c.ClearInput()]
    assert reader.read('{"type":"input_audio_buffer.commit"}') == [c.CommitInput(any_length=True)]


def test_small_frames_are_collected_as_long_as_they_are_alike() -> None:
    reader = decoder(Config(echo={"audio": {"input": {"format": {"type": "pcm16", "rate": 24_000}}}}))
    frame = b64(b"\x00\x10" * 480)  # 20 ms
    wishes = [wish for _ in range(8) for wish in reader.read(json.dumps(append(audio=frame, is_speech=True)))]
    assert [(len(wish.pcm), wish.speech) for wish in wishes] == [(3_840, True)] * 2
    reader.read(json.dumps(append(audio=frame, is_speech=True)))
    [earlier] = reader.read(json.dumps(append(audio=frame, is_speech=False)))
    assert (len(earlier.pcm), earlier.speech) == (960, True)


LOUD, SOFT = b64(b"\x00\x10" * 2_000), b64(b"\x01\x00" * 2_000)
VERDICTS = [
    ({"audio": LOUD}, True),
    ({"audio": SOFT}, False),
    ({"audio": LOUD, "vad": {"silence_rms": 0.5}}, False),
    ({"audio": SOFT, "speech_probability": 0.5}, True),
    ({"audio": LOUD, "speech_probability": 0.49}, False),
    ({"audio": LOUD, "speech_probability": 0.1, "vad": {"probability": 0.9}}, True),
    ({"audio": LOUD, "vad": {"probability": 0.9, "speech_probability": 0.2}}, False),
    ({"audio": LOUD, "vad": {"probability": 0.9, "is_speech": False}}, False),
    ({"audio": SOFT, "speech": True, "vad": {"is_speech": False}}, True),
    ({"audio": SOFT, "is_speech": True, "speech": False}, True),
]


@pytest.mark.parametrize(("members", "speech"), VERDICTS)
def test_whether_it_is_speech_says_the_first_who_judged_and_else_its_loudness(
    members: dict[str, Any], speech: bool
) -> None:
    [command] = read(append(format="pcm16", sample_rate_hz=24_000, **members))
    assert command.speech is speech


@pytest.mark.parametrize(("said", "speech"), [(0.5, False), (0.0, True), (None, True)])
def test_how_loud_silence_is_a_session_may_say(said: float | None, speech: bool) -> None:
    [command] = read(append(audio=LOUD, sample_rate_hz=24_000), Config(echo={"overlap_silence_rms": said}))
    assert command.speech is speech


@pytest.mark.parametrize(
    ("members", "hints"),
    [
        ({}, None),
        ({"overlap_action": "interrupt"}, c.OverlapHints(action="barge_in")),
        ({"overlap": "ack"}, c.OverlapHints(action="listen")),
        ({"overlap_action": "ignore", "overlap": "ack"}, c.OverlapHints(action="drop")),
        ({"force_barge_in": True}, c.OverlapHints(force_barge_in=True)),
        ({"force_listen": True, "text": "yes"}, c.OverlapHints(force_listen=True, transcript="yes")),
        ({"transcript": "ok", "text": "yes"}, c.OverlapHints(transcript="ok")),
        ({"vad": {"is_speech": True}}, None),
        ({"vad": {"speech_started": False}}, c.OverlapHints(speech_started=False)),
    ],
)
def test_what_is_to_become_of_an_overlap(members: dict[str, Any], hints: c.OverlapHints | None) -> None:
    [command] = read(append(audio=LOUD, sample_rate_hz=24_000, **members))
    assert command.hints == hints


def test_images_come_with_the_audio_that_is_there_or_alone() -> None:
    images = (c.Image("image/png", PNG), c.Image("image/jpeg", JPEG))
    [command] = read(append(audio=LOUD, sample_rate_hz=24_000, video_frames=[b64(PNG), None, b64(JPEG)]))
    assert (command.images, len(command.pcm)) == (images, 4_000)
    [alone] = read(append(video_frames=[b64(JPEG)], max_slice_nums=1))
    assert (alone.images, alone.pcm) == (images[1:], b"")
    reader = decoder()
    reader.read(json.dumps(append(video_frames=[b64(JPEG)])))  # which says nothing of the audio's format
    assert joined(reader.read(json.dumps(append(audio=LOUD, sample_rate_hz=24_000))))


def test_long_audio_is_cut_into_commands_of_two_seconds() -> None:
    wishes = read(append(audio=b64(b"\x00\x10" * 24_000 * 5), sample_rate_hz=24_000, video_frames=[b64(PNG)]))
    assert [len(wish.pcm) for wish in wishes] == [96_000, 96_000, 48_000]
    assert [len(wish.images) for wish in wishes] == [1, 0, 0]


# --- items and options ------------------------------------------------------------------------------------


def create(item: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"type": "conversation.item.create", "item": item, **members}


def test_a_written_item() -> None:
    [command] = read(create({"id": "a", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}))
    assert isinstance(command, c.AddItem)
    assert (command.item.id, command.item.role, command.item.content[0].text) == ("a", "user", "hi")
    [system] = read(create({"role": "system", "content": [{"type": "text", "text": "be kind"}]}))
    assert (system.item.role, system.previous) == ("system", "")


def test_a_picture_in_an_item() -> None:
    url = f"data:image/png;base64,{b64(PNG)}"
    content = [{"type": "input_text", "text": "what is it?"}, {"type": "input_image", "image_url": url}]
    [command] = read(create({"content": content}))
    assert [part.kind for part in command.item.content] == ["input_text", "input_image"]
    assert command.images == (c.Image("image/png", PNG),)


def test_what_is_spoken_in_an_item_is_audio_and_a_commit_and_what_is_beside_it_comes_before() -> None:
    url = f"data:image/jpeg;base64,{b64(JPEG)}"
    content = [
        {"type": "input_audio", "audio": LOUD, "sample_rate_hz": 24_000},
        {"type": "input_image", "image_url": url},
        {"type": "input_audio", "audio": SOFT, "sample_rate_hz": 24_000},
    ]
    picture, audio, commit = read(create({"id": "a", "role": "user", "content": content}))
    assert (picture.item.id, len(picture.images)) == ("a_image", 1)
    assert len(audio.pcm) == 4_000
    assert commit == c.CommitInput(respond=False, any_length=True, item=ItemId("a"))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"speed": 1.25}, c.CreateResponse(speed=1.25)),
        ({"speed": 1.25, "audio": {"output": {"speed": 0.5}}}, c.CreateResponse(speed=0.5)),
        ({"output_audio_format": "ulaw"}, c.CreateResponse(audio_format=AudioFormat("g711_ulaw", 8_000))),
        (
            {"audio": {"output": {"sample_rate_hz": 16_000}}},
            c.CreateResponse(audio_format=AudioFormat("pcm16", 16_000)),
        ),
    ],
)
def test_how_one_answer_sounds(options: dict[str, Any], wanted: c.CreateResponse) -> None:
    assert read({"type": "response.create", "response": options}) == [wanted]


def test_options_of_one_answer() -> None:
    [command] = read(
        {
            "type": "response.create",
            "response": {
                "modalities": ["text"],
                "instructions": "shout",
                "voice": "low",
                "temperature": 0.5,
                "max_response_output_tokens": "inf",
                "conversation": "none",
                "metadata": {"k": "v"},
                "output_audio_format": "pcm",
                "speed": 1,
                "extra_body": {"anything": 1},
            },
        }
    )
    assert command == c.CreateResponse(
        modalities=("text",),
        instructions="shout",
        voice="low",
        temperature=0.5,
        in_history=False,
        metadata={"k": "v"},
    )
