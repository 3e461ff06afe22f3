"""Half-duplex calls over a real port: a real voice detector, and a model that says what its script says."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import SessionConfigured
from antiphon.media.wav import read_wav
from antiphon.replay.half_duplex.folder import Folder
from antiphon.replay.verify import verify
from tests.serving import RunningServer, running

from .phone import COLD_START_S, PLAYS_S, Phone, of, phone, question, silence, sound
from .wire import wire

SCRIPT = Path(__file__).with_name("half_duplex_script.toml")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("half_duplex")
    config = folder / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


def same(server: RunningServer, name: str) -> bool:
    """Whether a call, projected again, gives the frames that its client was sent."""
    log = SegmentLog(server.data, deliver=lambda answer: answer())
    return verify(log, SessionId(name)).same


# --- a call -----------------------------------------------------------------------------------------------


async def test_a_call_from_its_first_frame_to_its_last(server: RunningServer) -> None:
    async with phone(server, "hdx_whole") as client:
        assert await client.next() == {"type": "queue_done"}
        prepared = await client.begin(session={"timeout_s": 90})
        assert prepared == {
            "type": "prepared",
            "session_id": "hdx_whole",
            "timeout_s": 90,
            "recording_session_id": "hdx_whole",
        }
        frames = await client.ask()
        await client.send({"type": "stop"})
        assert await client.next() == {"type": "stopped", "session_id": "hdx_whole"}
        with pytest.raises(ConnectionClosed) as closed:
            await client.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000
    assert [one["speaking"] for one in of("vad_state", frames)] == [True, False]
    order = list(dict.fromkeys(frame["type"] for frame in frames))
    assert order == ["vad_state", "generating", "chunk", "turn_done"]
    assert 800 < of("generating", frames)[0]["speech_duration_ms"] < 1_700
    assert of("turn_done", frames) == [{"type": "turn_done", "turn_index": 1, "text": "Paris, I think."}]
    assert same(server, "hdx_whole")


async def test_an_answer_comes_in_chunks_of_words_and_of_sound(server: RunningServer) -> None:
    async with phone(server, "hdx_chunks") as client:
        await client.begin()
        chunks = of("chunk", await client.ask())
    assert [one["chunk_index"] for one in chunks] == list(range(len(chunks)))
    assert "".join(one["text_delta"] or "" for one in chunks) == "Paris, I think."
    heard = sound(chunks)
    assert len(heard) == 24 * 300
    assert 0.01 < np.abs(heard).max() <= 1
    assert sum(one["duration_ms"] for one in chunks) == 300
    assert {one["audio_sample_rate"] for one in chunks} == {24_000}
    *_, last = chunks
    assert (last["is_final"], last["text_delta"], last["audio_data"]) == (True, None, None)
    assert not any(one["is_final"] for one in chunks[:-1])


async def test_a_call_in_writing_has_no_sound(server: RunningServer) -> None:
    async with phone(server, "hdx_written") as client:
        await client.begin(tts={"enabled": False})
        chunks = of("chunk", await client.ask())
    assert {one["audio_data"] for one in chunks} == {None}
    assert "".join(one["text_delta"] or "" for one in chunks) == "Paris, I think."


async def test_nothing_is_heard_while_an_answer_is_generated_or_plays(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text('[stage.scripted]\ntext = "A long story."\ntone_ms = 60000\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        async with phone(server, "hdx_echo") as client:
            await client.begin()
            await client.speak(np.concatenate([silence(0.3), question(), silence(1.0)]))
            frames = await client.until("generating")
            for _ in range(4):
                await client.speak(question())
            frames += await client.until("turn_done")
            assert [one["speaking"] for one in of("vad_state", frames)] == [True, False]
            await client.speak(question())
            await client.send({"type": "prepare"})
            frames = await client.until("error")
            assert (of("vad_state", frames), frames[-1]["code"]) == ([], "not_idle")


async def test_an_answer_that_fails_is_told_and_the_next_is_given(server: RunningServer) -> None:
    async with phone(server, "hdx_failing") as client:
        await client.begin()
        await client.ask()
        await asyncio.sleep(PLAYS_S + 0.1)
        frames = await client.ask("error")
        assert of("chunk", frames)[-1]["is_final"]
        assert (frames[-1]["error"], frames[-1]["code"]) == ("no string is", "out_of_tune")
        await asyncio.sleep(PLAYS_S)
        frames = await client.ask()
        assert frames[-1]["turn_index"] == 2, "a turn that failed is not counted"
        await asyncio.sleep(PLAYS_S + 0.1)
        await client.ask("generating")
        await client.send({"type": "stop"})
        frames = await client.until("stopped")
        assert of("chunk", frames)[-1]["is_final"]
        assert of("turn_done", frames) == []
    assert same(server, "hdx_failing")


async def test_a_call_that_is_prepared_again_counts_its_turns_anew(server: RunningServer) -> None:
    async with phone(server, "hdx_again") as client:
        await client.begin()
        assert (await client.ask())[-1]["turn_index"] == 1
        await asyncio.sleep(PLAYS_S + 0.1)
        await client.begin(tts={"enabled": False})
        await client.ask("error")
        assert (await client.ask())[-1]["turn_index"] == 1


async def test_a_call_ends_when_its_time_is_over(server: RunningServer) -> None:
    async with phone(server, "hdx_timeout") as client:
        await client.prepare(config={"session": {"timeout_s": 0.7}})
        timeout = await client.next("timeout")
        assert 0.7 <= timeout["elapsed_s"] < 5
        with pytest.raises(ConnectionClosed):
            await client.next()


# --- what is asked for ------------------------------------------------------------------------------------


async def test_what_cannot_be_done_is_told_with_prepared(server: RunningServer) -> None:
    voice = base64.b64encode(question().astype("<f4").tobytes()).decode()
    content = [
        {"type": "text", "text": "Be brief."},
        {"type": "audio", "data": voice},
        {"type": "image"},
        "and kind",
        {"type": "text", "text": "Be kind."},
    ]
    async with phone(server, "hdx_voice") as client:
        config = {"generation": {"length_penalty": 1.3, "top_p": 0.5}}
        prepared = await client.prepare(system_content=content, config=config)
        told = {one["parameter"]: one["message"] for one in prepared["not_applied"]}
    assert list(told) == ["config.generation.length_penalty", "system_content.audio"]
    assert "not used" in told["system_content.audio"]


async def test_a_reference_voice_is_given_to_a_stage_that_is_asked_whether_it_takes_it(
    tmp_path: Path,
) -> None:
    script, config = tmp_path / "script.toml", tmp_path / "antiphon.toml"
    script.write_text("confirms_config = true\n" + SCRIPT.read_text("utf-8"))
    config.write_text(f'[stage.scripted]\nscript = "{script}"\n')
    voice = base64.b64encode(question().astype("<f4").tobytes()).decode()
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        async with phone(server, "hdx_cloned") as client:
            content = [{"type": "audio", "data": "!"}, {"type": "audio", "data": voice}]
            assert "not_applied" not in await client.prepare(system_content=content)
            await asyncio.sleep(COLD_START_S)
            assert (await client.ask())[-1]["turn_index"] == 1
        log = SegmentLog(server.data, deliver=lambda answer: answer())
        events = [stored.event for stored in log.read(SessionId("hdx_cloned"))]
    settled = [event.config for event in events if isinstance(event, SessionConfigured)]
    kind, _, encoded = settled[-1].engine["ref_audio"].partition(",")
    assert kind == "data:audio/wav;base64"
    assert len(read_wav(base64.b64decode(encoded)).samples) == len(question())


async def test_the_earlier_words_for_a_prompt_and_a_voice_are_understood(server: RunningServer) -> None:
    async with phone(server, "hdx_words") as client:
        prepared = await client.prepare(system_prompt="Be brief.", ref_audio_base64="!")
        assert "not base64" in prepared["not_applied"][0]["message"]
        assert "not_applied" not in await client.prepare(system_content="Be brief.")


UNREADABLE: list[tuple[Any, str, str]] = [
    ("{", "invalid_json", "not valid JSON"),
    (b"binary", "invalid_json", "text"),
    ({"no": "type"}, "invalid_json", "type"),
    ({"type": "sing"}, "unknown_event", "Unknown type: sing"),
    ({"type": "audio_chunk", "audio_base64": "!"}, "invalid_audio", "base64"),
    ({"type": "audio_chunk", "audio_base64": base64.b64encode(bytes(31_999)).decode()}, "invalid_audio", "31999"),
    ({"type": "audio_chunk", "audio_base64": base64.b64encode(np.full(800, np.nan, "<f4").tobytes()).decode()}, "invalid_audio", "no numbers"),
    ({"type": "audio_chunk", "audio_base64": "A" * 1_048_580}, "event_too_large", "1048576"),
    ({"type": "prepare", "config": {"vad": {"threshold": 0.1}}}, "invalid_value", "config.vad.threshold"),
    ({"type": "prepare", "config": {"vad": {"threshold": "loud"}}}, "invalid_type", "config.vad.threshold"),
    ({"type": "prepare", "config": {"session": {"timeout_s": 0}}}, "invalid_value", "config.session.timeout_s"),
]  # fmt: skip


async def test_a_frame_that_cannot_be_read_is_told_and_the_call_goes_on(server: RunningServer) -> None:
    async with phone(server, "hdx_broken") as client:
        await client.begin()
        for frame, code, words in UNREADABLE:
            await client.send(frame)
            error = await client.next()
            assert (error["type"], error["code"]) == ("error", code), frame
            assert words in error["error"]
        await client.send({"type": "audio_chunk"})
        await client.send({"type": "audio_chunk", "audio_base64": ""})
        assert (await client.ask())[-1]["turn_index"] == 1


async def test_samples_beyond_full_scale_are_clipped(server: RunningServer) -> None:
    async with phone(server, "hdx_loud") as client:
        await client.begin()
        await client.speak(np.concatenate([50 * question(), silence(1.0)]))
        assert (await client.until("turn_done"))[-1]["turn_index"] == 1


async def test_audio_before_prepare_is_refused_and_the_call_goes_on(server: RunningServer) -> None:
    async with phone(server, "hdx_early") as client:
        await client.chunk(question())
        error = await client.next("error")
        assert (error["error"], error["code"]) == ("Not prepared yet", "not_prepared")
        assert await client.prepare()


# --- who may call, and under which name -------------------------------------------------------------------


NO_ROUTE = 403  # of a WebSocket, by uvicorn
NAMES = [("a b", 400), ("x" * 65, 400), ("%C3%A9", 400), ("..", 400), ("%2e%2e%2fx", NO_ROUTE)]


@pytest.mark.parametrize(("name", "status"), NAMES)
async def test_a_name_that_is_none_is_refused_and_not_changed(
    server: RunningServer, name: str, status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with phone(server, name):
            pass
    assert refused.value.response.status_code == status


async def turned_away(client: Phone, code: str) -> None:
    error = await client.next()
    assert (error["type"], error["code"]) == ("error", code)
    with pytest.raises(ConnectionClosed):
        await client.next()


async def test_a_name_belongs_to_one_call_at_a_time_and_may_be_used_again(server: RunningServer) -> None:
    async with phone(server, "hdx_twice") as first:
        await first.prepare()
        async with phone(server, "hdx_twice") as second:
            await turned_away(second, "session_exists")
        await first.send({"type": "stop"})
        await first.next("stopped")
        await first.socket.wait_closed()
    async with phone(server, "hdx_twice") as again:
        assert await again.prepare()
    log = SegmentLog(server.data, deliver=lambda answer: answer())
    assert log.lives(SessionId("hdx_twice")) == (0, 1)


async def test_a_name_belongs_to_the_key_that_used_it_first(tmp_path: Path) -> None:
    def keyed(key: str) -> dict[str, Any]:
        return {"additional_headers": {"authorization": f"Bearer {key}"}}

    env = {"ANTIPHON_KEYS": "hers,his"}
    config = tmp_path / "antiphon.toml"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    with running(tmp_path / "data", "--config", str(config), stage="scripted", env=env) as server:
        async with phone(server, "hdx_hers", **keyed("hers")) as client:
            await client.prepare()
            await client.send({"type": "stop"})
            await client.next("stopped")
            await client.socket.wait_closed()
        async with phone(server, "hdx_hers", **keyed("his")) as other:
            await turned_away(other, "session_exists")
        for key, status in (("hers", 200), ("his", 404), ("nobody", 401)):
            headers = keyed(key)["additional_headers"]
            assert server.get("/api/sessions/hdx_hers", headers=headers).status_code == status
        async with phone(server, "hdx_hers", **keyed("hers")) as client:
            assert await client.prepare()
        with pytest.raises(InvalidStatus) as refused:
            async with phone(server, "hdx_nobodys"):
                pass
        assert refused.value.response.status_code == 401


async def test_what_was_recorded_is_there_over_http(server: RunningServer) -> None:
    async with phone(server, "hdx_kept") as client:
        await client.begin()
        await client.ask()
        await client.send({"type": "stop"})
        await client.next("stopped")
    meta = server.get("/api/sessions/hdx_kept").json()
    assert (meta["app_type"], meta["config"]["vad"]["threshold"]) == ("half_duplex_audio", 0.8)
    (turn,) = server.get("/api/sessions/hdx_kept/recording").json()["turns"]
    assert turn["output"]["text"] == "Paris, I think."
    said = server.get(f"/api/sessions/hdx_kept/assets/{turn['input']['audio']}")
    assert said.headers["content-type"] == "audio/wav"
    assert read_wav(said.content).rate == 16_000
    answered = read_wav(server.get(f"/api/sessions/hdx_kept/assets/{turn['output']['audio']}").content)
    assert (answered.rate, len(answered.samples)) == (24_000, 24 * 300)
    packed = zipfile.ZipFile(io.BytesIO(server.get("/api/sessions/hdx_kept/download").content))
    assert "hdx_kept/ai_audio/turn_0.wav" in packed.namelist()
    climbing = ("%2e%2e/meta.json", "x/%2e%2e/%2e%2e/STORE", "%2Fetc/passwd", "..%5cSTORE")
    for path in ("nothing.wav", "user_audio", *climbing):
        assert server.get(f"/api/sessions/hdx_kept/assets/{path}").status_code == 404, path
    assert server.get("/api/sessions/hdx_nobody").status_code == 404
    assert server.get("/api/sessions/a%20b").status_code == 400


async def test_an_operator_listens_in_on_a_call(server: RunningServer) -> None:
    async with phone(server, "hdx_heard") as client:
        await client.begin()
        async with wire(server, "?observe=1&session_id=hdx_heard&after=0") as observer:
            await client.ask()
            frames = await observer.until("response.done")
            assert frames[0]["type"] == "session.created"
            assert frames[-1]["response"]["status"] == "completed"
            await client.send({"type": "stop"})
            with pytest.raises(ConnectionClosed):
                await observer.until("never")


async def test_a_call_whose_process_was_killed_is_ended_and_its_name_is_free_again(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    limits = "[duplex_session]\ndisconnect_grace_s = 0.5\nreaper_interval_s = 0.2\n"
    config.write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n{limits}')
    with running(tmp_path / "data", "--config", str(config), stage="scripted") as server:
        async with phone(server, "hdx_killed") as client:
            await client.begin()
            await client.speak(question())
            await client.next("vad_state")
            os.kill(server.serving_pid, signal.SIGKILL)
            await client.socket.wait_closed()
        log = SegmentLog(server.data, deliver=lambda answer: answer())
        server.wait_until(lambda: log.head(SessionId("hdx_killed")).sealed, 20)
        server.wait("/health")
        async with phone(server, "hdx_killed") as client:
            assert await client.prepare()
        recording = Folder(log, SessionId("hdx_killed"), incarnation=0)
        assert [turn.outcome for turn in recording.call.turns] == ["unanswered"]


async def test_a_model_that_listens_all_the_time_holds_no_calls(tmp_path: Path) -> None:
    with running(tmp_path / "data", stage="echo") as server:
        async with phone(server, "hdx_echo") as client:
            await turned_away(client, "unsupported")
