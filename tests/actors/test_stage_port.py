"""Effects as a stage is asked them, and what it says as commands: units, configurations, calls."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from antiphon.actors.session import commands
from antiphon.actors.session_loop import Opening, SessionLoop
from antiphon.actors.stages import contract
from antiphon.events.ids import Fence, Operation, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Log
from antiphon.events.units import Moment, ms_to_samples
from antiphon.events.vocabulary import (
    Abilities,
    CommandRefused,
    Config,
    ConfigRefused,
    EventsAcknowledged,
    ModelListened,
    ResponseCreated,
    SessionConfigured,
    Terms,
    ToolCalled,
    TurnEnded,
    UnitCompleted,
)

from .test_session_loop import Client, straight

S = SessionId("s")
UNIT = ms_to_samples(200)
ABLE = Abilities(
    stage="t",
    hears="continuously",
    unit_ms=200,
    sees=True,
    confirms_config=True,
    calls_tools=True,
    past_units=2,
)
JPEG = commands.Image("image/jpeg", b"\xff\xd8 a picture")


class Process:
    """A Runtime that remembers what stages were asked."""

    def __init__(self) -> None:
        self.asked: list[contract.StageCommand] = []

    def now(self) -> Moment:
        return Moment(0, 0)

    def later(self, session: SessionId, due_mono_ns: int, name: commands.TimerName) -> None:
        pass

    def to_stage(self, stage: commands.StageRole, command: contract.StageCommand) -> None:
        if not isinstance(command, contract.Acknowledge):
            self.asked.append(command)

    def hold(self, session: SessionId, held: bool) -> None:
        pass

    def ended(self, session: SessionId) -> None:
        pass

    def take(self) -> list[contract.StageCommand]:
        taken, self.asked = self.asked, []
        return taken


class Conversation:
    """A session whose model hears in units, with its log and what its stage was asked."""

    def __init__(self, log: Log, *, config: Config | None = None) -> None:
        self.log, self.process, self.client = log, Process(), Client()
        self._numbers = 0
        opening = None
        if config is not None:
            opening = commands.OpenSession(
                incarnation=0,
                mode="duplex",
                abilities=ABLE,
                config=config,
                terms=Terms(disconnect_grace_s=30),
            )
        writer = commands.OpenWriter(writer_epoch=0, code="t", boot="t", projections={})
        self.loop = SessionLoop(Opening(S, log, self.process, "t", writer, opening), straight)
        self.loop.begin()
        self.loop.join(self.client, commands.Attach(dialect="t"))

    def ask(self, command: commands.Command) -> None:
        self.loop.ask(self.client, command)

    def say(self, body: Any, *, operation: int, index: int = 0, last: bool = True) -> None:
        self._numbers += 1
        fence = Fence(S, 0, 0, 1)
        self.loop.stage_said(
            "model", contract.Output(fence, Operation(operation), self._numbers, index, last, body)
        )

    def of(self, kind: type[Any]) -> list[Any]:
        return [stored.event for stored in self.log.read(S) if isinstance(stored.event, kind)]


def streaming() -> Conversation:
    config = Config(instructions="be brief", voice="alba", auto_response=True, engine={"window": 3})
    return Conversation(MemoryLog(), config=config)


def audio(samples: int, first: int = 1) -> bytes:
    """Samples that count from `first`, so that each can be told from the next."""
    return b"".join((first + k).to_bytes(2, "little") for k in range(samples))


def only_listen(process: Process) -> contract.Listen:
    [listen] = [command for command in process.take() if isinstance(command, contract.Listen)]
    return listen


def test_a_unit_is_exactly_what_was_heard_across_chunks() -> None:
    talk = streaming()
    talk.process.take()
    talk.ask(commands.AppendAudio(pcm=audio(UNIT - 1_000)))
    assert talk.process.take() == []
    talk.ask(commands.AppendAudio(pcm=audio(2_000, UNIT - 999)))
    first = only_listen(talk.process)
    assert first.pcm == audio(UNIT)
    assert (first.until_sample, first.whole, first.final, first.force_listen) == (UNIT, False, False, False)
    talk.ask(commands.CommitInput(any_length=True))
    talk.say(contract.Consumed(), operation=first.operation)
    rest = only_listen(talk.process)
    assert rest.pcm == audio(1_000, UNIT + 1) + bytes(2 * (UNIT - 1_000)), "the rest, then silence"
    assert (rest.until_sample, rest.final) == (UNIT + 1_000, True)


def test_a_unit_takes_the_files_of_its_images_along() -> None:
    talk = streaming()
    talk.process.take()
    talk.ask(commands.AppendAudio(pcm=audio(UNIT), images=(JPEG, JPEG)))
    listen = only_listen(talk.process)
    assert listen.images == (JPEG.data, JPEG.data)
    assert listen.pcm == audio(UNIT), "the audio is not taken for an image, nor an image for audio"


def test_a_new_writer_asks_for_the_same_unit_from_the_log() -> None:
    talk = streaming()
    talk.ask(commands.AppendAudio(pcm=audio(UNIT + 50), images=(JPEG,)))
    before = only_listen(talk.process)
    talk.loop.stop()
    again = Conversation(talk.log)
    assert only_listen(again.process) == before


def test_a_stage_that_must_agree_is_opened_by_the_configuration_and_asked_about_another() -> None:
    talk = streaming()
    opened = next(one for one in talk.process.take() if isinstance(one, contract.Open))
    assert opened.config == {
        "model": "",
        "instructions": "be brief",
        "voice": "alba",
        "modalities": ["audio"],
        "max_output_tokens": None,
        "temperature": None,
        "tools": [],
        "tool_choice": "auto",
        "engine": {"window": 3},
        "sampling": {},
    }
    talk.ask(commands.Configure(voice="bert", tools=({"name": "f"},)))
    [asked] = talk.process.take()
    assert isinstance(asked, contract.Configure)
    assert (asked.generation, asked.config["voice"], asked.config["tools"]) == (1, "bert", [{"name": "f"}])
    assert talk.of(SessionConfigured) == []
    talk.loop.stage_said("model", contract.Configured(asked.fence, 1))
    assert talk.of(SessionConfigured)[0].config.voice == "bert"


def test_a_configuration_that_the_stage_refuses_is_refused_in_the_log() -> None:
    talk = streaming()
    talk.ask(commands.Configure(client_event="evt_1", voice="bert"))
    refusal = contract.ConfigRefused(Fence(S, 0, 0, 0), 1, "voice_update_unsupported", "one voice only")
    talk.loop.stage_said("model", refusal)
    [told] = talk.of(ConfigRefused)
    assert (told.code, told.client_event, told.generation) == ("voice_update_unsupported", "evt_1", 1)


def test_what_a_model_in_units_says_becomes_facts() -> None:
    talk = streaming()
    talk.process.take()
    talk.ask(commands.AppendAudio(pcm=audio(3 * UNIT)))
    first = only_listen(talk.process).operation
    talk.say(contract.Consumed("buffering"), operation=first)
    second = only_listen(talk.process).operation
    talk.say(contract.Called("call_1", "f", "{}"), operation=second, index=0, last=False)
    talk.say(contract.TurnEnded(), operation=second, index=1, last=False)
    talk.say(contract.Finished(), operation=second, index=2)
    assert [one.reason for one in talk.of(ModelListened)] == ["buffering"]
    assert [one.call_id for one in talk.of(ToolCalled)] == ["call_1"]
    assert len(talk.of(ResponseCreated)) == len(talk.of(TurnEnded)) == 1
    assert [one.operation for one in talk.of(UnitCompleted)] == [first, second]


def test_an_acknowledgement_of_frames_is_of_the_attachment_that_sent_it() -> None:
    talk = streaming()
    talk.ask(commands.AcknowledgeEvents(attachment=0, through=64))
    assert [(one.attachment, one.through) for one in talk.of(EventsAcknowledged)] == [(1, 64)]


def test_an_abandoned_commit_is_told_to_the_attachment_that_may_command() -> None:
    talk = streaming()
    talk.process.take()
    talk.ask(commands.AppendAudio(pcm=audio(UNIT + 50)))
    operation = only_listen(talk.process).operation
    talk.ask(commands.CommitInput(client_event="evt_1", any_length=True))
    talk.say(contract.Failed("busy", "not now", retryable=True), operation=operation)
    [told] = talk.of(CommandRefused)
    assert (told.code, told.attachment, told.client_event) == ("commit_aborted", 1, "evt_1")


def test_held_audio_is_at_hand_as_long_as_somebody_may_ask_about_it() -> None:
    talk = Conversation(MemoryLog(), config=replace(Config(), strict=True))
    for k in range(5):
        talk.ask(commands.AppendAudio(pcm=audio(UNIT, 1 + k * UNIT)))
    talk.ask(commands.CommitInput(any_length=True, respond=True))
    heard = b""
    for _ in range(5):
        listen = only_listen(talk.process)
        heard += listen.pcm
        talk.say(contract.Finished(), operation=listen.operation)
    assert heard == audio(5 * UNIT)
    assert listen.final


def test_a_stage_that_is_opened_again_is_told_the_latest_units_and_what_was_said_of_them() -> None:
    talk = streaming()
    assert (
        "past_units" not in next(one for one in talk.process.take() if isinstance(one, contract.Open)).config
    )
    for number, body in enumerate((contract.Consumed(), contract.Said("Hel"), contract.Said("lo."))):
        talk.ask(commands.AppendAudio(pcm=audio(UNIT, 1 + UNIT * number)))
        operation = only_listen(talk.process).operation
        talk.say(body, operation=operation)
    talk.ask(commands.AppendAudio(pcm=audio(UNIT, 9)))
    under_way = only_listen(talk.process)
    talk.loop.stop()
    again = Conversation(talk.log)
    opened, asked = again.process.take()[:2]
    assert isinstance(opened, contract.Open)
    assert opened.config["past_units"] == (
        contract.PastUnit(audio(UNIT, 1 + UNIT), "Hel"),
        contract.PastUnit(audio(UNIT, 1 + 2 * UNIT), "lo."),
    )
    assert asked == under_way


def test_silence_that_was_given_and_a_turn_that_ended_are_told_too() -> None:
    talk = streaming()
    talk.ask(commands.AppendAudio(pcm=audio(UNIT - 1_000)))
    talk.ask(commands.CommitInput(any_length=True))
    operation = only_listen(talk.process).operation
    talk.say(contract.Said("Yes."), operation=operation, last=False)
    talk.say(contract.TurnEnded(), operation=operation, index=1, last=False)
    talk.say(contract.Finished(), operation=operation, index=2)
    talk.loop.stop()
    [opened] = Conversation(talk.log).process.take()[:1]
    assert isinstance(opened, contract.Open)
    whole = audio(UNIT - 1_000) + bytes(2_000)
    assert opened.config["past_units"] == (contract.PastUnit(whole, "Yes.", turn_ended=True),)
