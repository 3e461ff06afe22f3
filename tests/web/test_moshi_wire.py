"""Calls over the Moshi wire on a real port: Opus both ways, and a model that steps in units of 80 ms."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from antiphon.events import vocabulary as v
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.replay.verify import verify
from tests.media.test_opus import browser_pages
from tests.serving import RunningServer, running

from .moshi import AUDIO, ERROR, METADATA, READY, SCRIPT, TEXT, Moshi, moshi, tags
from .test_observing import observing
from .wire import wire

KEPT = "?resumable=1"
"""Of a client that may come back, and is therefore told of which session."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("moshi")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


def log_of(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda answer: answer())


def events(server: RunningServer, client: Moshi) -> list[v.Event]:
    read = log_of(server).read(SessionId(client.metadata["session_id"]))
    return [stored.event for stored in read]


def submitted(server: RunningServer, client: Moshi) -> list[v.UnitSubmitted]:
    return [one for one in events(server, client) if isinstance(one, v.UnitSubmitted)]


def sounding(server: RunningServer, client: Moshi) -> int:
    """Units that hold input."""
    return sum(one.until_sample > one.from_sample for one in submitted(server, client))


async def told(server: RunningServer, client: Moshi, kind: type[v.Event], times: int = 1) -> list[v.Event]:
    """The events of a kind, once there are so many of them."""

    def found() -> list[v.Event]:
        return [one for one in events(server, client) if isinstance(one, kind)]

    await asyncio.to_thread(server.wait_until, lambda: len(found()) >= times)
    return found()


async def deserted(server: RunningServer) -> None:
    """Until no session is left."""
    await asyncio.to_thread(server.wait_until, lambda: not server.get("/health").json()["sessions"])


# --- a call -----------------------------------------------------------------------------------------------


async def test_nothing_comes_before_the_handshake_and_then_words_and_sound(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        came = await client.until(READY)
        assert tags(came) == [READY]
        assert came[0].payload == b"", "the handshake is one byte"
        await client.say(3)
        await client.until(AUDIO, 3)
    assert tags(client.got)[:4] == [READY, METADATA, TEXT, AUDIO]
    assert client.got[2].payload == b" Hello"
    assert len(client.heard()) == 2 * 1920 * 3
    first = next(one for one in client.got if one.tag == AUDIO)
    assert b"OpusHead" in first.payload
    assert b"OpusTags" in first.payload
    [opened] = await told(server, client, v.SessionOpened)
    assert isinstance(opened, v.SessionOpened)
    assert opened.mode == "personaplex"


async def test_what_is_sent_before_the_handshake_is_decoded_and_dropped(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        await client.say(2)
        await client.until(METADATA)
        await client.say(1)
        await client.until(AUDIO)
        dropped = await told(server, client, v.InputDropped)
    assert {one.reason for one in dropped if isinstance(one, v.InputDropped)} == {"preparing"}
    assert sum(one.samples for one in dropped if isinstance(one, v.InputDropped)) == 2 * 1920
    assert sounding(server, client) == 1


async def test_the_browsers_own_stream_is_heard_to_the_sample(server: RunningServer) -> None:
    """Its headers come in two messages without sound, then 40 ms in each."""
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        for page in browser_pages():
            await client.send(AUDIO, page)
        await client.until(AUDIO, 12)
        appended = await told(server, client, v.InputAppended, 12)
    assert [one.samples for one in appended if isinstance(one, v.InputAppended)] == [1920] * 12
    assert not [one for one in events(server, client) if isinstance(one, v.InputUndecodable)]
    real = [one for one in submitted(server, client) if one.until_sample > one.from_sample]
    assert [one.until_sample - one.from_sample for one in real] == [1920] * 12


async def test_a_page_in_two_messages_is_one_page(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        for page in browser_pages()[:6]:
            await client.send(AUDIO, page[:30])
            await client.send(AUDIO, page[30:])
        await told(server, client, v.InputAppended, 2)
    assert not [one for one in events(server, client) if isinstance(one, v.InputUndecodable)]


async def test_without_a_microphone_the_model_is_given_silence_and_goes_on(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(AUDIO, 12)
        log = list(log_of(server).read(SessionId(client.metadata["session_id"])))
    opened = next(
        one.at.mono_ns for one in log if isinstance(one.event, v.StageOpened) and one.event.stage == "model"
    )
    given = [one for one in log if isinstance(one.event, v.UnitSubmitted)]
    for n, one in enumerate(given):
        assert isinstance(one.event, v.UnitSubmitted)
        assert (one.event.from_sample, one.event.until_sample, one.event.silence) == (0, 0, 1920)
        assert one.at.mono_ns >= opened + (2 + n) * 80_000_000


async def test_what_was_sent_can_be_shown_again(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        await client.say(8, every_s=0.02)
        await client.until(AUDIO, 8)
    await told(server, client, v.ClientDetached)
    verdict = verify(log_of(server), SessionId(client.metadata["session_id"]))
    assert verdict.same
    assert verdict.frames > 10
    assert verdict.reports


# --- what else may come -----------------------------------------------------------------------------------


async def test_after_garbage_the_stream_goes_on_and_others_are_untouched(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client, moshi(server, KEPT) as other:
        for one in (client, other):
            await one.until(METADATA)
        await client.say(3)
        await client.send(AUDIO, b"this is no page of anything" * 8)
        await client.send(AUDIO, struct.pack("<I", 7) + b"nor this")
        await client.say(4)
        await other.say(4)
        lost = await told(server, client, v.InputUndecodable, 2)
        await told(server, client, v.InputAppended, 6)
        await told(server, other, v.InputAppended, 4)
        assert not [one for one in events(server, other) if isinstance(one, v.InputUndecodable)]
    assert isinstance(lost[0], v.InputUndecodable)
    assert lost[0].size == 27 * 8


async def test_a_client_that_sends_no_ogg_is_let_go_with_a_reason(server: RunningServer) -> None:
    async with moshi(server) as client:
        await client.until(READY)
        for _ in range(12):
            await client.send(AUDIO, b"\xf8\xff\xfe" + bytes(60))
        code, reason = await client.closed()
    assert (code, reason) == (1007, "undecodable_audio")
    assert client.got[-1].tag == ERROR


async def test_other_tags_texts_and_empty_messages_are_passed_over(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        for tag in (0, 2, 3, 4, 5, 6, 7, 8, 9, 255):
            await client.send(tag, b"whatever")
        await client.socket.send(b"")
        await client.socket.send("a text")
        await client.say(2)
        await told(server, client, v.InputAppended, 2)
        happened = events(server, client)
    assert not [one for one in happened if isinstance(one, v.CommandRefused | v.InputUndecodable)]
    assert ERROR not in tags(client.got)


async def test_a_full_server_says_so_before_any_handshake(server: RunningServer) -> None:
    async with moshi(server) as one, moshi(server) as two, moshi(server) as three:
        for client in (one, two, three):
            await client.until(READY)
        async with moshi(server) as late:
            assert await late.closed() == (1013, "resource_exhausted")
            assert tags(late.got) == [ERROR]
        async with wire(server, path="/v1/audio/duplex") as raw:
            await raw.send({"type": "open"})
            assert (await raw.next("error"))["code"] == "resource_exhausted"
            with pytest.raises(ConnectionClosed) as closed:
                await raw.next()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013


async def test_a_client_that_vanishes_while_it_is_prepared_leaves_its_place_to_others(
    server: RunningServer,
) -> None:
    for _ in range(4):
        async with moshi(server) as client:
            client.socket.transport.abort()
        await deserted(server)
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        await client.say(1)
        assert b" Hello" in [one.payload for one in await client.until(AUDIO)], "a conversation of its own"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("voice_prompt=../../etc/passwd", "voice_prompt"),
        ("voice_prompt=%2Fetc%2Fpasswd", "voice_prompt"),
        ("voice_prompt=NATX9.pt", "voice_prompt"),
        ("text_prompt=" + "a" * 1_001, "text_prompt"),
        ("text_temperature=abc", "text_temperature"),
        ("text_temperature=nan", "text_temperature"),
        ("audio_temperature=-1", "audio_temperature"),
        ("text_topk=2.5", "text_topk"),
        ("audio_topk=1e3", "audio_topk"),
        ("seed=0x10", "seed"),
        ("seed=-2", "seed"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything_is_opened(
    server: RunningServer, query: str, said: str
) -> None:
    async with moshi(server, f"?{query}") as client:
        assert await client.closed() == (1008, "invalid_value")
    assert tags(client.got) == [ERROR]
    assert said in client.got[0].payload.decode()


async def test_what_is_asked_for_reaches_the_session_and_what_is_blank_was_not_said(
    server: RunningServer,
) -> None:
    query = (
        "&text_prompt=You+are+calm.&voice_prompt=NATF2.pt&text_temperature=0.7&text_topk=25&audio_topk=&seed=-1"
        "&text_seed=12&audio_seed=34&pad_mult=0&repetition_penalty=1.0&email=a%40b&worker_auth_id="
    )
    async with moshi(server, KEPT + query) as client:
        await client.until(METADATA)
        [opened] = await told(server, client, v.SessionOpened)
    assert isinstance(opened, v.SessionOpened)
    config = opened.config
    assert (config.instructions, config.voice, config.auto_response) == ("You are calm.", "NATF2", True)
    assert config.sampling == {"text_temperature": 0.7, "text_topk": 25}, "the first seed says: none"


# --- coming back, and listening in ------------------------------------------------------------------------


async def test_who_comes_back_hears_what_is_said_from_then_on_as_a_stream_of_its_own(
    server: RunningServer,
) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        await client.say(2)
        await client.until(AUDIO, 2)
        place = client.metadata
        client.socket.transport.abort()
    await told(server, client, v.ClientDetached)
    await told(server, client, v.AudioSpoken, 10)
    back = f"?session_id={place['session_id']}&resume_token={place['resume_token']}"
    async with moshi(server, back) as again:
        await again.until(AUDIO, 6)
        assert tags(again.got)[:3] == [READY, METADATA, AUDIO]
        assert again.metadata["session_id"] == place["session_id"]
        assert again.metadata["resume_token"] not in ("", place["resume_token"])
        assert len(again.heard()) == 2 * 1920 * 6
        await again.say(1)
        await told(server, again, v.ClientConfirmed)
        async with moshi(server, back) as third:
            assert await third.closed() == (1008, "invalid_resume_token")
        await again.until(AUDIO)
    await told(server, again, v.ClientDetached, 2)
    assert verify(log_of(server), SessionId(place["session_id"])).same
    assert _first_heard(server, again) > _said_before(server, again), "nothing of what was missed"


def _said_before(server: RunningServer, again: Moshi) -> int:
    """Samples that the model had said when the client came back."""
    happened = events(server, again)
    came = next(n for n, one in enumerate(happened) if isinstance(one, v.ClientResumed))
    return max(one.until_sample for one in happened[:came] if isinstance(one, v.AudioSpoken))


def _first_heard(server: RunningServer, again: Moshi) -> int:
    """Where the first sound ends that the second connection reported."""
    reports = [one for one in events(server, again) if isinstance(one, v.FramesSent) and one.attachment == 2]
    return min(sent.until_sample for report in reports for sent in report.audio)


async def test_a_call_outlives_the_server_and_its_model_is_prepared_anew(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as killed:
        async with moshi(killed, KEPT) as client:
            await client.until(METADATA)
            await client.say(2)
            await client.until(AUDIO, 2)
            place = client.metadata
            await told(killed, client, v.FramesSent)
            killed.kill()
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        back = f"?session_id={place['session_id']}&resume_token={place['resume_token']}"
        async with moshi(server, back) as again:
            await again.say(1)
            await again.until(AUDIO, 3)
            assert tags(again.got)[:2] == [READY, METADATA]
            assert len(again.heard()) == 2 * 1920 * 3
            happened = events(server, again)
    came = next(n for n, one in enumerate(happened) if isinstance(one, v.ClientResumed))
    opened = max(n for n, one in enumerate(happened) if isinstance(one, v.StageOpened))
    assert came < opened, "it waited for the model like everybody"


async def test_without_having_asked_for_it_nobody_comes_back(server: RunningServer) -> None:
    async with moshi(server) as client:
        await client.until(READY)
        client.socket.transport.abort()
    await deserted(server)
    assert METADATA not in tags(client.got)


async def test_a_call_can_be_observed_as_realtime_frames(server: RunningServer) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        async with wire(server, observing(client.metadata["session_id"], "&after=0")) as observer:
            await observer.next("session.created")
            await client.say(2)
            text = await observer.next("response.output_audio_transcript.delta")
            assert text["delta"] == " Hello"
            await observer.next("response.output_audio.delta")


async def test_observers_may_come_by_its_own_path_and_nobody_goes_on_in_another_kind_of_session(
    server: RunningServer,
) -> None:
    async with moshi(server, KEPT) as client:
        await client.until(METADATA)
        place = client.metadata
        seen = observing(place["session_id"], "&after=0")
        async with wire(server, seen, path="/api/chat") as observer:
            await observer.next("session.created")
        back = f"?session_id={place['session_id']}&resume_token={place['resume_token']}"
        async with wire(server, back) as other:
            assert (await other.next("error"))["error"]["code"] == "session_resume_conflict"
        await client.say(1)
        await client.until(AUDIO)


async def test_without_the_codec_the_refusal_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sphn.py").write_text("raise ImportError")
    with running(tmp_path / "data", env={"PYTHONPATH": str(tmp_path)}) as server:
        async with moshi(server) as client:
            assert await client.closed() == (1008, "opus_unavailable")
        assert b"sphn" in client.got[0].payload
        async with wire(server, path="/v1/audio/duplex") as raw:
            await raw.send({"type": "open"})
            await raw.next("ready")


# --- keys -------------------------------------------------------------------------------------------------


async def test_the_official_client_can_pass_a_key_in_its_url(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text(f'keys = ["secret"]\n[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        async with moshi(server, "?worker_auth_id=secret") as client:
            await client.until(READY)
        for query in ("", "?worker_auth_id=guess"):
            with pytest.raises(InvalidStatus) as refused:
                async with moshi(server, query):
                    pass
            assert refused.value.response.status_code == 401
        assert "secret" not in server.log()
