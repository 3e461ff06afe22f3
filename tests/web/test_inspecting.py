"""The routes that the sessions pages read: who may, and what they are told."""

from __future__ import annotations

import io
import json
import wave
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from antiphon.events.conformance.cases.evolving import Whispered
from antiphon.events.segments.log import SegmentLog
from antiphon.events.units import Samples
from antiphon.events.vocabulary import CommandRefused, ImageReceived
from antiphon.replay.lines import QUIET
from antiphon.replay.recording import write
from antiphon.replay.sound import write_conversation
from antiphon.web.inspecting.routes import EFFECTS_WITHIN
from tests.replay.calls import Call, tone
from tests.serving import RunningServer, running

from .wire import wire

MS = 24
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("inspecting") / "data") as server:
        yield server


def store(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda call: call(), slow_limit=10**9)


def called(server: RunningServer, session: str, *, over: bool = True) -> Call:
    """A call that was recorded elsewhere and lies in the server's store."""
    call = Call(store(server), session)
    call.hear(500, tone(400 * MS))
    call.answer(900)
    call.speak(1_000, tone(2_000 * MS, 700))
    call.sent(1_200, 2_000 * MS, first_ms=1_100)
    call.heard(1_900, 700)
    call.end_answer(2_000, outcome="cancelled", reason="turn_detected")
    call.truncate(2_010, 700)
    if over:
        call.hang_up(3_000)
    return call


def ask(server: RunningServer, path: str, **options: Any) -> Any:
    answer = server.get(f"/api/logs{path}", **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lines(server: RunningServer, path: str, most: int | None = None) -> list[dict[str, Any]]:
    """The stream's lines: all of them, or so many."""
    got: list[dict[str, Any]] = []
    with (
        httpx.Client(trust_env=False, timeout=10) as client,
        client.stream("GET", f"{server.base}/api/logs{path}") as answer,
    ):
        for line in answer.iter_lines():
            if line:
                got.append(json.loads(line))
            if len(got) == most:
                break
    return got


def test_the_list_is_newest_first_and_goes_on_where_it_stopped(server: RunningServer) -> None:
    for session in ("sess_list1", "sess_list2", "sess_list3"):
        called(server, session)
    first = ask(server, "?search=sess_list&limit=2")
    assert [row["session"] for row in first["sessions"]] == ["sess_list3", "sess_list2"]
    rest = ask(server, f"?search=sess_list&limit=2&before={first['next']}")
    assert [row["session"] for row in rest["sessions"]] == ["sess_list1"]
    assert rest["next"] is None
    row = rest["sessions"][0]
    assert (row["mode"], row["responses"], row["ended"], row["live"]) == ("duplex", 1, "client", False)


async def test_a_session_is_found_by_what_was_said_in_it(server: RunningServer) -> None:
    async with wire(server) as client:
        created = await client.next("session.created")
        content = [{"type": "input_text", "text": "Where did the heron land?"}]
        item = {"type": "message", "role": "user", "content": content}
        await client.send({"type": "conversation.item.create", "item": item})
        await client.next("conversation.item.done")
        [found] = ask(server, "?search=HERON")["sessions"]
    assert found["session"] == created["session"]["id"]
    assert "Where did the heron land?" in found["said"]
    assert ask(server, "?search=nobody-said-this")["sessions"] == []


def test_a_course_is_told_from_its_beginning_to_its_end(server: RunningServer) -> None:
    called(server, "sess_course")
    told = lines(server, "/sess_course/follow")
    assert told[-1]["over"]
    spans = {span["key"]: span for line in told for span in line["spans"]}
    assert (spans["resp_1"]["from_ms"], spans["resp_1"]["heard_ms"], spans["resp_1"]["to_ms"]) == (
        1_100,
        1_800,
        3_100,
    )
    assert [label for line in told for *_, label in line["marks"]][-1] == "closed: client"


def test_what_comes_is_told_as_it_comes(server: RunningServer) -> None:
    call = called(server, "sess_live", over=False)
    seen: list[dict[str, Any]] = []
    going_on = True
    with (
        httpx.Client(trust_env=False, timeout=10) as client,
        client.stream("GET", f"{server.base}/api/logs/sess_live/follow") as answer,
    ):
        for line in answer.iter_lines():
            seen.append(json.loads(line))
            if seen[-1]["caught_up"] and going_on:
                going_on = False
                call.hang_up(4_000)
    assert not seen[0]["over"]
    assert seen[-1]["over"]
    assert seen[-1]["until_ms"] == 4_000


def test_rows_are_those_that_matter_or_all_and_each_knows_its_cause(server: RunningServer) -> None:
    called(server, "sess_rows")
    everything = ask(server, "/sess_rows/events?all=1&limit=500")
    assert [row["seq"] for row in everything] == list(range(len(everything)))
    frequent = [row for row in everything if row["type"] in QUIET]
    some = ask(server, "/sess_rows/events?limit=3")
    assert frequent
    assert some == [row for row in everything if row not in frequent][:3]
    last = ask(server, f"/sess_rows/events?from={len(everything) - 1}")
    assert [row["type"] for row in last] == ["SessionClosed"]
    assert ask(server, "/sess_rows/events?from=9999") == []


async def test_an_event_names_what_led_to_it_and_what_came_of_it(server: RunningServer) -> None:
    async with wire(server) as client:
        session = (await client.next("session.created"))["session"]["id"]
        await client.manual()
        await client.append(tone(200 * MS))
        await client.send({"type": "input_audio_buffer.commit"})
        await client.send({"type": "response.create"})
        await client.next("response.done")
    rows = ask(server, f"/{session}/events?limit=500")
    caused = next(row for row in rows if row["cause"] is not None)
    told = ask(server, f"/{session}/events/{caused['seq']}")
    assert told["event"]["type"] == caused["type"]
    assert told["causes"][0]["seq"] == caused["cause"]
    of_cause = ask(server, f"/{session}/events/{caused['cause']}")
    assert caused["seq"] in [row["seq"] for row in of_cause["effects"]]
    assert server.get(f"/api/logs/{session}/events/99999").status_code == 404


def test_the_state_is_what_was_known_after_an_event(server: RunningServer) -> None:
    called(server, "sess_state")
    rows = ask(server, "/sess_state/events?all=1&limit=500")
    ended = next(row["seq"] for row in rows if row["type"] == "ResponseEnded")
    before, after = (ask(server, f"/sess_state/state?at={at}") for at in (ended - 1, ended))
    assert before["state"]["played"][0].get("ended") is None
    assert after["state"]["played"][0]["ended"] is True
    assert server.get("/api/logs/sess_state/state?at=9999").status_code == 404


def test_sound_is_that_of_the_recording_from_any_point(server: RunningServer) -> None:
    call = called(server, "sess_sound")
    whole = io.BytesIO()
    write_conversation(call.log, call.session, whole)
    wanted = _frames(whole.getvalue())[900 * MS * 4 : 1_900 * MS * 4]
    got = server.get("/api/logs/sess_sound/sound?from_ms=900&to_ms=1900")
    assert got.headers["content-type"] == "audio/wav"
    assert _frames(got.content) == wanted
    generated = server.get("/api/logs/sess_sound/sound?from_ms=900&to_ms=3500&generated=1")
    assert len(_frames(generated.content)) == (3_100 - 900) * MS * 4
    assert len(server.get("/api/logs/sess_sound/peaks?from_ms=0&to_ms=3000&columns=30").content) == 90


def _frames(contents: bytes) -> bytes:
    with wave.open(io.BytesIO(contents)) as read:
        return read.readframes(read.getnframes())


def test_what_is_downloaded_is_the_recording(server: RunningServer) -> None:
    call = called(server, "sess_taken")
    exported = io.BytesIO()
    write(call.log, call.session, exported)
    with httpx.Client(trust_env=False) as client:
        got = client.post(f"{server.base}/api/logs/sess_taken/download", data={"api_key": ""})
    assert got.content == exported.getvalue()
    assert "sess_taken.antiphon.zip" in got.headers["content-disposition"]
    assert "manifest.json" in zipfile.ZipFile(io.BytesIO(got.content)).namelist()


def test_erased_sound_is_gone_and_the_rest_is_not(server: RunningServer) -> None:
    called(server, "sess_erased")
    talking = called(server, "sess_talking", over=False)
    with httpx.Client(trust_env=False) as client:
        for session, status in (("sess_erased", 200), ("sess_talking", 409), ("sess_nobody", 404)):
            assert client.delete(f"{server.base}/api/logs/{session}/audio").status_code == status
    assert ask(server, "/sess_erased")["erased"]
    assert server.get("/api/logs/sess_erased/sound?from_ms=0&to_ms=3000").status_code == 410
    assert not any(server.get("/api/logs/sess_erased/peaks?columns=10").content)
    assert ask(server, "/sess_erased/events?limit=5")
    talking.hang_up(5_000)


def test_a_damaged_log_is_shown_as_far_as_it_is_sound(server: RunningServer) -> None:
    call = called(server, "sess_hurt", over=False)
    for k in range(40):
        call.heard(2_100 + k, 700)
    call.log.release(call.lease)
    [path] = server.data.glob("sessions/*/sess_hurt/0/events.log")
    hurt = bytearray(path.read_bytes())
    hurt[len(hurt) // 2] ^= 0xFF
    path.write_bytes(hurt)
    told = lines(server, "/sess_hurt/follow")
    assert "damaged" in told[-1]["damage"]
    assert ask(server, "/sess_hurt/events?limit=3")
    [row] = ask(server, "?search=sess_hurt")["sessions"]
    assert (row["damaged"], row["ended"]) == (True, "corrupt")


@pytest.mark.parametrize(
    "path",
    ["?limit=0", "?limit=x", "?before=-1", "/sess_rows/events?limit=501", "/sess_rows/sound?from_ms=0&to_ms=60001",
     "/sess_rows/peaks?columns=5000", "/a%20b/events"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(server: RunningServer, path: str) -> None:
    refused = server.get(f"/api/logs{path}")
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"]["code"] in ("invalid_value", "invalid_session_id")


ROUTES = [
    ("GET", ""), ("GET", "/s"), ("GET", "/s/follow"), ("GET", "/s/events"), ("GET", "/s/events/1"),
    ("GET", "/s/state"), ("GET", "/s/peaks"), ("GET", "/s/sound"), ("GET", "/s/images/1"),
    ("POST", "/s/download"), ("DELETE", "/s/audio"),
]  # fmt: skip


@pytest.mark.parametrize(("operators", "status"), [("", 403), ("watching", 401)])
def test_nobody_looks_in_without_an_operators_key(tmp_path: Path, operators: str, status: int) -> None:
    env = {"ANTIPHON_KEYS": "talking", "ANTIPHON_OPERATOR_KEYS": operators}
    with running(tmp_path / "data", env=env) as server, httpx.Client(trust_env=False) as client:
        call = called(server, "s")
        for method, path in ROUTES:
            for headers in ({}, {"authorization": "Bearer talking"}):
                refused = client.request(method, f"{server.base}/api/logs{path}", headers=headers)
                assert refused.status_code == status, (method, path)
        if operators:
            keyed = {"authorization": f"Bearer {operators}"}
            assert client.get(f"{server.base}/api/logs", headers=keyed).status_code == 200
            taken = client.post(f"{server.base}/api/logs/s/download", data={"api_key": operators})
            assert taken.status_code == 200
        assert "watching" not in server.log()
        assert not call.log.head(call.session).erased


def test_another_page_cannot_have_the_browser_erase(server: RunningServer) -> None:
    called(server, "sess_foreign")
    with httpx.Client(trust_env=False) as client:
        headers = {"origin": "https://evil.example"}
        refused = client.delete(f"{server.base}/api/logs/sess_foreign/audio", headers=headers)
    assert refused.status_code == 403
    assert not ask(server, "/sess_foreign")["erased"]


def test_an_image_is_shown_as_it_came(server: RunningServer) -> None:
    call = called(server, "sess_seen", over=False)
    seq = call.say(2_500, ImageReceived(media_type="image/png", at_sample=Samples(0)), PNG)
    call.hang_up(3_000)
    shown = server.get(f"/api/logs/sess_seen/images/{seq}")
    assert (shown.content, shown.headers["content-type"]) == (PNG, "image/png")
    nothing = server.get("/api/logs/sess_seen/images/0")
    assert (nothing.status_code, nothing.json()["error"]["code"]) == (404, "not_found")


def test_who_comes_back_is_told_nothing_twice(server: RunningServer) -> None:
    """The server knows nothing of the session yet: it was started again, or is another process."""
    called(server, "sess_back")
    told = lines(server, "/sess_back/follow?from=6")
    whole = lines(server, "/sess_back/follow")
    for members in ("notable", "marks"):
        again = [one for line in told for one in line[members]]
        everything = [one for line in whole for one in line[members]]
        assert again == [one for one in everything if (one if members == "notable" else one[0]) >= 6]
    assert told[-1]["next_seq"] == whole[-1]["next_seq"]


def test_an_id_that_is_used_again_shows_its_new_life_and_nothing_of_the_old(server: RunningServer) -> None:
    called(server, "sess_again")
    assert lines(server, "/sess_again/follow")[-1]["until_ms"] == 3_000
    again = Call(store(server), "sess_again")
    again.hear(500, tone(200 * MS, 300))
    again.hang_up(900)
    rows = ask(server, "/sess_again/events?all=1")
    assert [row["type"] for row in rows] == [
        "WriterOpened",
        "SessionOpened",
        "InputAppended",
        "SessionClosed",
    ]
    assert lines(server, "/sess_again/follow")[-1]["until_ms"] == 900
    whole = io.BytesIO()
    write_conversation(again.log, again.session, whole)
    assert server.get("/api/logs/sess_again/sound?to_ms=500").content == whole.getvalue()
    assert ask(server, "/sess_again/state")["after"] == 3
    assert ask(server, "/sess_again?life=1")["lives"] == 2


@pytest.mark.parametrize(
    "path", ["", "/follow", "/events", "/events/1", "/state", "/peaks", "/sound", "/images/1", "/download"]
)
def test_whoever_is_shown_one_life_is_told_of_no_other(server: RunningServer, path: str) -> None:
    if "sess_two" not in str([row["session"] for row in ask(server, "?search=sess_two")["sessions"]]):
        called(server, "sess_two")
        called(server, "sess_two")
    with httpx.Client(trust_env=False) as client:
        method = "POST" if path == "/download" else "GET"
        refused = client.request(method, f"{server.base}/api/logs/sess_two{path}?life=0")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "other_life")


def test_without_a_moment_the_state_is_that_after_the_last_event(server: RunningServer) -> None:
    call = called(server, "sess_last")
    told = ask(server, "/sess_last/state")
    assert told["after"] == call.log.head(call.session).next_seq - 1
    assert told["state"]["phase"] == "closed"


def test_a_state_that_this_version_cannot_know_is_not_made_up(server: RunningServer) -> None:
    call = called(server, "sess_newer", over=False)
    whispered = call.say(2_500, Whispered(words="no"))
    call.hang_up(3_000)
    assert ask(server, f"/sess_newer/state?at={whispered - 1}")["after"] == whispered - 1
    for at in (whispered, whispered + 1):
        refused = server.get(f"/api/logs/sess_newer/state?at={at}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unknown_critical_event")
    assert ask(server, f"/sess_newer/events/{whispered}")["event"]["type"] == "Whispered"


def test_causes_are_found_however_far_back_they_lie(server: RunningServer) -> None:
    call = called(server, "sess_far", over=False)
    chain = [call.say(2_100, CommandRefused(code="first", message="", attachment=1))]
    for k in range(3):
        for _ in range(EFFECTS_WITHIN // 2 if k else EFFECTS_WITHIN + 10):
            call.heard(2_100, 700)
        chain.append(
            call.say(2_200, CommandRefused(code=f"then_{k}", message="", attachment=1), cause=chain[-1])
        )
    told = ask(server, f"/sess_far/events/{chain[-1]}")
    assert [row["seq"] for row in told["causes"]] == chain[-2::-1]
    [effect] = ask(server, f"/sess_far/events/{chain[1]}")["effects"]
    assert effect["seq"] == chain[2]
    call.hang_up(3_000)


def test_a_session_with_a_long_id_can_be_opened(server: RunningServer) -> None:
    session = "sess_" + "a" * 100
    called(server, session)
    assert ask(server, f"/{session}")["session"] == session
    assert server.get(f"/api/sessions/{session}").status_code == 404


def test_who_was_told_more_by_another_process_is_not_told_it_again(server: RunningServer) -> None:
    call = called(server, "sess_ahead", over=False)
    head = call.log.head(call.session).next_seq
    lines(server, "/sess_ahead/follow", most=1)
    told: list[int] = []
    with (
        httpx.Client(trust_env=False, timeout=10) as client,
        client.stream("GET", f"{server.base}/api/logs/sess_ahead/follow?from={head + 1}") as answer,
    ):
        for k, line in enumerate(answer.iter_lines()):
            told += json.loads(line)["notable"]
            if not k:
                call.heard(2_100, 700)
                call.heard(2_200, 700)
                call.hang_up(3_000)
    assert told == [head + 1, head + 2]
