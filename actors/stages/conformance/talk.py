"""One session of a client: what the stage may be asked in it, and what it said."""

from __future__ import annotations

from typing import Literal

from antiphon.actors.link.window import is_output_side
from antiphon.actors.stages.contract import (
    Acknowledge,
    Cancel,
    Cancelled,
    Close,
    Closed,
    ConfigRefused,
    Configure,
    Configured,
    Descriptor,
    EndTurn,
    Listen,
    Message,
    Open,
    Opened,
    Output,
    Refused,
    Speak,
    Turn,
)
from antiphon.events.ids import Fence, Operation, SessionId
from antiphon.events.units import BYTES_PER_SAMPLE, ms_to_samples

from .client import Client
from .under_test import StageUnderTest

Kind = Literal["piece", "unit", "utterance", "answer", "end_turn"]
Work = Listen | EndTurn | Speak
PIECE_MS = 200


class Talk:
    """A session by name; opened by `open`. Another Talk of that name is another writer of it.

    `first`: the first of its operations.
    """

    def __init__(
        self, client: Client, stage: StageUnderTest, descriptor: Descriptor, name: str, first: int = 0
    ) -> None:
        self.client, self._stage, self._descriptor = client, stage, descriptor
        self.session = SessionId(name)
        self.epoch = 0
        self._operation = first
        self._heard = 0
        """Samples that were given so far."""

    @property
    def fence(self) -> Fence:
        return Fence(self.session, 1, self.epoch, self.epoch)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What this stage is for."""
        stage = self._descriptor
        kinds: list[Kind] = []
        if stage.hears == "continuously":
            kinds.append("unit" if stage.unit_ms else "piece")
        if stage.role == "voice":
            return tuple(kinds)
        if stage.transcribes:
            kinds.append("utterance")
        if self._stage.question:
            kinds.append("answer")
        if stage.hears == "continuously":
            kinds.append("end_turn")
        return tuple(kinds)

    @property
    def voidable(self) -> tuple[Kind, ...]:
        """The kinds of work that a cancel voids."""
        role = self._descriptor.role
        return tuple(kind for kind in self.kinds if is_output_side(self._command(kind), role=role))

    # --- the session itself -------------------------------------------------------------------------------

    def open(self, writer_epoch: int = 1, config: dict[str, object] | None = None) -> Opened | Refused:
        before = len(self.client.told)
        self.client.send(Open(self.fence, writer_epoch, self._stage.config if config is None else config))
        answer = self.client.until(lambda: self._first(before, Opened, Refused), "the opening is answered")
        assert isinstance(answer, Opened | Refused)
        return answer

    def close(self) -> None:
        before = len(self.client.told)
        self.client.send(Close(self.fence, "the suite"))
        self.client.until(lambda: self._first(before, Closed), "the engine lets the session go")

    def cancel(self) -> None:
        """Void what was asked so far, and wait until the stage says so."""
        void = self.fence
        self.epoch += 1
        before = len(self.client.told)
        self.client.send(Cancel(void, self.fence))
        self.client.until(lambda: self._first(before, Cancelled), "the cancel is answered")

    def configure(self, generation: int, config: dict[str, object]) -> Configured | ConfigRefused:
        before = len(self.client.told)
        self.client.send(Configure(self.fence, generation, config))
        answer = self.client.until(
            lambda: self._first(before, Configured, ConfigRefused), "the configuration is answered"
        )
        assert isinstance(answer, Configured | ConfigRefused)
        return answer

    # --- work ---------------------------------------------------------------------------------------------

    def command(self, kind: Kind, *, force_listen: bool = False) -> Work:
        """The next command of that kind: a new operation, and the audio that follows."""
        command = self._command(kind, force_listen=force_listen)
        self._operation += 1
        if isinstance(command, Listen):
            self._heard = command.until_sample
        return command

    def ask(self, kind: Kind) -> Work:
        command = self.command(kind)
        self.client.send(command)
        return command

    def begun(self, asked: Work) -> list[Output]:
        """The first words of an operation, once there are any."""
        return self.client.until(lambda: self.outputs(asked.operation), "the first words")

    def ended(self, asked: Work) -> list[Output]:
        """What was said of an operation, once it has ended; acknowledged."""

        def whole() -> list[Output] | None:
            said = self.outputs(asked.operation)
            return said if said and said[-1].last else None

        kind = type(asked).__name__
        said = self.client.until(whole, f"the last output of operation {asked.operation} ({kind})")
        self.acknowledge(said[-1].number)
        return said

    def answered(self, kind: Kind) -> list[Output]:
        return self.ended(self.ask(kind))

    def acknowledge(self, number: int) -> None:
        self.client.send(Acknowledge(self.session, number))

    def outputs(self, operation: Operation | None = None) -> list[Output]:
        """Everything said of the session, or of one of its operations, that the client has read."""
        return [
            message
            for message in list(self.client.told)
            if isinstance(message, Output)
            and message.fence.session == self.session
            and operation in (None, message.operation)
        ]

    def _first(self, before: int, *kinds: type[Message]) -> Message | None:
        for message in self.client.told[before:]:
            if isinstance(message, kinds) and getattr(message, "fence", self.fence).session == self.session:
                return message
        return None

    def _command(self, kind: Kind, *, force_listen: bool = False) -> Work:
        operation = Operation(self._operation)
        match kind:
            case "answer":
                turn = Turn(role="user", text=self._stage.question)
                return Speak(self.fence, operation, (turn,))
            case "end_turn":
                return EndTurn(self.fence, operation)
            case "utterance":
                pcm = self._stage.speech
            case "unit":
                pcm = self._speech(self._descriptor.unit_ms)
            case _:
                pcm = self._speech(PIECE_MS)
        until = self._heard + len(pcm) // BYTES_PER_SAMPLE
        whole = kind == "utterance"
        return Listen(self.fence, operation, until, pcm, whole=whole, force_listen=force_listen)

    def _speech(self, ms: int) -> bytes:
        """The next so many milliseconds of the speech, which begins again at its end."""
        wanted = ms_to_samples(ms) * BYTES_PER_SAMPLE
        speech = self._stage.speech
        start = self._heard * BYTES_PER_SAMPLE % len(speech)
        return (speech[start:] + speech * (wanted // len(speech) + 1))[:wanted]
