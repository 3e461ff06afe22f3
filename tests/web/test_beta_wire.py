"""A client of 2024 on a real port: how it is known, what it sends first, and what it is told."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from antiphon.media import g711
from tests.serving import RunningServer

from .test_openai_sdk import tone
from .wire import Wire, wire

KNOWN: list[dict[str, Any]] = [
    {"subprotocols": ["realtime", "openai-insecure-api-key.k", "openai-beta.realtime-v1"]},
    {"additional_headers": {"OpenAI-Beta": "realtime=v1"}},
    {"additional_headers": {"OpenAI-Beta": "assistants=v2, realtime=v1"}},
]
MODEL = "?model=gpt-4o-realtime-preview-2024-10-01"
FIRST = {
    "modalities": ["text", "audio"],
    "instructions": "Be brief.",
    "voice": "verse",
    "input_audio_format": "pcm16",
    "output_audio_format": "pcm16",
    "input_audio_transcription": None,
    "turn_detection": None,
    "tools": [],
    "tool_choice": "auto",
    "temperature": 0.8,
    "max_response_output_tokens": 4096,
}
"""What the console's client says when its socket opens, before it has read anything."""


def beta(server: RunningServer) -> Any:
    return wire(server, MODEL, **KNOWN[0])


async def answer(client: Wire, pcm: bytes) -> list[dict[str, Any]]:
    await client.append(pcm)
    await client.send({"type": "input_audio_buffer.commit"})
    return await client.until("response.done")


@pytest.mark.parametrize("how", KNOWN, ids=["subprotocol", "header", "header among others"])
async def test_a_client_that_says_so_is_told_by_the_beta_s_names(
    echo_server: RunningServer, how: dict[str, Any]
) -> None:
    async with wire(echo_server, MODEL, **how) as client:
        created = await client.next()
    assert created["type"] == "session.created"
    assert created["session"]["object"] == "realtime.session"
    assert created["session"]["input_audio_format"] == "pcm16"
    assert "audio" not in created["session"]


@pytest.mark.parametrize(
    "how", [{}, {"subprotocols": ["realtime"]}, {"additional_headers": {"OpenAI-Beta": "x"}}]
)
async def test_whoever_does_not_is_told_by_today_s(echo_server: RunningServer, how: dict[str, Any]) -> None:
    async with wire(echo_server, MODEL, **how) as client:
        assert (await client.next())["session"]["type"] == "realtime"


async def test_who_asks_for_duplex_gets_it_whatever_else_is_said(echo_server: RunningServer) -> None:
    async with wire(echo_server, "?duplex=1&model=m", **KNOWN[1]) as client:
        assert "server_event_seq" in await client.next()


async def test_the_browser_is_answered_with_realtime(echo_server: RunningServer) -> None:
    async with beta(echo_server) as client:
        assert client.socket.subprotocol == "realtime"


async def test_the_first_update_is_understood_and_shown_back(echo_server: RunningServer) -> None:
    async with beta(echo_server) as client:
        await client.send({"type": "session.update", "event_id": "evt_1", "session": FIRST})
        shown = (await client.next("session.updated"))["session"]
    assert {key: shown[key] for key in FIRST} == FIRST


async def test_an_exchange(echo_server: RunningServer) -> None:
    pcm = tone(1.0)
    async with beta(echo_server) as client:
        await client.send({"type": "session.update", "session": FIRST})
        await client.next("session.updated")
        frames = await answer(client, pcm)
        said = [base64.b64decode(one["delta"]) for one in frames if one["type"] == "response.audio.delta"]
        assert b"".join(said) == pcm
        item = frames[-1]["response"]["output"][0]
        assert item["content"][0]["type"] == "audio"
        await client.send(
            {
                "type": "conversation.item.truncate",
                "item_id": item["id"],
                "audio_end_ms": 200,
                "content_index": 0,
            }
        )
        assert (await client.next())["type"] == "conversation.item.truncated"
        await client.send({"type": "conversation.item.retrieve", "item_id": item["id"]})
        assert (await client.next("conversation.item.retrieved"))["item"]["content"][0]["type"] == "audio"


async def test_an_interrupted_answer_is_closed_by_the_beta_s_names(echo_server: RunningServer) -> None:
    async with beta(echo_server) as client:
        await client.send({"type": "session.update", "session": FIRST})
        await client.append(tone(1.0))
        await client.until("response.created")
        await client.send({"type": "response.cancel"})
        frames = await client.until("response.done")
    assert frames[-1]["response"]["status"] == "cancelled"
    assert [one["type"] for one in frames][-5:] == [
        "response.audio.done",
        "response.audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ]


@pytest.mark.parametrize("law", ["g711_ulaw", "g711_alaw"])
async def test_the_telephone_s_encodings_by_their_former_names(
    echo_server: RunningServer, law: g711.Law
) -> None:
    asked = {"turn_detection": None, "input_audio_format": law, "output_audio_format": law}
    encoded = g711.encode(np.frombuffer(tone(0.5), "<i2")[::3].copy(), law)
    async with beta(echo_server) as client:
        await client.send({"type": "session.update", "session": asked})
        shown = (await client.next("session.updated"))["session"]
        assert (shown["input_audio_format"], shown["output_audio_format"]) == (law, law)
        frames = await answer(client, encoded)
    said = [base64.b64decode(one["delta"]) for one in frames if one["type"] == "response.audio.delta"]
    assert len(b"".join(said)) == len(encoded)


REFUSED: list[tuple[str, Any, str, str]] = [
    ("a format", {"input_audio_format": "opus"}, "unsupported_audio_format", "session.input_audio_format"),
    ("a threshold", {"turn_detection": {"type": "server_vad", "threshold": 7}}, "invalid_value", "session.turn_detection.threshold"),
    ("a length", {"max_response_output_tokens": 0}, "invalid_value", "session.max_response_output_tokens"),
    ("a type", {"modalities": "audio"}, "invalid_type", "session.modalities"),
    ("an endless number", {"temperature": 2**70}, "invalid_value", "session"),
    ("no object", [], "invalid_type", "session"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("session", "code", "param"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
async def test_what_is_refused_is_named_as_the_client_named_it(
    echo_server: RunningServer, session: Any, code: str, param: str
) -> None:
    async with beta(echo_server) as client:
        await client.send({"type": "session.update", "event_id": "mine", "session": session})
        error = (await client.next("error"))["error"]
        assert (error["code"], error["param"], error["event_id"]) == (code, param, "mine")
        await client.send({"type": "input_audio_buffer.clear"})
        await client.next("input_audio_buffer.cleared")


async def test_who_comes_back_is_greeted_by_the_beta_s_names(echo_server: RunningServer) -> None:
    async with beta(echo_server) as client:
        session = (await client.next("session.created"))["session"]
        await client.send({"type": "session.update", "session": FIRST})
        await client.next("session.updated")
        whole = await answer(client, tone(0.5))
        client.socket.transport.abort()
    after = whole[3]["event_id"]
    query = f"?session_id={session['id']}&resume_token={session['resume_token']}&after={after}"
    async with wire(echo_server, query, **KNOWN[1]) as client:
        greeted = await client.next("session.created")
        assert (greeted["session"]["id"], greeted["session"]["resumed"]) == (session["id"], True)
        assert greeted["session"]["resume_token"] != session["resume_token"]
        assert {key: greeted["session"][key] for key in FIRST} == FIRST
        assert "audio" not in greeted["session"]
        assert await client.until("response.done") == whole[4:]


async def test_an_answer_s_length_has_its_earlier_name(echo_server: RunningServer) -> None:
    async with beta(echo_server) as client:
        await client.send({"type": "response.create", "response": {"max_response_output_tokens": 0}})
        assert (await client.next("error"))["error"]["code"] == "invalid_value"
        await client.send({"type": "response.create", "response": {"max_response_output_tokens": 7}})
        assert (await client.next("response.created"))["response"]["max_output_tokens"] == 7
