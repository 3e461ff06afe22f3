"""Between the core's effects and the stage contract: effects become stage commands, and what a stage says
becomes commands to the core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from antiphon.events.ids import Operation, Seq
from antiphon.events.store import Log
from antiphon.events.units import BYTES_PER_SAMPLE
from antiphon.events.vocabulary import Config

from .inputs import input_after, input_behind
from .past import past
from .session import commands, effects
from .session.question import Line, Piece
from .session.state import Session
from .stages import contract

MOST_SEEN = 8
LARGEST_SIGHT = 8 * 1024 * 1024
"""Images that one question shows the model, and their bytes: the newest."""

Send = Callable[[commands.StageRole, contract.StageCommand], None]


class InputWindow:
    """The input audio a stage may still ask for, so that the log need not be read for it."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, bytes]] = deque()

    def add(self, until: int, pcm: bytes) -> None:
        """Audio that does not follow what is here (some of it came to us by way of the log) begins anew."""
        if self._pieces and self._pieces[-1][0] != until - len(pcm) // 2:
            self._pieces.clear()
        self._pieces.append((until, pcm))

    def forget_before(self, sample: int) -> None:
        while self._pieces and self._pieces[0][0] <= sample:
            self._pieces.popleft()

    def cut(self, start: int, until: int) -> bytes | None:
        """PCM of [start, until), or None if it is not all here."""
        if not self._pieces:
            return None
        end, pcm = self._pieces[0]
        begins = end - len(pcm) // 2
        if start < begins or until > self._pieces[-1][0]:
            return None
        joined = b"".join(piece for end, piece in self._pieces if end > start)
        offset = next(end - len(piece) // 2 for end, piece in self._pieces if end > start)
        return joined[2 * (start - offset) : 2 * (until - offset)]


class StagePort:
    """Carries out one session's effects."""

    def __init__(self, log: Log, send: Send) -> None:
        self._log, self._send = log, send
        self.window = InputWindow()

    def perform(self, effect: effects.Effect, state: Session, payload: bytes | None) -> None:
        """Do what the effect asks. `payload` is the audio of the InputAppended it came from, if it did."""
        match effect:
            case effects.Hear(stage, operation, fence, until):
                pcm = payload or b""
                self._send(stage, contract.Listen(fence, operation, until, pcm))
            case effects.Recognise(operation, fence, start, until):
                pcm = self._audio(state, start, until)
                self._send("model", contract.Listen(fence, operation, until, pcm, whole=True))
            case effects.Answer():
                self._send("model", self._speak(state, effect))
            case effects.EndTurn(operation, fence):
                self._send("model", contract.EndTurn(fence, operation))
            case effects.SubmitUnit():
                self._send("model", self._unit(state, effect))
            case effects.ProposeConfig(fence, generation, config):
                self._send("model", contract.Configure(fence, generation, stage_config(config)))
            case effects.OpenStage(stage, fence, config, past_units):
                told = {} if config is None else stage_config(config)
                if past_units:
                    told["past_units"] = past(self._log, state.id, state.incarnation, past_units)
                self._send(stage, contract.Open(fence, state.writer_epoch, told))
            case effects.CloseStage(stage, fence, reason):
                self._send(stage, contract.Close(fence, reason))
            case effects.CancelStage(fence, following):
                self._send("model", contract.Cancel(fence, following))
            case effects.HearAgain():
                self._hear_again(state, effect)

    def _unit(self, state: Session, unit: effects.SubmitUnit) -> contract.Listen:
        start, until = unit.from_sample, unit.until_sample
        heard = self._audio(state, start, until) if start < until else b""
        return contract.Listen(
            unit.fence,
            unit.operation,
            until,
            heard + bytes(BYTES_PER_SAMPLE * unit.silence),
            images=tuple(self._image(state, seq) for seq in unit.images),
            final=unit.final,
            force_listen=unit.force_listen,
        )

    def _speak(self, state: Session, answer: effects.Answer) -> contract.Speak:
        turns: list[contract.Turn] = []
        seen, left = 0, LARGEST_SIGHT
        for line in reversed(answer.conversation):
            images: list[bytes] = []
            for seq in reversed(line.images):
                image = self._image(state, seq) if seen < MOST_SEEN and left > 0 else b""
                seen, left = seen + 1, left - len(image)
                if image and left >= 0:
                    images.append(image)
            pieces = tuple(self._piece(state, one) for one in line.pieces)
            turns.append(_turn(line, tuple(reversed(images)), pieces))
        return contract.Speak(
            answer.fence,
            answer.operation,
            tuple(reversed(turns)),
            answer.instructions,
            answer.voice,
            answer.max_output_tokens,
            answer.temperature,
            answer.modalities,
            answer.speed,
            answer.tools,
            answer.tool_choice,
            answer.verbatim,
            answer.sampling,
            answer.endpoint,
        )

    def _piece(self, state: Session, piece: Piece) -> contract.Piece:
        if piece.image is not None:
            return contract.Piece(image=self._image(state, piece.image), max_pixels=piece.max_pixels)
        if piece.from_sample < piece.until_sample:
            return contract.Piece(pcm=self._audio(state, piece.from_sample, piece.until_sample))
        return contract.Piece(text=piece.text)

    def _image(self, state: Session, seq: Seq) -> bytes:
        incarnation = state.incarnation
        stored = next(self._log.read(state.id, start=seq, stop=seq + 1, incarnation=incarnation))
        if stored.blob is None:
            return b""
        return self._log.read_blob(state.id, stored.blob, incarnation=incarnation)

    def _audio(self, state: Session, start: int, until: int) -> bytes:
        held = self.window.cut(start, until)
        if held is not None:
            return held
        parts: list[bytes] = []
        for piece in input_after(self._log, state.id, state.incarnation, start, state.seq + 1):
            begins, ends = piece.until_sample - piece.samples, piece.until_sample
            if begins >= until:
                break
            pcm = self._log.read_blob(state.id, piece.blob, incarnation=state.incarnation)
            parts.append(pcm[2 * max(start - begins, 0) : 2 * (min(until, ends) - begins)])
        return b"".join(parts)

    def _hear_again(self, state: Session, again: effects.HearAgain) -> None:
        had_back = input_behind if again.stage == "model" else input_after
        for piece in had_back(self._log, state.id, state.incarnation, again.after, again.before):
            pcm = self._log.read_blob(state.id, piece.blob, incarnation=state.incarnation)
            listen = contract.Listen(again.fence, Operation(piece.seq), piece.until_sample, pcm)
            self._send(again.stage, listen)


def _turn(line: Line, images: tuple[bytes, ...], pieces: tuple[contract.Piece, ...]) -> contract.Turn:
    return contract.Turn(
        role=line.role,
        text=line.text,
        images=images,
        pieces=pieces,
        calls=tuple(
            contract.Call(call.call_id or "", call.name or "", call.arguments or "") for call in line.calls
        ),
        call_id="" if line.call is None else line.call.call_id or "",
        name="" if line.call is None else line.call.name or "",
    )


def stage_config(config: Config) -> dict[str, Any]:
    """What of a configuration is the stage's to know."""
    return {
        "model": config.model,
        "instructions": config.instructions,
        "voice": config.voice,
        "modalities": list(config.output_modalities),
        "max_output_tokens": config.max_output_tokens,
        "temperature": config.temperature,
        "tools": list(config.tools),
        "tool_choice": config.tool_choice,
        "engine": config.engine,
        "sampling": config.sampling,
    }


def as_command(stage: commands.StageRole, message: contract.StageMessage) -> commands.Command | None:
    """What a stage said, as a command to the core. None: nothing the core needs to know."""
    match message:
        case contract.Output():
            if stage == "voice":
                return _score(message)
            build = _WORDS.get(type(message.body))
            return None if build is None else build(message, message.body)
        case contract.Opened(engine=engine):
            return commands.RecordStage(stage=stage, what="opened", engine=engine)
        case contract.Refused(code=code, message=text, retryable=retryable):
            return commands.RecordStage(
                stage=stage, what="refused", code=code, message=text, retryable=retryable
            )
        case contract.Closed():
            return commands.RecordStage(stage=stage, what="released")
        case contract.Configured(generation=generation):
            return commands.RecordStage(stage=stage, what="configured", generation=generation)
        case contract.ConfigRefused(generation=generation, code=code, message=text):
            return commands.RecordStage(
                stage=stage, what="config_refused", code=code, message=text, generation=generation
            )
        case _:
            return None


def _score(output: contract.Output) -> commands.Command | None:
    """A voice detector scores, or it is of no more use; what it had no room for stays without scores."""
    match output.body:
        case contract.Scored(until_sample=until, window=window, permille=permille):
            return commands.RecordScores(until_sample=until, window=window, permille=permille)
        case contract.Failed(code=code, message=text, retryable=False):
            return commands.RecordStage(stage="voice", what="refused", code=code, message=text)
        case _:
            return None


def _said(output: contract.Output, body: contract.Said) -> commands.Command:
    return commands.RecordSpeech(
        operation=output.operation,
        index=output.index,
        epoch=output.fence.epoch,
        last=output.last,
        text=body.text,
        pcm=body.pcm,
        image=body.image,
        tokens=body.tokens,
    )


def _word(build: Callable[..., commands.Command]) -> Callable[[contract.Output, Any], commands.Command]:
    """`build` with a body and the place of the word it is."""

    def word(output: contract.Output, body: contract.Body) -> commands.Command:
        return build(
            body,
            operation=output.operation,
            index=output.index,
            epoch=output.fence.epoch,
            last=output.last,
        )

    return word


_WORDS: dict[type, Callable[[contract.Output, Any], commands.Command]] = {
    contract.Said: _said,
    contract.Heard: _word(lambda body, **word: commands.RecordHeard(text=body.text, **word)),
    contract.Routed: _word(lambda body, **word: commands.RecordRoute(route=body.route, **word)),
    contract.Consumed: _word(
        lambda body, **word: commands.RecordConsumed(reason=body.reason, tokens=body.tokens, **word)
    ),
    contract.TurnEnded: _word(lambda body, **word: commands.RecordTurnEnd(**word)),
    contract.Called: _word(
        lambda body, **word: commands.RecordCall(
            call_id=body.call_id, name=body.name, arguments=body.arguments, **word
        )
    ),
    contract.Finished: _word(
        lambda body, **word: commands.RecordFinish(
            why=body.why,
            input_tokens=body.input_tokens,
            output_tokens=body.output_tokens,
            cached_tokens=body.cached_tokens,
            tokens=body.tokens,
            **word,
        )
    ),
    contract.Failed: _word(
        lambda body, **word: commands.RecordFailure(
            code=body.code, message=body.message, retryable=body.retryable, **word
        )
    ),
    contract.Measured: _word(
        lambda body, **word: commands.RecordMeasure(
            name=body.name, value_ms=body.value_ms, each_us=body.each_us, **word
        )
    ),
}
