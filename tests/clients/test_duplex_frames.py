"""The client's frames against the server's own: what the one says the other reads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from antiphon.clients.duplex import DuplexClient, SessionConfig, image_data_url, presets
from antiphon.clients.duplex import events as e
from antiphon.events.vocabulary import Abilities, Config
from antiphon.projections.duplex import frames as server
from antiphon.web.duplex import frames as decoded
from antiphon.web.duplex.decode import DuplexDecoder
from antiphon.web.duplex.opening import usual_config
from antiphon.web.duplex.session import configure
from tests.clients.resuming_stub import ResumingStub, resuming_stub

OWN = {"raw", "at"}
ABLE = Abilities(stage="echo", hears="continuously")
NEVER_SENT = {
    "session.update": "the first message, checked apart",
    "session.resume": "the first message of a connection, checked with the real server",
    "input.audio.append": "the library sends raw samples",
    "input.commit": "the library commits by the public name",
    "input.cancel": "barge_in does the same and cuts what is played",
    "turn.signal": "every signal has a frame of its own",
    "conversation.item.retrieve": "for `send`",
    "conversation.item.delete": "for `send`",
    "conversation.item.truncate": "the library acknowledges",
    "output_audio_buffer.clear": "barge_in does the same",
}
"""Why no method sends these."""


def kinds(base: type[Any]) -> Iterator[type[Any]]:
    for one in base.__subclasses__():
        name = str(one.__struct_config__.tag)
        if "." in name or name == "error":
            yield one
        yield from kinds(one)


SERVER = {str(frame.__struct_config__.tag): frame for frame in kinds(server.Frame)}


def test_every_server_event_has_a_class_or_is_knowingly_raw() -> None:
    assert e.KINDS.keys() | e.RAW >= SERVER.keys()
    assert not e.KINDS.keys() & e.RAW


@pytest.mark.parametrize("name", sorted(SERVER.keys() & e.KINDS.keys()))
def test_a_class_wants_only_what_the_server_always_says_and_knows_it_by_its_name(name: str) -> None:
    said = {field.name: field for field in msgspec.structs.fields(SERVER[name])}
    for field in msgspec.structs.fields(e.KINDS[name]):
        if field.name in OWN or field.name == "type":
            continue
        if field.required:
            assert field.name in said, f"{name}.{field.name} is wanted and never said"
        elif field.name not in said:
            # Only of servers and classes that share: nothing of it may be misspelt.
            elsewhere = {one.name for frame in SERVER.values() for one in msgspec.structs.fields(frame)}
            assert field.name in elsewhere | LATER, f"{name}.{field.name} is said by nobody"


LATER = {"resume_token", "attachment_generation", "last_accepted_client_event_id", "as_of_server_event_seq"}
"""What comes with resuming."""


# --- what the client says ---------------------------------------------------------------------------------


@pytest.fixture
async def said() -> AsyncIterator[tuple[DuplexClient, ResumingStub]]:
    async with resuming_stub() as stub, DuplexClient(stub.url, heartbeat_interval_s=0.01) as one:
        yield one, stub


def decoder() -> DuplexDecoder:
    config = usual_config(ABLE, "echo")
    return DuplexDecoder(lambda: config)


async def test_every_frame_that_the_library_sends_is_read(said: tuple[DuplexClient, ResumingStub]) -> None:
    one, stub = said
    image = b"\xff\xd8\xff\xe0"
    await one.append_audio(bytes(3200), is_speech=False)
    await one.append_audio(bytes(3200), images=[image])
    await one.commit()
    await one.commit(final=True, create_response=False)
    await one.clear_input()
    await one.append_text("written")
    await one.send_text("Hello!")
    await one.cancel_response()
    await one.cancel_response("resp_1")
    await one.barge_in()
    await one.ack_playback(200, "resp_1")
    await one.ack_playback(200.5, "resp_1", "item_1", 100)
    await stub.until(lambda: bool(stub.aside))
    await one.send({"type": "session.close"})
    await stub.until(lambda: stub.accepted[-1]["type"] == "session.close")
    reading = decoder()
    sent = [*stub.accepted[1:], *stub.aside, {"type": "session.event_ack", "server_event_seq": 3}]
    for frame in sent:
        parsed = reading.parse(json.dumps(frame))
        if frame["type"] != "input_audio_buffer.append" or "video_frames" not in frame:
            reading.wishes(parsed)
        names = {field.name for field in msgspec.structs.fields(type(parsed))}
        assert frame.keys() - {"type"} <= names, frame["type"]
    every = {decoded.name_of(frame) for frame in decoded.FRAMES}
    assert {frame["type"] for frame in sent} | NEVER_SENT.keys() == every


@pytest.mark.parametrize(
    "config",
    [
        SessionConfig(),
        SessionConfig(
            instructions="Be brief.",
            ref_audio="data:audio/wav;base64,UklGRg==",
            voice="one",
            auto_response=False,
            temperature=0.7,
            overlap_policy="barge_in_on_speech",
            playback_commit_policy="ack_only",
            turn_detection={"type": "server_vad"},
            idle_timeout_s=60,
            tools=({"type": "function", "name": "now"},),
            extra_body={"return_stage_metrics": True},
        ),
        presets.cascade(),
        presets.minicpmo_4_5("data:audio/wav;base64,UklGRg=="),
        presets.personaplex(),
        presets.nemotron("Be brief."),
    ],
)
def test_every_session_is_configured_as_it_says(config: SessionConfig) -> None:
    usual: Config = usual_config(ABLE, "echo")
    asked = configure(config.to_session_payload(model="m"), usual, None, opening=True)
    assert asked.auto_response is config.auto_response
    assert asked.model == "m"
    if config.instructions is not None:
        assert asked.instructions == config.instructions
    formats = asked.echo["audio"]
    assert formats["input"]["format"]["rate"] == config.input_audio.rate
    assert formats["output"]["format"]["rate"] == config.output_audio.rate


def test_an_image_in_an_item_is_a_data_url() -> None:
    assert image_data_url(b"\xff\xd8\xff").startswith("data:image/jpeg")
