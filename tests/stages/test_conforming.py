"""Our own engines keep the stage contract (actors/stages/conformance)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from antiphon.actors.stages.chat_backend.engine import ChatEngine
from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from antiphon.actors.stages.contract import Consumed, Failed, Finished, Heard, Listen, Routed, Said, Scored
from antiphon.actors.stages.echo.engine import EchoEngine
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.script import Reply, Script, say
from antiphon.actors.stages.scripted.units import Unit
from tests.stages import chat_server
from tests.stages.chat_server import Stub

UNIT_MS = 40


def running(**what: Any) -> StageUnderTest:
    """A scripted stage whose clock runs."""
    script = Script(max_sessions=4, voices=("alto",), **what)
    return StageUnderTest(
        lambda: ScriptedEngine(script=script, runs=True),
        config={"voice": "alto"},
        bad_config={"voice": "tenor"},
        question="How are you?",
        kill=lambda engine: engine.die(),  # type: ignore[attr-defined]
        held=lambda engine: len(engine._epochs),  # type: ignore[attr-defined]
    )


ANSWER = (
    say(Routed("model")),
    say(Said("Fine, ", b"\1\0" * 480), after_ms=2),
    say(Said("thank you.", b"\2\0" * 480), after_ms=2),
    say(Finished(), last=True),
)


class TestEcho(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        return StageUnderTest(
            lambda: EchoEngine({"delay_ms": 20, "max_sessions": 8}),
            question="How are you?",
            held=lambda engine: len(engine._lines),  # type: ignore[attr-defined]
        )


class TestScriptedUtterances(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        recognised = (say(Heard("How are you?"), after_ms=2, last=True),)
        replies = (
            Reply(to="speak", steps=ANSWER),
            Reply(to="recognise", steps=recognised),
            Reply(to="end_turn", steps=(say(Finished(), last=True),)),
            Reply(to="open", takes_ms=1),
            Reply(to="close", takes_ms=1),
        )
        return running(replies=replies)


class TestScriptedPieces(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        replies = (
            Reply(to="listen", nth=2, steps=(say(Said("Yes? ", b"\1\0" * 480), after_ms=1, last=True),)),
            Reply(to="listen", steps=(say(Consumed(), after_ms=1, last=True),)),
            Reply(to="recognise", steps=(say(Failed("not_supported", "no whole utterances"), last=True),)),
            Reply(to="speak", steps=ANSWER),
            Reply(to="end_turn", steps=ANSWER),
        )
        return running(replies=replies, hears="continuously", transcribes=False)


class TestScriptedUnits(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        replies = (
            Reply(to="recognise", steps=(say(Failed("not_supported", "no whole utterances"), last=True),)),
            Reply(to="speak", steps=ANSWER),
            Reply(to="end_turn", steps=(say(Finished(), last=True),)),
            Reply(to="configure", nth=2, takes_ms=2),
        )
        units = (
            Unit(),
            Unit(does="speak", text="{n}: {loudest}", first_token_ms=1, gaps_us=(900, 1100)),
            Unit(does="speak", text="{n}: {loudest}", turn_ends=True),
        ) * 10
        return running(
            replies=replies,
            units=units,
            compute_ms=1,
            hears="continuously",
            unit_ms=UNIT_MS,
            transcribes=False,
            confirms_config=True,
        )


class TestScriptedVoice(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        def scored(command: object) -> Scored:
            assert isinstance(command, Listen)
            return Scored(command.until_sample, 768, (500,) * (len(command.pcm) // 1536))

        replies = (
            Reply(to="listen", steps=(say(scored, after_ms=1, last=True),)),
            Reply(to="recognise", steps=(say(Consumed(), last=True),)),
            Reply(to="speak", steps=(say(Failed("not_supported", "it does not speak"), last=True),)),
            Reply(to="end_turn", steps=(say(Finished(), last=True),)),
        )
        return replace(running(replies=replies, role="voice", hears="continuously"), question="")


class TestChat(StageSuite):
    """Its chat server is a stub that writes one answer to everybody."""

    @pytest.fixture
    def stage(self) -> Iterator[StageUnderTest]:
        server = Stub()
        server.always = chat_server.words("Fine,", " thank", " you.")
        settings = {"llm_url": server.url, "llm_model": "stub", "max_sessions": 4}
        yield StageUnderTest(lambda: ChatEngine(settings), question="How are you?")
        server.server.shutdown()
        server.server.server_close()
