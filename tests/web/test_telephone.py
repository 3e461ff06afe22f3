"""The telephone's encodings in the plain dialect: 8 kHz outside, 24 kHz inside, and nothing lost between."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any, Literal

import numpy as np
import pytest

from antiphon.actors.session import commands as c
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import Config
from antiphon.media import g711
from antiphon.media.outgoing import Outgoing
from antiphon.replay.verify import verify
from antiphon.web.realtime.decode import RealtimeDecoder
from antiphon.web.realtime.undecodable import Undecodable
from tests.serving import RunningServer

from .test_openai_sdk import append, connected, until
from .wire import wire

LAWS: list[tuple[str, g711.Law]] = [("audio/pcmu", "g711_ulaw"), ("audio/pcma", "g711_alaw")]
Said = list[dict[str, Any]]


def session(incoming: str | None, outgoing: str | None) -> dict[str, Any]:
    half: dict[str, Any] = {"turn_detection": None}
    if incoming is not None:
        half["format"] = {"type": incoming}
    return {"audio": {"input": half, **({"output": {"format": {"type": outgoing}}} if outgoing else {})}}


def tone(seconds: float, rate: int = 8_000) -> np.ndarray[Any, np.dtype[np.int16]]:
    return (np.sin(2 * np.pi * 440 * np.arange(int(rate * seconds)) / rate) * 9_000).astype("<i2")


def audio(frames: Said) -> list[bytes]:
    return [base64.b64decode(one["delta"]) for one in frames if one["type"] == "response.output_audio.delta"]


async def said_back(
    server: RunningServer, asked: dict[str, Any], sound: bytes, piece: int
) -> tuple[Said, Said]:
    async with wire(server) as client:
        await client.send({"type": "session.update", "session": asked})
        for start in range(0, len(sound), piece):  # at once: it is behind the update, so it is as that says
            await client.append(sound[start : start + piece])
        await client.send({"type": "input_audio_buffer.commit"})
        updated = await client.until("session.updated")
        return updated, await client.until("response.done")


def correlation(one: Any, other: Any) -> float:
    return float(np.corrcoef(one.astype(float), other.astype(float))[0, 1])


@pytest.mark.parametrize(("name", "law"), LAWS)
async def test_what_is_said_on_the_telephone_comes_back_on_the_telephone_to_the_sample(
    echo_server: RunningServer, name: str, law: g711.Law
) -> None:
    samples = tone(1.5)
    updated, frames = await said_back(echo_server, session(name, name), g711.encode(samples, law), piece=160)
    shown = updated[-1]["session"]["audio"]
    assert shown["input"]["format"] == shown["output"]["format"] == {"type": name}
    heard = g711.decode(b"".join(audio(frames)), law)
    assert len(heard) == len(samples)
    assert correlation(heard, samples) > 0.999
    assert {set(frame) == {"type", "event_id", "response_id", "item_id", "output_index", "content_index", "delta"}
            for frame in frames if frame["type"] == "response.output_audio.delta"} == {True}  # fmt: skip


async def test_each_direction_has_its_own_form(echo_server: RunningServer) -> None:
    samples = tone(1.0)
    encoded = g711.encode(samples, "g711_alaw")
    _, frames = await said_back(echo_server, session("audio/pcma", None), encoded, piece=4_000)
    heard = np.frombuffer(b"".join(audio(frames)), "<i2")
    assert len(heard) == 3 * len(samples)
    assert correlation(heard[::3], samples) > 0.999

    wide = tone(1.0, 24_000)
    _, frames = await said_back(echo_server, session(None, "audio/pcmu"), wide.tobytes(), piece=4_800)
    stream = Outgoing(24_000, 8_000, "g711_ulaw")
    assert b"".join(audio(frames)) == stream.convert(wide.tobytes()) + stream.finish()


async def test_the_openai_sdk_speaks_pcmu(echo_server: RunningServer) -> None:
    encoded = g711.encode(tone(0.8), "g711_ulaw")
    async with connected(echo_server, **session("audio/pcmu", "audio/pcmu")) as connection:
        await append(connection, encoded, 160)
        await connection.input_audio_buffer.commit()
        events = await until(connection, "response.done")
    deltas = [e.delta for e in events if e.type == "response.output_audio.delta"]
    assert sum(len(base64.b64decode(delta)) for delta in deltas) == len(encoded)


async def test_an_answer_that_is_cut_off_gets_no_rest(echo_server: RunningServer) -> None:
    async with wire(echo_server) as client:
        await client.send({"type": "session.update", "session": session(None, "audio/pcmu")})
        await client.append(tone(1.0, 24_000).tobytes())
        before = await client.until("response.created")
        await client.send({"type": "response.cancel"})
        frames = await client.until("response.done")
    assert frames[-1]["response"]["status"] == "cancelled"
    heard = len(b"".join(audio([*before, *frames])))
    assert heard < 8_000 - 100


@pytest.mark.parametrize(
    "given",
    [{"type": "audio/opus"}, {"type": "audio/pcmu", "rate": 16_000}, {"type": "audio/pcm", "rate": 8_000}],
)
@pytest.mark.parametrize("side", ["input", "output"])
async def test_any_other_form_is_refused_by_name(
    echo_server: RunningServer, given: dict[str, Any], side: Literal["input", "output"]
) -> None:
    async with wire(echo_server) as client:
        await client.send({"type": "session.update", "session": {"audio": {side: {"format": given}}}})
        error = (await client.next("error"))["error"]
    assert (error["code"], error["param"]) == ("unsupported_audio_format", f"session.audio.{side}.format")


async def test_an_answer_and_a_question_go_on_as_they_were_over_a_resume(echo_server: RunningServer) -> None:
    samples = tone(2.0)
    encoded = g711.encode(samples, "g711_ulaw")
    async with wire(echo_server) as client:
        created = (await client.next("session.created"))["session"]
        await client.send({"type": "session.update", "session": session("audio/pcmu", "audio/pcmu")})
        await client.append(encoded)
        await client.send({"type": "input_audio_buffer.commit"})
        await client.next("session.updated")
        whole = await client.until("response.done")
        client.socket.transport.abort()
    deltas = [k for k, one in enumerate(whole) if one["type"] == "response.output_audio.delta"]
    cut = deltas[len(deltas) // 2]
    query = (
        f"?session_id={created['id']}&resume_token={created['resume_token']}&after={whole[cut]['event_id']}"
    )
    async with wire(echo_server, query) as client:
        greeted = (await client.next("session.created"))["session"]
        assert greeted["audio"]["input"]["format"] == {"type": "audio/pcmu"}
        assert await client.until("response.done") == whole[cut + 1 :]
        await client.append(encoded)
        await client.send({"type": "input_audio_buffer.commit"})
        again = await client.until("response.done")
    assert len(b"".join(audio(again))) == len(encoded)


async def test_what_was_sent_can_be_made_again_from_the_log(echo_server: RunningServer) -> None:
    """Also by the beta's names."""
    for how in ({}, {"additional_headers": {"OpenAI-Beta": "realtime=v1"}}):
        async with wire(echo_server, **how) as client:
            created = (await client.next("session.created"))["session"]
            await client.send({"type": "session.update", "session": session("audio/pcmu", "audio/pcma")})
            await client.append(g711.encode(tone(1.0), "g711_ulaw"))
            await client.send({"type": "input_audio_buffer.commit"})
            await client.until("response.done")
        log = SegmentLog(echo_server.data, deliver=lambda call: call())
        name = SessionId(created["id"])
        await asyncio.to_thread(echo_server.wait_until, lambda log=log, name=name: log.head(name).sealed)
        told = verify(log, name)
        assert told.same
        assert told.frames > 10


# --- the decoder ------------------------------------------------------------------------------------------


def update(name: str | None, **more: Any) -> str:
    formats = {} if name is None else {"audio": {"input": {"format": {"type": name}}}}
    return json.dumps({"type": "session.update", "session": {**formats, **more}})


def frame(raw: bytes) -> str:
    return json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(raw).decode()})


def pcm_of(wishes: list[Any]) -> bytes:
    return b"".join(wish.pcm for wish in wishes if isinstance(wish, c.AppendAudio))


def holds(name: str) -> Config:
    return Config(echo={"audio": {"input": {"format": {"type": name}}}})


def test_audio_behind_an_update_is_as_the_update_says_also_before_it_holds() -> None:
    held = [Config()]
    decoder = RealtimeDecoder(lambda: held[0])
    encoded = g711.encode(tone(0.2), "g711_ulaw")
    decoder.read(update("audio/pcmu"))
    decoder.read(update(None, instructions="more"))
    first = pcm_of(decoder.read(frame(encoded)))
    held[0] = Config(instructions="something else that was asked before")
    second = pcm_of(decoder.read(frame(encoded)))
    held[0] = holds("audio/pcmu")
    third = pcm_of(decoder.read(frame(encoded)))
    rest = pcm_of(decoder.read(json.dumps({"type": "input_audio_buffer.commit"})))
    assert len(first + second + third + rest) == 3 * 3 * len(encoded) * 2


def test_a_refused_update_says_nothing_about_the_audio() -> None:
    decoder = RealtimeDecoder(Config)
    with pytest.raises(Undecodable):
        decoder.read(update("audio/pcmu", max_output_tokens=-1))
    pcm = tone(0.1, 24_000).tobytes()
    assert pcm_of(decoder.read(frame(pcm))) == pcm


def test_a_form_ends_where_the_next_begins() -> None:
    decoder = RealtimeDecoder(Config)
    encoded, pcm = g711.encode(tone(0.2), "g711_alaw"), tone(0.2, 24_000).tobytes()
    decoder.read(update("audio/pcma"))
    first = pcm_of(decoder.read(frame(encoded)))
    first += pcm_of(decoder.read(update("audio/pcm")))
    assert len(first) == 3 * len(encoded) * 2
    assert pcm_of(decoder.read(frame(pcm))) == pcm


def test_what_is_cleared_is_not_heard_later() -> None:
    decoder = RealtimeDecoder(lambda: holds("audio/pcmu"))
    decoder.read(frame(g711.encode(tone(0.05), "g711_ulaw")))
    assert pcm_of(decoder.read(json.dumps({"type": "input_audio_buffer.clear"}))) == b""
    assert pcm_of(decoder.read(json.dumps({"type": "input_audio_buffer.commit"}))) == b""


def test_a_form_of_another_dialect_s_session_is_shown_as_the_usual_one() -> None:
    """An observer reads a session of whatever dialect."""
    decoder = RealtimeDecoder(lambda: holds("pcm_f32le"))
    pcm = tone(0.1, 24_000).tobytes()
    assert pcm_of(decoder.read(frame(pcm))) == pcm
