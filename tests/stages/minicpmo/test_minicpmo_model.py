"""`antiphon serve --stage minicpmo` with a tiny model, over a real port; its stage is killed in the middle of a unit."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from antiphon.cli.main import main
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import (
    AudioSpoken,
    ImageReceived,
    StageMeasured,
    StageOpened,
    TextSpoken,
    UnitSubmitted,
)
from antiphon.replay.verify import verify
from tests.serving import RunningServer, running
from tests.stages.minicpmo.calling import SECOND, closed, heard, log_of, of, talking
from tests.web.wire import wire

pytestmark = pytest.mark.minicpmo
for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "model"
    made = CliRunner().invoke(main, ["models", "make-tiny", str(folder), "--seed", "3"])
    assert made.exit_code == 0, made.output
    return folder


@pytest.fixture(scope="module")
def server(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    data = tmp_path_factory.mktemp("serving") / "data"
    with running(data, "--model", str(tiny), stage="minicpmo") as started:
        yield started


async def test_it_talks_to_a_realtime_client_in_units_of_a_second(server: RunningServer) -> None:
    async with wire(server, "?duplex=1") as client:
        session = await talking(client)
        reading = asyncio.create_task(closed(client))
        await heard(server, client, session, 12)
        await client.send({"type": "session.close"})
        await reading
    spoken: Counter[int] = Counter()
    for one in of(server, session, AudioSpoken):
        spoken[one.operation] += one.samples
    assert spoken
    assert all(samples % 960 == 0 for samples in spoken.values()), "a code is 40 ms"
    assert 24_000 in spoken.values(), "a unit's answer is a second"
    assert of(server, session, TextSpoken)
    measured = {one.name for one in of(server, session, StageMeasured)}
    assert {"first_token_ms", "token_gaps_ms", "first_audio_ms"} <= measured
    assert verify(log_of(server), SessionId(session)).same


async def test_it_is_shown_an_image_with_a_second_of_sound(server: RunningServer) -> None:
    out = io.BytesIO()
    Image.new("RGB", (320, 240), "green").save(out, "JPEG")
    frame = base64.b64encode(out.getvalue()).decode()
    async with wire(server, "?duplex=1") as client:
        session = await talking(client)
        reading = asyncio.create_task(closed(client))
        await heard(server, client, session, 1)
        await client.append(SECOND, video_frames=[frame])
        await heard(server, client, session, 2)
        await client.send({"type": "session.close"})
        await reading
    (received,) = of(server, session, ImageReceived)
    shown = [one for one in of(server, session, UnitSubmitted) if one.images]
    assert len(shown) == 1
    assert received.media_type == "image/jpeg"
    assert "minicpmo.image_left_out" not in (server.data / "logs" / "stage-model.log").read_text()
    assert verify(log_of(server), SessionId(session)).same


async def test_the_stage_is_killed_in_the_middle_of_a_unit_and_the_next_unit_works(
    server: RunningServer,
) -> None:
    async with wire(server, "?duplex=1") as client:
        session = await talking(client)
        reading = asyncio.create_task(closed(client))
        await heard(server, client, session, 4)
        before = [(one.text, one.operation) for one in of(server, session, TextSpoken)]
        await client.append(SECOND)
        os.kill(server.stage_pid("model"), signal.SIGKILL)
        await asyncio.to_thread(server.wait, "/health", 503)
        await asyncio.to_thread(server.wait, "/health", 200)
        await heard(server, client, session, 3)
        await client.send({"type": "session.close"})
        await reading
    assert before
    assert [(one.text, one.operation) for one in of(server, session, TextSpoken)][: len(before)] == before
    engines = [one.engine for one in of(server, session, StageOpened) if one.stage == "model"]
    assert len(set(engines)) == 2
    told = (server.data / "logs" / "stage-model.log").read_text()
    assert "minicpmo.primed" in told, "the new stage was told what was heard and said before"
    assert verify(log_of(server), SessionId(session)).same


async def test_what_a_client_may_not_choose_is_refused(server: RunningServer) -> None:
    async with wire(server, "?duplex=1") as client:
        session = {"extra_body": {"auto_response": True, "max_sessions": 900}}
        await client.send({"type": "session.update", "session": session})
        error = await client.next("error")
        assert "max_sessions" in error["error"]["message"]
