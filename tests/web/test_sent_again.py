"""What a real client was really sent is in the log as a digest, and comes out again."""

from __future__ import annotations

import socket
from pathlib import Path

from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import AudioSpoken, ClientDetached, EpochAdvanced, Event, FramesSent
from antiphon.projections.slices import slices
from antiphon.replay import sources
from antiphon.replay.verify import verify
from tests.serving import running

from .wire import wire

LONG_ANSWER = """
[[replies]]
to = "speak"

[[replies.steps]]
says = { type = "said", text = "A very long tone.", tone_ms = 100000 }

[[replies.steps]]
after_ms = 600000
says = { type = "finished" }
last = true
"""


def events(data: Path) -> list[Event]:
    log = SegmentLog(data, deliver=lambda call: call())
    return [one.event for life in sources.of_store(log) for one in log.read(life.session)]


async def test_audio_that_a_slow_client_never_got_is_named_and_the_rest_comes_out_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.toml").write_text(LONG_ANSWER)
    (tmp_path / "antiphon.toml").write_text(f'[stage.scripted]\nscript = "{tmp_path}/script.toml"\n')
    data = tmp_path / "data"
    with running(data, "--config", str(tmp_path / "antiphon.toml"), stage="scripted") as server:
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * 1024)
        narrow.connect(("127.0.0.1", server.port))
        async with wire(server, sock=narrow, max_queue=1) as call:
            await call.send({"type": "response.create"})
            server.wait_until(lambda: any(isinstance(one, AudioSpoken) for one in events(data)))
            await call.send({"type": "response.cancel"})
            server.wait_until(lambda: any(isinstance(one, EpochAdvanced) for one in events(data)))
            await call.until("response.done")
        server.wait_until(lambda: any(isinstance(one, ClientDetached) for one in events(data)))
        told = events(data)
    spoken = [one for one in told if isinstance(one, AudioSpoken)]
    withheld = [number for one in told if isinstance(one, FramesSent) for number in one.withheld]
    sent = [one for event in told if isinstance(event, FramesSent) for one in event.audio]
    deltas = sum(len(slices(one.samples)) for one in spoken)
    assert 0 < len(withheld) < deltas
    assert sent[-1].until_sample < spoken[-1].until_sample

    log = SegmentLog(data, deliver=lambda call: call())
    (life,) = sources.of_store(log)
    verdict = verify(log, life.session)
    assert verdict.same
    assert verdict.frames + len(withheld) >= deltas
