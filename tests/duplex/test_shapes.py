"""Whole conversations over a real port, with a paced model that hears in units in a process of its own.

Nothing here waits for time to pass: a client sends, and reads until what it waits for has come.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.actors.stages.scripted.units import Unit
from antiphon.projections.summary import of_response, of_session

from .conversing import (
    AUTO,
    COMPUTE_MS,
    LISTENS,
    UNIT_MS,
    Call,
    call,
    ends,
    measures_of,
    model,
    speaks,
    verified,
)

FIRST_TOKEN_MS, GAPS_US = 7, (4_000, 5_000, 6_000)


async def test_the_model_decides_about_three_distinct_inputs_and_the_drain_is_bounded(
    tmp_path: Path,
) -> None:
    """Nobody asks for anything: answers begin when the model begins, and end with its turn."""
    timed = {"first_token_ms": FIRST_TOKEN_MS, "gaps_us": GAPS_US}
    units = (LISTENS, ends(**timed), LISTENS, ends(**timed), LISTENS, speaks(**timed), speaks(), ends())
    with model(tmp_path, *units) as server:
        async with call(server) as client:
            await client.open(**AUTO)
            for level in (1_000, 2_000):
                await client.say(level, 2 * UNIT_MS)
                await client.next("response.done")
            await client.say(3_000, 2 * UNIT_MS)
            # Drained: the model goes on over silence that the server gives it, until its turn ends.
            await client.next("response.done")
            assert await client.pause() == [client.heard[-2]]  # rate_limits.updated, and nothing more
            await client.close()

        assert client.transcripts == [
            "heard 1000.",
            "heard 2000.",
            "heard 3000. heard 0. heard 0.",
        ]
        assert client.statuses == ["completed"] * 3
        assert len(set(client.responses)) == 3
        assert [client.audio_ms(response) for response in client.responses] == [UNIT_MS, UNIT_MS, 3 * UNIT_MS]
        assert [frame["response"]["metadata"]["reason"] for frame in client.of("response.listen")] == (
            ["model_listen"] * 3
        )
        assert {frame.get("epoch", 0) for frame in client.heard} == {0}
        verified(server, [client.session])
        _its_answers_were_measured(server, client)


def _its_answers_were_measured(server: Any, client: Call) -> None:
    measures = measures_of(server, client.session)
    assert [answer.response for answer in measures.answers] == client.responses
    for answer in measures.answers:
        clocks = of_response(answer)
        assert clocks.stage.first_token_ms == FIRST_TOKEN_MS
        assert clocks.stage.between_tokens_ms is not None
        assert (clocks.stage.between_tokens_ms.count, clocks.stage.per_token_ms) == (3, 5.0)
        assert clocks.server.asked_to_first_audio_ms is not None
        assert COMPUTE_MS <= clocks.server.asked_to_first_audio_ms <= (clocks.server.asked_to_sent_ms or 0)
    session = of_session(measures)
    assert session.responses == {"completed": 3}
    assert session.stage["between_tokens_ms"].count == 9


async def test_an_answer_is_required_of_two_turns(tmp_path: Path) -> None:
    """The client commits, and asks: what it said before that leaves the model no choice but to listen."""
    units = (
        [speaks("no choice ")] * 2
        + [ends("first: {loudest}.")]
        + [speaks("none ")]
        + [ends("second: {loudest}.")]
    )
    with model(tmp_path, *units) as server:
        async with call(server) as client:
            await client.open()
            for level, ms in ((1_000, 2 * UNIT_MS + UNIT_MS // 2), (2_000, 2 * UNIT_MS)):
                await client.say(level, ms)
                await client.commit()
                assert not [frame for frame in await client.pause() if "response_id" in frame]
                await client.send({"type": "response.create"})
                await client.next("response.done")
            await client.close()

        assert client.transcripts == ["first: 1000.", "second: 2000."]
        assert client.statuses == ["completed"] * 2
        kinds = [frame["type"] for frame in client.heard]
        assert kinds.index("input_audio_buffer.committed") < kinds.index("response.created")
        assert len(client.of("input_audio_buffer.committed")) == 2
        verified(server, [client.session])


async def _admitted(server: Any) -> tuple[bool, dict[str, Any]]:
    """Whether somebody more is taken in; what that was told first."""
    async with call(server) as client:
        await client.send({"type": "session.update", "session": AUTO})
        first = await client.next()
        if first["type"] != "error":
            await client.next("session.updated")
            await client.say(9_000)
            await client.next("response.done")
            await client.send({"type": "session.close"})
            return True, first
        with pytest.raises(ConnectionClosed):
            await client.next()
        assert client.socket.close_code == 1013
        return False, first


async def test_two_sessions_are_admitted_and_apart_a_third_is_not_until_one_has_really_left(
    tmp_path: Path,
) -> None:
    slowly = ({"to": "close", "takes_ms": 1_500},)
    with model(tmp_path, *[ends()] * 4, max_sessions=2, replies=slowly) as server:
        async with call(server) as first, call(server) as second:
            for client in (first, second):
                await client.open(**AUTO)
            for k in range(2):  # in turns, so that each could hear the other
                await first.say(1_000 + k)
                await second.say(5_000 + k)
            for client in (first, second):
                while len(client.statuses) < 2:
                    await client.next("response.done")
            assert first.transcripts == ["heard 1000.", "heard 1001."]
            assert second.transcripts == ["heard 5000.", "heard 5001."]
            assert not set(first.responses) & set(second.responses)

            admitted, told = await _admitted(server)
            assert not admitted
            assert told["error"]["code"] == "resource_exhausted"
            assert told["error"]["retryable"] is True

            await first.close()
            admitted, _ = await _admitted(server)
            assert not admitted, "its place was free before the model had let go of it"
            while not (await _admitted(server))[0]:
                pass

            await second.say(5_002)
            await second.next("response.done")
            assert second.transcripts[-1] == "heard 5002."
            await second.close()
        verified(server, [first.session, second.session])


async def test_continuous_input_in_chunks_of_200_ms_has_three_answers(tmp_path: Path) -> None:
    """No commits, and no waiting: the chunks come like a microphone's, also while the model speaks."""
    units = [LISTENS, ends(tone_ms=400), LISTENS, speaks(), ends(), LISTENS, LISTENS, ends(tone_ms=100)]
    with model(tmp_path, *units, unit_ms=400) as server:
        async with call(server) as client:
            await client.open(**AUTO)
            for chunk in range(20):
                await client.say(100 * (chunk // 2 + 1), 200)
            # Ten units: those that were not spoken over were listened to.
            while len(client.of("response.listen")) < 10 - 4:
                await client.next("response.listen")
            await client.close()

        assert client.transcripts == ["heard 200.", "heard 400. heard 500.", "heard 800."]
        assert client.statuses == ["completed"] * 3
        assert [client.audio_ms(response) for response in client.responses] == [400, 800, 100]
        assert not client.of("input_audio_buffer.committed")
        verified(server, [client.session])


async def test_over_an_answer_the_model_goes_on_and_has_heard_what_was_said(tmp_path: Path) -> None:
    units = [speaks()] * 4 + [ends(), LISTENS]
    with model(tmp_path, *units, unit_ms=1_000) as server:
        async with call(server) as client:
            await client.open(**AUTO)
            await client.say(1_000, 1_000)
            await client.next("response.output_audio.delta")
            for level in (2_000, 3_000, 4_000, 5_000, 6_000):
                await client.say(level, 1_000, is_speech=True)
            await client.next("response.done")
            await client.next("response.listen")
            await client.close()

        assert client.transcripts == [
            "heard 1000. heard 2000. heard 3000. heard 4000. heard 5000.",
        ]
        assert client.statuses == ["completed"]
        [response] = client.responses
        assert client.audio_ms(response) == 5_000
        assert {frame.get("epoch", 0) for frame in client.heard} == {0}
        assert not client.of("output_audio_buffer.cleared")
        verified(server, [client.session])


def _endings(client: Call) -> list[str]:
    frames = client.of("error", "response.done", "session.closed")
    return [frame["error"]["code"] if frame["type"] == "error" else frame["type"] for frame in frames]


async def test_when_the_model_dies_its_answer_has_failed_and_every_session_goes_on(tmp_path: Path) -> None:
    """Case 35; ours: the error and the failed answer, and then the session goes on with a new engine."""
    units = [ends(), speaks(), Unit(does="die")]
    with model(tmp_path, *units) as server:
        async with call(server) as talking, call(server) as idle:
            for client in (talking, idle):
                await client.open(**AUTO)
            await talking.say(1_000, 3 * UNIT_MS)
            for _ in range(2):
                await talking.next("rate_limits.updated")
            assert _endings(talking) == ["response.done", "engine_dead", "response.done"]
            for client in (idle, talking):
                await client.say(3_000)
                await client.next("response.done")
            assert _endings(idle) == ["response.done"]
            for client in (talking, idle):
                await client.close()
        verified(server, [talking.session, idle.session])


@pytest.mark.parametrize("query", ["?duplex=1", ""])
async def test_a_model_that_is_not_what_it_says_is_talked_to_by_nobody(tmp_path: Path, query: str) -> None:
    with model(tmp_path, hears="utterances", ready=False) as server:
        server.wait_until(lambda: server.get("/health").json()["status"] == "failed", 60)
        async with call(server, query) as client:
            if query:  # a plain session opens by itself
                await client.send({"type": "session.update", "session": {}})
            error = (await client.next("error"))["error"]
            assert (error["code"], error["type"]) == ("runtime_contract_invalid", "server_error")
            assert f"unit_ms {UNIT_MS} without hearing continuously" in error["message"]
            with pytest.raises(ConnectionClosed):
                await client.next()
            assert client.socket.close_code == 1008
