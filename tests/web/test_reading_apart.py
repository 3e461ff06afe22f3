"""Recorded sessions are read in threads, and never through the store that conversations are written to.

What that one has open is its own to close, at any moment; what it knows belongs to its own thread.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from antiphon.events.envelope import Stored
from antiphon.events.segments.log import SegmentLog
from antiphon.events.units import Samples
from antiphon.events.vocabulary import CommandRefused, ImageReceived
from antiphon.web.app import INSPECTING
from antiphon.web.auth import Doorkeeper
from antiphon.web.callers import HANDLERS
from antiphon.web.inspecting.catalogue import Catalogue
from antiphon.web.inspecting.desk import Desk
from antiphon.web.recordings import session_asset, session_download, session_meta, session_recording
from antiphon.web.settings import load
from tests.replay.calls import Call, tone
from tests.replay.half_duplex_calls import two_turns, written

pytestmark = pytest.mark.filterwarnings("ignore::litestar.exceptions.LitestarDeprecationWarning")

MS = 24
PNG = b"\x89PNG\r\n\x1a\n"
RECORDINGS = (session_meta, session_recording, session_asset, session_download)


class Pages:
    """A server that has no store to write to."""

    def __init__(self, data: Path) -> None:
        self.settings = load(flags={"data": str(data)}, environment={})
        self.doors = Doorkeeper(self.settings)
        self.recorded = SegmentLog(data, deliver=lambda call: call())
        self.desk, self.catalogue = Desk(self.recorded), Catalogue(self.recorded)


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    return Pages(tmp_path)


@pytest.fixture
def client(pages: Pages) -> Iterator[TestClient[Litestar]]:
    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        yield
        pages.desk.close()

    app = Litestar(
        [*INSPECTING, *RECORDINGS], lifespan=[lifespan], exception_handlers=HANDLERS, openapi_config=None
    )
    app.state.server = pages
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def test_pages_need_no_store_that_is_written_to(client: TestClient[Litestar], tmp_path: Path) -> None:
    call = Call(SegmentLog(tmp_path, deliver=lambda call: call()), "sess_live")
    call.hear(500, tone(400 * MS))
    seen = call.say(600, ImageReceived(media_type="image/png", at_sample=Samples(0)), PNG)
    for path in (
        "",
        "/sess_live",
        "/sess_live/events",
        "/sess_live/events/2",
        "/sess_live/state",
        "/sess_live/peaks",
    ):
        assert client.get(f"/api/logs{path}").status_code == 200, path
    assert len(client.get("/api/logs/sess_live/sound?to_ms=500").content) == 44 + 500 * MS * 4
    assert client.get(f"/api/logs/sess_live/images/{seen}").content == PNG
    assert client.post("/api/logs/sess_live/download").status_code == 200
    assert client.delete("/api/logs/sess_live/audio").status_code == 409
    call.hang_up(700)
    assert client.get("/api/logs/sess_live/follow").text.endswith("\n")
    assert client.delete("/api/logs/sess_live/audio").status_code == 200


def test_recordings_need_none_either(client: TestClient[Litestar], tmp_path: Path) -> None:
    call = two_turns()
    written(call, SegmentLog(tmp_path, deliver=lambda call: call()))
    at = f"/api/sessions/{call.state.id}"
    assert client.get(at).json()["session_id"] == call.state.id
    assert len(client.get(f"{at}/recording").json()["turns"]) == 2
    for path in ("/assets/user_audio/000.wav", "/download"):
        assert client.get(f"{at}{path}").status_code == 200


def test_whoever_erases_does_not_wait_for_a_list_that_is_being_made(
    client: TestClient[Litestar], pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call(SegmentLog(tmp_path, deliver=lambda call: call()), "sess_over")
    call.hear(500, tone(400 * MS))
    call.hang_up(600)
    begun, erased = threading.Event(), threading.Event()
    in_time: list[bool] = []
    holdings = pages.recorded.holdings

    def slow() -> Iterator[object]:
        begun.set()
        in_time.append(erased.wait(10))
        return holdings()

    monkeypatch.setattr(pages.recorded, "holdings", slow)
    listing = threading.Thread(target=pages.catalogue.listed, args=("", 0, 10))
    listing.start()
    assert begun.wait(10)
    assert client.delete("/api/logs/sess_over/audio").status_code == 200
    erased.set()
    listing.join(10)
    assert in_time == [True]


def test_a_log_is_not_walked_anew_for_every_cause(
    client: TestClient[Litestar], pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call(SegmentLog(tmp_path, deliver=lambda call: call()), "sess_led")
    last = 1
    for k in range(10):
        last = call.say(k, CommandRefused(code=f"then_{k}", message="", attachment=1), cause=last)
    call.hang_up(20)
    walked = []
    read = pages.recorded.read

    def counted(*of: Any, **where: Any) -> Iterator[Stored]:
        walked.append(where)
        return read(*of, **where)

    monkeypatch.setattr(pages.recorded, "read", counted)
    told = client.get(f"/api/logs/sess_led/events/{last}").json()
    assert [row["seq"] for row in told["causes"]] == list(range(last - 1, 0, -1))
    assert len(walked) == 1
