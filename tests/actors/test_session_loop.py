"""The session's loop: what it asks to be woken for, and what a client reports in passing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.actors.checkpoints import EVERY, Checkpoints
from antiphon.actors.revival import fold_in_slices
from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands
from antiphon.actors.session.commands import TimerName
from antiphon.actors.session_loop import Opening, SessionLoop
from antiphon.actors.stages.contract import Opened, Output, Said, Scored, StageCommand
from antiphon.events.ids import Fence, Operation, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Log
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    Abilities,
    AudioSent,
    CommandRefused,
    Config,
    FramesSent,
    InputAppended,
    ResponseCreated,
    TurnDetection,
    UnitSubmitted,
)

S = SessionId("s")
DETECTION = TurnDetection(silence_duration_ms=2000)
WINDOW = 768


class Process:
    """A Runtime whose clock stands still, and which remembers when it was to wake whom."""

    def __init__(self) -> None:
        self.wakes: list[tuple[TimerName, int]] = []

    def now(self) -> Moment:
        return Moment(0, 0)

    def later(self, session: SessionId, due_mono_ns: int, name: TimerName) -> None:
        self.wakes.append((name, due_mono_ns // 1_000_000))

    def to_stage(self, stage: commands.StageRole, command: StageCommand) -> None:
        pass

    def hold(self, session: SessionId, held: bool) -> None:
        pass

    def ended(self, session: SessionId) -> None:
        pass


class Client:
    """A Sink that nobody looks at."""

    def publish(self, batch: Sequence[Published]) -> None:
        pass

    def answer(self, answer: Retrieved) -> None:
        pass

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        raise AssertionError(code)

    def abort(self, code: str, message: str) -> None:
        raise AssertionError(code)


def straight(action: Callable[..., None], *given: Any) -> None:
    action(*given)


WRITER = commands.OpenWriter(writer_epoch=0, code="t", boot="t", projections={})


def begun(
    process: Process,
    client: Client,
    log: Log,
    abilities: Abilities,
    config: Config,
    checkpoints: Checkpoints | None = None,
) -> SessionLoop:
    opening = commands.OpenSession(incarnation=0, mode="duplex", abilities=abilities, config=config)
    asked = Opening(S, log, process, "t", WRITER, opening, checkpoints=checkpoints)
    loop = SessionLoop(asked, straight)
    loop.begin()
    loop.join(client, commands.Attach(dialect="t"))
    for stage in ("model", "voice"):
        loop.stage_said(stage, Opened(Fence(S, 0, 0, 0), "e"))  # type: ignore[arg-type]  # both are roles
    process.wakes.clear()
    return loop


def speaking(process: Process, client: Client) -> SessionLoop:
    """A session in the middle of its user's speech."""
    abilities = Abilities(stage="t", hears="utterances", detects_voice=True, transcribes=True)
    loop = begun(process, client, MemoryLog(), abilities, Config(turn_detection=DETECTION))
    loop.ask(client, commands.AppendAudio(pcm=bytes(2 * 8 * WINDOW)))
    scores = Scored(8 * WINDOW, WINDOW, (1000,) * 8)
    loop.stage_said("voice", Output(Fence(S, 0, 0, 0), Operation(3), 1, 0, True, scores))
    return loop


def test_a_shorter_silence_asked_for_in_mid_speech_is_waited_for_from_then_on() -> None:
    process, client = Process(), Client()
    loop = speaking(process, client)
    assert process.wakes == [("silence", 2250)]

    shorter = replace(DETECTION, silence_duration_ms=300)
    loop.ask(client, commands.Configure(turn_detection=shorter))

    assert process.wakes == [("silence", 2250), ("silence", 550)]


def test_a_longer_silence_is_waited_for_when_the_shorter_has_passed() -> None:
    process, client = Process(), Client()
    loop = speaking(process, client)

    loop.ask(client, commands.Configure(turn_detection=replace(DETECTION, silence_duration_ms=5000)))
    assert process.wakes == [("silence", 2250)]
    loop.timer_due("silence")

    assert process.wakes == [("silence", 2250), ("silence", 5250)]


def answered(log: Log, client: Client, abilities: Abilities) -> tuple[SessionLoop, commands.ReportSent]:
    """A session whose answer is 100 ms long by now, and a report that all of it was sent."""
    loop = begun(Process(), client, log, abilities, Config())
    loop.ask(client, commands.CreateResponse())
    stored = list(log.read(S))
    asked = next((one.seq for one in stored if isinstance(one.event, UnitSubmitted)), 0)
    said = Output(Fence(S, 0, 0, 1), Operation(asked), 1, 0, False, Said("Hi.", bytes(4_800)))
    loop.stage_said("model", said)
    response = next(one.event.response for one in stored if isinstance(one.event, ResponseCreated))
    report = commands.ReportSent(attachment=0, through=1, audio=(AudioSent(response, Samples(2_400), 1),))
    return loop, report


def test_a_report_may_travel_with_the_clients_audio() -> None:
    log, client = MemoryLog(), Client()
    loop, report = answered(log, client, Abilities(stage="t", hears="continuously"))

    loop.ask(client, commands.AppendAudio(pcm=bytes(3840), sent=report))

    *_, heard, sent = [one.event for one in log.read(S)]
    assert isinstance(heard, InputAppended)
    assert isinstance(sent, FramesSent)
    assert (sent.attachment, sent.audio[0].until_sample) == (1, 2_400)


def test_a_report_counts_although_the_audio_it_travelled_with_is_refused() -> None:
    log, client = MemoryLog(), Client()
    loop, report = answered(log, client, Abilities(stage="t", hears="utterances", transcribes=False))

    loop.ask(client, commands.AppendAudio(pcm=bytes(3840), sent=report))

    *_, refused, sent = [one.event for one in log.read(S)]
    assert isinstance(refused, CommandRefused)
    assert isinstance(sent, FramesSent)
    assert (sent.attachment, sent.audio[0].until_sample) == (1, 2_400)


def test_checkpoints_are_made_at_fixed_places_and_none_where_a_session_is_taken_over() -> None:
    log, client = MemoryLog(), Client()
    checkpoints = Checkpoints(log, b"of this code....")

    def talk(loop: SessionLoop, until: int) -> None:
        while log.head(S).next_seq < until:
            loop.ask(client, commands.AppendAudio(pcm=bytes(3840)))

    abilities = Abilities(stage="t", hears="utterances", transcribes=True)
    first = begun(Process(), client, log, abilities, Config(), checkpoints)
    talk(first, EVERY - 1)
    assert log.derived(S, 0, "state") is None
    talk(first, EVERY + 1)
    kept = log.derived(S, 0, "state")
    assert kept is not None

    talk(first, EVERY + 100)
    first.stop()
    folded = asyncio.run(fold_in_slices(checkpoints, S))
    again = Opening(S, log, Process(), "t", WRITER, folded=folded, checkpoints=checkpoints)
    SessionLoop(again, straight).begin()
    assert log.derived(S, 0, "state") == kept
