"""How long answers take, on the metrics page: observed once for each, on the clock that it was measured on."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from antiphon.actors.session import commands as c
from antiphon.web.timings import Timings
from tests.actors.session.duplex import Asked, InUnits, message
from tests.actors.session.given import Talk
from tests.serving import RunningServer

from .wire import wire


class Page:
    """The page after what a conversation has gone through."""

    def __init__(self, talk: Talk) -> None:
        self._registry = CollectorRegistry()
        watch = Timings(self._registry).watch()
        for stored in talk.stored:
            watch(stored)

    def __getitem__(self, name: str) -> tuple[float, float]:
        """How many were observed, and their sum in ms."""
        name = f"antiphon_{name}_seconds"
        count = self._registry.get_sample_value(f"{name}_count")
        total = self._registry.get_sample_value(f"{name}_sum")
        assert count is not None
        assert total is not None
        return count, round(total * 1000, 3)

    def ended(self, outcome: str) -> float | None:
        return self._registry.get_sample_value("antiphon_responses_total", {"outcome": outcome})


def measure(talk: Talk, word: dict[str, Any], name: str, value_ms: int, *each_us: int) -> None:
    talk.do(c.RecordMeasure(name=name, value_ms=value_ms, each_us=each_us, **word))


def test_the_stages_clock_and_the_servers_are_two() -> None:
    talk = Asked()
    talk.talk_for(1_000)
    talk.commit(respond=True)
    talk.now_ms += 70
    talk.understand("hello")
    talk.now_ms += 30
    for index, (name, value, each) in enumerate(
        [("first_token_ms", 12, ()), ("first_audio_ms", 25, ()), ("token_gaps_ms", 30, (10_000, 20_000))]
    ):
        word = {"operation": talk.active.operation, "index": index, "epoch": 0, "last": False}
        measure(talk, word, name, value, *each)
    talk.say("Hello. ", 400)
    talk.send(200)
    talk.say("You.", 400)
    talk.send(800)
    talk.finish()
    page = Page(talk)
    assert page["stage_time_to_first_token"] == (1, 12)
    assert page["stage_time_to_first_audio"] == (1, 25)
    assert page["stage_time_per_output_token"] == (1, 15)
    assert page["stage_inter_token_latency"] == (2, 30)
    assert page["response_first_audio"] == page["commit_to_first_audio"] == (1, 100)
    assert page.ended("completed") == 1


def test_what_was_sent_is_observed_once_even_when_it_is_told_behind_the_end() -> None:
    talk = Asked()
    talk.do(message("hello"), c.CreateResponse())
    talk.now_ms += 40
    talk.say("Hello. ", 400)
    talk.finish()
    for ms in (200, 400):
        talk.send(ms)
    page = Page(talk)
    assert page["response_first_audio"] == (1, 40)
    assert page["commit_to_first_audio"] == (0, 0), "nobody spoke"


def test_measurements_of_units_that_only_listen_are_no_answers() -> None:
    talk = InUnits()
    talk.talk_for(3_000)
    measure(talk, talk.word(last=False), "first_token_ms", 31)
    talk.model_listens()
    measure(talk, talk.word(last=False), "first_token_ms", 44)
    talk.model_says("one ")
    measure(talk, talk.word(last=False), "token_gaps_ms", 10, 10_000)
    talk.model_says("two ")
    talk.talk_for(1_000)
    talk.model_listens()
    page = Page(talk)
    assert page["stage_time_to_first_token"] == (1, 44)
    assert page["stage_inter_token_latency"] == (1, 10)


@pytest.mark.parametrize("query", ["", "?duplex=1&model=echo"])
async def test_the_page_counts_what_a_server_answered(echo_server: RunningServer, query: str) -> None:
    def observed() -> float:
        line = next(
            line
            for line in echo_server.get("/metrics").text.splitlines()
            if line.startswith("antiphon_response_first_audio_seconds_count")
        )
        return float(line.split()[1])

    before = observed()
    async with wire(echo_server, query) as client:
        await client.next("session.created")
        await client.append(b"\x00\x10" * 12_000)
        while not (await client.next())["type"].endswith("audio.delta"):
            pass
        await client.send({"type": "session.update", "session": {"type": "realtime"}})
        await client.next("session.updated")
    echo_server.wait_until(lambda: observed() == before + 1)
