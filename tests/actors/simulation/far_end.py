"""The stages of the simulated world, and the sockets that lead to them.

The desk is the real one, the engine the scripted one, the bytes are those of link/codec.py, cut where the
scheduler likes. What a stage says follows from what it was asked and from nothing else, so that a stage that
was started again says the same again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from antiphon.actors.desk.desk import StageDesk
from antiphon.actors.link.codec import WINDOW, WindowFull, command_decoder, encode, message_decoder
from antiphon.actors.link.queue import StageQueue
from antiphon.actors.link.window import Window, is_output_side
from antiphon.actors.session.commands import StageRole
from antiphon.actors.stages.contract import (
    Acknowledge,
    Body,
    Cancel,
    Closed,
    Consumed,
    EndTurn,
    Failed,
    Finished,
    Heard,
    Listen,
    Measured,
    Open,
    Output,
    Refused,
    Routed,
    Said,
    Scored,
    Speak,
    StageCommand,
    StageMessage,
    TurnEnded,
)
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.script import Refusal, Reply, Script, Work, say

SCORED = 768
LOUD = 1_000
"""The value of samples that the detector takes for speech."""

Hears = Literal["utterances", "continuously"]


# --- what they say ----------------------------------------------------------------------------------------


def _sound(work: Work, k: int) -> bytes:
    """Recognisable audio: 40 to 440 ms of one value that names the piece."""
    samples = 960 * (1 + (work.operation * 7 + k * 5) % 11)
    return (1 + (work.operation * 31 + k) % 30_000).to_bytes(2, "little") * samples


def _piece(k: int) -> Callable[[Work], Body]:
    return lambda work: Said(f"piece {k} of {work.operation}. ", _sound(work, k))


def _end(work: Work) -> Body:
    if work.operation % 7 == 3:
        return Failed("engine_error", "the script says so")
    return Finished(why="length" if work.operation % 5 == 1 else "done", output_tokens=3)


def _echo(work: Work) -> Body:
    return Consumed() if work.operation % 3 == 0 else Said("", _sound(work, 0))


def _of_unit(work: Work) -> Body:
    """Before the last word of a unit: what it says, or that it ends its turn."""
    if work.operation % 5 == 4:
        return TurnEnded()
    return Said(f"unit {work.operation}. ", _sound(work, 0))


def _unit_ends(work: Work) -> Body:
    kinds = (Consumed(), Finished(), Said("so ", _sound(work, 1)), Consumed("buffering"), Consumed())
    if work.operation % 11 == 7:
        return Failed("engine_error", "the script says so")
    return kinds[work.operation % len(kinds)]


def _scores(work: Work) -> Body:
    assert isinstance(work, Listen)
    windows = range(0, len(work.pcm), SCORED * 2)
    loud = (int.from_bytes(work.pcm[at + 2 : at + 4], "little") == LOUD for at in windows)
    return Scored(work.until_sample, SCORED, tuple(900 if one else 10 for one in loud))


def model_script(hears: Hears, *, unit_ms: int = 0) -> Script:
    """`unit_ms`: it hears in units, and must agree to configurations."""
    answer = (
        say(Routed("model"), after_ms=10),
        say(_piece(0), after_ms=60),
        say(Measured("first_token_ms", 60)),
        say(lambda work: Said(f"silent words of {work.operation}, "), after_ms=30),
        say(_piece(1), after_ms=60),
        say(_piece(2), after_ms=120, late=True),
        say(_end, last=True),
    )
    tail = (say(_piece(0), after_ms=20), say(_end, last=True))
    return Script(
        hears=hears,
        unit_ms=unit_ms,
        confirms_config=unit_ms > 0,
        replies=(
            Reply(to="configure", nth=3, refuses=Refusal(code="instructions_update_unsupported")),
            Reply(
                to="unit",
                steps=(say(_of_unit, after_ms=20), say(_unit_ends, after_ms=40, last=True, late=True)),
            ),
            Reply(to="speak", steps=answer),
            Reply(
                to="recognise",
                steps=(
                    say(Measured("recognise_ms", 40), after_ms=40),
                    say(lambda work: Heard(f"words up to {work.until_sample}"), last=True),  # type: ignore[union-attr]
                ),
            ),
            Reply(to="listen", steps=(say(_echo, after_ms=15, last=True),)),
            Reply(to="end_turn", steps=tail),
        ),
    )


def voice_script() -> Script:
    return Script(role="voice", replies=(Reply(to="listen", steps=(say(_scores, after_ms=5, last=True),)),))


# --- where they are ---------------------------------------------------------------------------------------


class FarStage:
    """One stage process."""

    def __init__(self, script: Script, name: str) -> None:
        self.engine = ScriptedEngine(script=script)
        self.engine.descriptor = replace(self.engine.descriptor, engine=name)  # else it is a random one
        self.posted: deque[Callable[[], None]] = deque()
        self.desk = StageDesk(self.engine, self.posted.append, clock=lambda: 0.0)

    def turn(self) -> None:
        self.posted.popleft()()


class Line:
    """A serving process's connection to a stage, with the same account of credits as link/serving_end.py."""

    def __init__(
        self, stage: FarStage, role: StageRole, heard: Callable[[StageRole, StageMessage], None]
    ) -> None:
        self.role, self.stage = role, stage
        self.queue = StageQueue(self._send)
        self.to_stage, self.to_server = bytearray(), bytearray()
        self.up = True
        self._heard = heard
        self._window: Window | None = None
        self._commands, self._messages = command_decoder(), message_decoder()
        self._peer = stage.desk.connect(self._said)

    def cut(self) -> None:
        """The connection is gone, with what was on its way."""
        self.up = False
        self.to_stage.clear()
        self.to_server.clear()
        self._peer.lost()

    def deliver_to_stage(self, size: int) -> None:
        chunk = bytes(self.to_stage[:size])
        del self.to_stage[:size]
        self._peer.take(self._commands.feed(chunk))

    def deliver_to_server(self, size: int) -> None:
        chunk = bytes(self.to_server[:size])
        del self.to_server[:size]
        for message in self._messages.feed(chunk):
            if isinstance(message, Output) and message.last and self._window is not None:
                self._window.ended(message.operation, message.number)
            elif isinstance(message, Closed | Refused):
                self._window = None
            self._heard(self.role, message)  # type: ignore[arg-type]  # a desk sends no greetings

    def _said(self, message: StageMessage) -> None:
        if self.up:
            self.to_server += encode([message])

    def _send(self, command: StageCommand) -> None:
        window = self._window
        match command:
            case Open(fence):
                self._window = window or Window(WINDOW)
                self._window.voided(fence.epoch)
            case Listen() | EndTurn() | Speak() if window is not None:
                epoch = command.fence.epoch if is_output_side(command, role=self.role) else None
                if not window.take(command.operation, epoch):
                    raise WindowFull("no credit")
            case Acknowledge(_, number) if window is not None:
                window.acknowledged(number)
            case Cancel(_, following) if window is not None:
                window.voided(following.epoch)
        if self.up:
            self.to_stage += encode([command])
