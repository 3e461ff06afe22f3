"""From a conversation to an answer, clause by clause.

A `Speak` waits for a lane, one of few threads that write: answers written at the same time slow each other
down, so a short queue gives everybody the first words sooner than many lanes do. Each clause goes to the
voice as soon as it is complete, and the next is written meanwhile. The voice takes first clauses before later
ones, because a listener waits for those; what it makes of later ones is far ahead of what can be played.
"""

import time
from collections.abc import Callable
from datetime import datetime

import structlog

from antiphon.actors.stages.cascade import intents
from antiphon.actors.stages.cascade.delivery import Delivery, Pronounce
from antiphon.actors.stages.cascade.occupied import Occupied
from antiphon.actors.stages.cascade.prompt import prompt
from antiphon.actors.stages.cascade.workers import Workers
from antiphon.actors.stages.cascade.writing import Request, Stop, Writer, WritingFailed
from antiphon.actors.stages.contract import Emit, Failed, Pending, Routed, Speak, Turn
from antiphon.events.ids import Fence, SessionId

log = structlog.get_logger()

_ANSWER, _PREPARATION = 0, 1
_FIRST, _LATER = 0, 1


class Answering:
    """Writes and speaks the answers of all sessions. Without `pronounce` they are text only."""

    def __init__(
        self,
        writer: Writer,
        pronounce: Pronounce | None,
        *,
        own_intents: bool,
        clock: Callable[[], datetime],
    ) -> None:
        self._writer = writer
        self._pronounce = pronounce
        self._own_intents = own_intents
        self._clock = clock
        self._lanes = Workers("lane", writer.lanes)
        self._voice = Workers("voice", 1)
        self._speaking: dict[SessionId, list[tuple[int, Stop]]] = {}
        self._occupied = Occupied(writer.forget)

    def start(self, emit: Emit) -> None:
        self._emit = emit
        self._lanes.start()
        self._voice.start()

    def prepare(self, session: SessionId) -> None:
        """Have the first answer come sooner. For what has time: it yields to every answer."""
        self._speaking[session] = []

        def have_it_read() -> None:
            with self._occupied.for_(session, lambda: session in self._speaking) as wanted:
                if wanted:
                    self._writer.prepare(session)

        self._lanes.submit(have_it_read, urgency=_PREPARATION)

    def speak(self, command: Speak) -> None:
        stop, asked_at = Stop(), time.monotonic()
        answers = self._speaking.setdefault(command.fence.session, [])
        answers[:] = [(epoch, other) for epoch, other in answers if not other.is_set]
        answers.append((command.fence.epoch, stop))
        self._lanes.submit(lambda: self._answer(command, stop, asked_at), urgency=_ANSWER)

    def cancel(self, next_fence: Fence) -> None:
        """Stop what belongs to epochs before `next_fence`, now or when it would begin."""
        for epoch, stop in self._speaking.get(next_fence.session, ()):
            if epoch < next_fence.epoch:
                stop.set()

    def close(self, session: SessionId) -> Pending:
        """Done when no lane is at work for the session any more: its slot is free for the next one then."""
        for _, stop in self._speaking.pop(session, ()):
            stop.set()
        return self._occupied.let_go(session)

    def stop(self) -> None:
        for answers in self._speaking.values():
            for _, stop in answers:
                stop.set()
        self._lanes.stop()
        self._voice.stop()
        self._writer.close()

    def _answer(self, command: Speak, stop: Stop, asked_at: float) -> None:
        with self._occupied.for_(command.fence.session, lambda: not stop.is_set) as wanted:
            if wanted:
                self._deliver(command, stop, asked_at)

    def _deliver(self, command: Speak, stop: Stop, asked_at: float) -> None:
        delivery = Delivery(command, stop, asked_at, self._emit, self._pronounce, self._voice)
        try:
            self._write(command, stop, delivery)
        except WritingFailed as failed:
            delivery.fail(Failed(failed.code, failed.message, failed.retryable))
        except Exception:
            log.exception("cascade.answer_failed", session=command.fence.session)
            delivery.fail(Failed("engine_error", "the answer could not be written"))

    def _write(self, command: Speak, stop: Stop, delivery: Delivery) -> None:
        intent = None if command.endpoint else intents.answer(command.conversation, self._clock())
        if intent and (self._own_intents or intent is intents.UNHEARD):
            self._emit(command.fence, command.operation, Routed(f"intent:{intent.name}"))
            delivery.take(intent.reply)
            delivery.finish()
            return
        self._emit(command.fence, command.operation, Routed("model"))
        request = Request(
            session=command.fence.session,
            messages=_messages(command, self._writer),
            max_tokens=command.max_output_tokens,
            temperature=command.temperature,
            tools=command.tools,
            tool_choice=command.tool_choice,
            sampling=command.sampling,
            endpoint=command.endpoint,
        )
        delivery.finish(self._writer.write(request, delivery.take, stop))


def _messages(command: Speak, writer: Writer) -> tuple[Turn, ...]:
    if not (command.verbatim and writer.takes_verbatim):
        return prompt(command.conversation, command.instructions, writer.room)
    system = Turn(role="system", text=command.instructions)
    return (system, *command.conversation) if command.instructions else command.conversation
