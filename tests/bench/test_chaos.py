"""The chaos run finds what it looks for: transcripts and processes that are not as they should be."""

from __future__ import annotations

import asyncio
import copy
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.events.segments.log import SegmentLog
from bench.campaigns.stores import handle
from bench.chaos.caller import Caller
from bench.chaos.checking import Found, check
from bench.chaos.service import Service
from tests.serving import running

Talked = tuple[Caller, SegmentLog]


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talked]:
    """A client of a real server that was cut off once, and its log."""
    data = tmp_path_factory.mktemp("chaos") / "data"
    with running(data) as server:
        caller = asyncio.run(_talk(server.base))
    with handle(data) as log:
        yield caller, log


async def _talk(url: str) -> Caller:
    caller = Caller(url, random.Random(7))
    await caller.begin()
    await caller.hears_more(10)
    caller.reset()
    await caller.hears_more(10)
    await caller.hang_up()
    return caller


def test_a_client_that_was_cut_off_has_had_everything_once_and_in_order(talked: Talked) -> None:
    caller, log = talked
    found = check(log, caller)
    assert (found.wrong, found.first) == (0, "")
    assert found.frames == sum(len(came.frames) for came in caller.connections)
    assert found.asked == len(caller.sent) > 20
    assert len(caller.losses) == len(caller.gaps) == 1
    assert sum(came.generation > 0 for came in caller.connections) == 2


def lose(caller: Caller) -> None:
    del caller.connections[-1].frames[3]


def hear_twice(caller: Caller) -> None:
    frames = caller.connections[0].frames
    frames.insert(5, frames[3])


def hear_in_another_order(caller: Caller) -> None:
    frames = caller.connections[0].frames
    frames[3], frames[4] = frames[4], frames[3]


def hear_something_else(caller: Caller) -> None:
    number, digest = caller.connections[0].frames[3]
    caller.connections[0].frames[3] = (number, digest ^ 1)


def ask_in_vain(caller: Caller) -> None:
    caller.sent.append("evt_never")


def ask_twice(caller: Caller) -> None:
    caller.sent.append(caller.sent[3])


@pytest.mark.parametrize(
    ("wrong", "counted"),
    [
        (lose, "lost"),
        (hear_twice, "repeated"),
        (hear_in_another_order, "reordered"),
        (hear_something_else, "falsified"),
        (ask_in_vain, "asked_lost"),
        (ask_twice, "reordered"),
    ],
)
def test_what_should_not_have_been_is_found(
    talked: Talked, wrong: Callable[[Caller], None], counted: str
) -> None:
    caller, log = talked
    spoiled = copy.copy(caller)
    spoiled.connections, spoiled.sent = copy.deepcopy(caller.connections), list(caller.sent)
    wrong(spoiled)
    found: Found = check(log, spoiled)
    assert getattr(found, counted) == 1
    assert found.first


def test_a_server_that_ends_is_started_again_and_what_it_leaves_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stub in the server's place: it has a child that outlives it."""
    monkeypatch.setattr("bench.chaos.service.GONE_S", 0.2)
    stub = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); print('up', flush=True); time.sleep(60)"
    monkeypatch.setattr(Service, "command", lambda self, data, arguments: [sys.executable, "-c", stub])
    service = Service(tmp_path / "data", tmp_path / "said")
    up_once = _lines(tmp_path / "said", 1)
    [killed] = service.launcher
    os.kill(killed, signal.SIGKILL)
    assert up_once != _lines(tmp_path / "said", 2)
    assert service.launcher != [killed]
    service.stop()
    assert (service.starts, len(service.orphans)) == (2, 2)
    assert all("sleep 60" in one for one in service.orphans)
    assert service.marked() == []


def _lines(path: Path, count: int) -> str:
    subprocess.run(
        ["timeout", "20", "sh", "-c", f"until [ $(wc -l < {path}) -ge {count} ]; do sleep 0.02; done"],
        check=True,
    )
    return path.read_text()
