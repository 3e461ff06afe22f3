"""A descriptor that cannot be served is refused before anything is opened, with all that is wrong with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.actors.link.codec import LINK_VERSION, Hello, LinkNotReady, encode_one
from antiphon.actors.processes.stage_server import StageServer
from antiphon.actors.stages.contract import Descriptor, EngineRefused, Open
from antiphon.actors.stages.descriptor import CODE, faults

from .desk_bench import Bench, NotingEngine, fence
from .serving_side import Serving

WRONG: list[tuple[dict[str, object], str]] = [
    ({"contract": 1}, "contract version 1, this is 3"),
    ({"name": ""}, "no name"),
    ({"engine": ""}, "no engine id"),
    ({"max_sessions": 0}, "max_sessions 0"),
    ({"context_tokens": -1}, "context_tokens -1"),
    ({"unit_ms": 1000}, "unit_ms 1000 without hearing continuously"),
    ({"unit_ms": -1, "hears": "continuously"}, "unit_ms -1, it is 0 to 60000"),
    ({"unit_ms": 60_001, "hears": "continuously"}, "unit_ms 60001, it is 0 to 60000"),
    ({"unit_ms": 80, "hears": "continuously", "role": "voice"}, "unit_ms 80 of a voice detector"),
    ({"response_options": ("voice", "mood", "colour")}, "unknown response options colour, mood"),
    ({"response_options": ("voice", "voice")}, "response options named twice"),
]


@pytest.mark.parametrize(("what", "said"), WRONG, ids=[said for _, said in WRONG])
def test_the_desk_refuses_it_before_any_session(what: dict[str, object], said: str) -> None:
    engine = NotingEngine()
    engine.descriptor = replace(engine.descriptor, **what)
    with pytest.raises(EngineRefused) as refused:
        Bench(engine)
    assert refused.value.code == "runtime_contract_invalid"
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("missing", "said"),
    [("configure", "confirms_config without configure"), ("speak", "no method speak")],
)
def test_an_engine_can_do_what_its_descriptor_says(missing: str, said: str) -> None:
    class Lacking(NotingEngine):
        pass

    setattr(Lacking, missing, None)
    with pytest.raises(EngineRefused) as refused:
        Bench(Lacking(confirms_config=True))
    assert said in refused.value.message


def test_everything_that_is_wrong_is_said_at_once() -> None:
    descriptor = replace(NotingEngine().descriptor, name="", max_sessions=-3, unit_ms=500)
    assert len(faults(descriptor)) == 3


def test_of_another_version_nothing_else_is_believed() -> None:
    descriptor = replace(NotingEngine().descriptor, contract=4, name="", max_sessions=-3)
    assert faults(descriptor) == ("contract version 4, this is 3",)


@contextlib.asynccontextmanager
async def greeting(path: Path, descriptor: Descriptor) -> AsyncIterator[Serving]:
    """A serving process and a stub of a stage that greets it with `descriptor`, once that was taken."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_one(Hello(LINK_VERSION, descriptor)))
        await writer.drain()

    async with await asyncio.start_unix_server(greet, path):
        serving = Serving(path, "model")
        await serving.until(lambda: serving.link.state in ("ready", "failed"))
        yield serving
        serving.link.close()


@pytest.mark.parametrize(
    ("what", "said"),
    [*WRONG, ({"role": "voice"}, "role voice, wanted model")],
    ids=[*(said for _, said in WRONG), "role"],
)
async def test_the_serving_process_does_not_believe_the_stage_either(
    tmp_path: Path, what: dict[str, object], said: str
) -> None:
    async with greeting(tmp_path / "s", replace(NotingEngine().descriptor, **what)) as serving:
        assert (serving.link.state, serving.link.code, serving.ready) == ("failed", CODE, [])
        assert said in serving.link.detail
        with pytest.raises(LinkNotReady):
            serving.send(Open(fence(), 1, {}))


async def test_a_good_one_is_taken(tmp_path: Path) -> None:
    descriptor = NotingEngine(hears="continuously", unit_ms=1000, confirms_config=True).descriptor
    async with greeting(tmp_path / "s", descriptor) as serving:
        assert (serving.link.state, serving.ready) == ("ready", [descriptor])


async def test_a_stage_whose_engine_cannot_be_served_says_why_it_is_not_ready(tmp_path: Path) -> None:
    engine = NotingEngine()
    engine.descriptor = replace(engine.descriptor, unit_ms=1000)
    server = StageServer(tmp_path / "s")
    server.start()
    server.ready(engine)
    serving = Serving(tmp_path / "s")
    await serving.until(lambda: serving.link.state == "failed")
    assert serving.link.code == CODE
    assert "without hearing continuously" in serving.link.detail
    serving.link.close()
    server.stop(timeout_s=5)
