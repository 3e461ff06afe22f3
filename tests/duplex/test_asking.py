"""What a stage can be asked beyond audio, from the client's frame to the engine in its process and back."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

from antiphon.actors.stages.scripted.units import Unit

from .conversing import AUTO, LISTENS, UNIT_MS, call, ends, model, speaks, verified

JPEG = base64.b64encode(
    b"\xff\xd8" + struct.pack(">BBHBHHB", 0xFF, 0xC0, 11, 8, 48, 64, 1) + bytes(8)
).decode()
"""64 by 48, by its headers."""


async def test_what_was_heard_before_an_update_runs_by_the_old_configuration_and_the_rest_by_the_new(
    tmp_path: Path,
) -> None:
    """Case 21, with a stage that confirms: the update stands between the units in the order it was sent."""
    units = [ends("{n}: {instructions}.")] * 3
    slowly = ({"to": "configure", "takes_ms": 100},)
    with model(tmp_path, *units, confirms_config=True, replies=slowly) as server:
        async with call(server) as client:
            await client.open(instructions="old", **AUTO)
            await client.say(1_000)
            await client.send({"type": "session.update", "session": {"instructions": "new"}})
            await client.say(2_000)
            while len(client.statuses) < 2:
                await client.next("response.done")
            await client.close()
        assert client.transcripts == ["1: old.", "2: new."]
        updated = [
            (frame["config_generation"], frame["session"]["instructions"])
            for frame in client.of("session.updated")
        ]
        assert updated == [(0, "old"), (1, "new")]
        verified(server, [client.session])


async def test_an_update_that_the_stage_refuses_changes_nothing(tmp_path: Path) -> None:
    units = [ends("{instructions}.")] * 2
    with model(tmp_path, *units, confirms_config=True, voices=("alto",)) as server:
        async with call(server) as client:
            before = await client.open(instructions="old", voice="alto", **AUTO)
            update = {"instructions": "new", "voice": "tenor"}
            await client.send({"type": "session.update", "session": update, "event_id": "worse"})
            error = (await client.next("error"))["error"]
            assert (error["code"], error["event_id"]) == ("no_voice", "worse")
            await client.say(1_000)
            await client.next("response.done")
            after = await client.open(metadata={"still": "here"})
            await client.close()
        assert client.transcripts == ["old."]
        assert (after["instructions"], after["voice"]) == (before["instructions"], before["voice"])
        verified(server, [client.session])


async def test_a_session_that_the_stage_will_not_open_is_told_why_and_takes_no_place(tmp_path: Path) -> None:
    with model(tmp_path, ends(), voices=("alto",), max_sessions=1) as server:
        async with call(server) as client:
            await client.open(voice="tenor", **AUTO)
            error = (await client.next("error"))["error"]
            assert error["code"] == "no_voice"
            await client.next("session.closed")
        server.wait_until(lambda: server.get("/health").json()["sessions"] == 0)
        async with call(server) as client:
            await client.open(voice="alto", **AUTO)
            await client.say(1_000)
            await client.next("response.done")
            await client.close()
        assert client.statuses == ["completed"]


async def test_images_come_with_the_unit_they_were_seen_in(tmp_path: Path) -> None:
    with model(tmp_path, *[ends("{n}: {images}.")] * 3, sees=True) as server:
        async with call(server) as client:
            await client.open(**AUTO)
            await client.say(1_000, UNIT_MS, video_frames=[JPEG, JPEG])
            await client.say(1_000, UNIT_MS)
            await client.say(1_000, UNIT_MS, video_frames=[JPEG])
            while len(client.statuses) < 3:
                await client.next("response.done")
            await client.close()
        assert client.transcripts == ["1: 2.", "2: 0.", "3: 1."]
        verified(server, [client.session])


async def test_the_model_calls_a_function_of_the_clients(tmp_path: Path) -> None:
    calls = Unit(does="call", call_id="call_7", name="weather", arguments='{"at":"home"}')
    with model(tmp_path, LISTENS, calls, calls_tools=True) as server:
        async with call(server) as client:
            await client.open(tools=[{"type": "function", "name": "weather", "parameters": {}}], **AUTO)
            await client.say(1_000, 2 * UNIT_MS)
            await client.next("response.done")
            await client.close()
        [done] = client.of("response.function_call_arguments.done")
        assert (done["call_id"], done["arguments"]) == ("call_7", '{"at":"home"}')
        [item] = [
            f["item"] for f in client.of("response.output_item.done") if f["item"]["type"] == "function_call"
        ]
        assert (item["name"], item["status"]) == ("weather", "completed")
        assert client.statuses == ["completed"]
        verified(server, [client.session])


async def test_the_client_breaks_in_and_what_is_left_of_the_unit_under_way_reaches_nobody(
    tmp_path: Path,
) -> None:
    """It ends late, behind the first one of the next moment."""
    begins = {"says": {"type": "said", "text": "second, ", "tone_ms": UNIT_MS}}
    late = {"says": {"type": "said", "text": "too late."}, "after_ms": 400, "late": True, "last": True}
    second = {"to": "unit", "nth": 2, "steps": [begins, late]}
    units = [speaks("first, "), LISTENS, ends("next: {loudest}."), LISTENS]
    with model(tmp_path, *units, replies=[second]) as server:
        async with call(server) as client:
            await client.open(**AUTO)
            await client.say(1_000, 2 * UNIT_MS)
            while len(client.of("response.output_audio.delta")) < 2:
                await client.next("response.output_audio.delta")
            await client.send({"type": "barge_in"})
            await client.next("response.done")
            await client.say(3_000)
            await client.next("response.done")
            await client.close()
        assert client.statuses == ["cancelled", "completed"]
        assert client.transcripts == ["first, second, ", "next: 3000."]
        assert [frame["epoch"] for frame in client.of("response.created")] == [0, 1]
        verified(server, [client.session])
