"""One answer on its way out: words in, clauses with their sound out, in order, and what it took.

The words come from a lane and the sound is made on the voice's thread; an answer without audio needs no voice
and is delivered on the lane. In a spoken answer the text is what is spoken, without markup and pictures; in a
written one it is what was written. A written answer to a question that was put verbatim is not cut into
clauses: it is handed over as it comes.
"""

import time
from collections.abc import Callable

from antiphon.actors.stages.cascade.policy import NOTHING_TO_SAY, Clauses, is_audible, spoken
from antiphon.actors.stages.cascade.workers import Workers
from antiphon.actors.stages.cascade.writing import Stop, Written
from antiphon.actors.stages.contract import Body, Called, Emit, Failed, Finished, Measured, Said, Speak

LONGEST_ANSWER = 50_000
"""Characters: an hour of speech. A chat server that goes on and on is listened to for no longer."""

_FIRST, _LATER = 0, 1

Pronounce = Callable[[str, float], bytes]
"""From a clause, and how fast it is to be spoken (1: at the voice's own pace), to its PCM."""


class Delivery:
    """Hands an answer over; after `stop` it says nothing more."""

    def __init__(
        self,
        command: Speak,
        stop: Stop,
        asked_at: float,
        emit: Emit,
        pronounce: Pronounce | None,
        voice: Workers,
    ) -> None:
        self._command, self._stop, self._asked_at, self._emit = command, stop, asked_at, emit
        self._pronounce = pronounce if "audio" in command.modalities else None
        self._speed = command.speed or 1.0
        self._voice = voice
        self._clauses = Clauses()
        self._as_it_comes = command.verbatim and self._pronounce is None
        self._room = LONGEST_ANSWER
        self._urgency = _FIRST
        self._line_start, self._delivered = True, False
        self._first_token_ms: int | None = None
        self._first_audio_ms: int | None = None

    def take(self, token: str) -> bool:
        """The next words. True: no more are wanted."""
        if self._first_token_ms is None:
            self._first_token_ms = self._elapsed_ms()
        words = token[: self._room]
        for clause in [words] if self._as_it_comes else self._clauses.feed(words):
            self._deliver(clause)
        self._room = max(self._room - len(token), 0)
        return self._stop.is_set or not self._room

    def finish(self, written: Written | None = None) -> None:
        """The words have ended; the answer ends when the last of them is spoken."""
        written = written or Written()
        for clause in self._clauses.finish():
            # What was cut off in the middle is not worth saying, unless there is nothing else.
            if written.why != "cut" or not self._delivered:
                self._deliver(clause)
        self._in_order(lambda: self._close(written))

    def fail(self, failed: Failed) -> None:
        """No more words will come; what there was is still said."""
        self._in_order(lambda: self._say(failed, last=True))

    def _deliver(self, clause: str) -> None:
        self._delivered = True
        if self._pronounce is None:
            self._say(Said(text=clause))
            return
        text = spoken(clause, line_start=self._line_start)
        self._line_start = clause.endswith("\n")
        if text.strip():
            self._in_order(lambda: self._speak(text))

    def _in_order(self, work: Callable[[], None]) -> None:
        if self._pronounce is None:
            work()
        else:
            self._voice.submit(work, urgency=self._urgency)
            self._urgency = _LATER

    def _speak(self, text: str) -> None:
        if self._stop.is_set or self._pronounce is None:
            return
        try:
            pcm = self._pronounce(text.strip(), self._speed) if is_audible(text) else b""
        except Exception:
            self._say(Failed("engine_error", "the voice failed"), last=True)
            self._stop.set()
            raise
        self._say(Said(text=text, pcm=pcm))
        if pcm and self._first_audio_ms is None:
            self._first_audio_ms = self._elapsed_ms()

    def _close(self, written: Written) -> None:
        if self._pronounce is not None and self._first_audio_ms is None and not written.calls:
            self._speak(NOTHING_TO_SAY)
        if written.image:
            self._say(Said(image=written.image))
        for call in written.calls:
            self._say(Called(call.call_id, call.name, call.arguments))
        for name, value in (
            ("first_token_ms", self._first_token_ms),
            ("first_audio_ms", self._first_audio_ms),
        ):
            if value is not None:
                self._say(Measured(name, value))
        finished = Finished(
            "done" if written.why != "length" and self._room else "length",
            written.input_tokens,
            written.output_tokens,
            written.cached_tokens,
        )
        self._say(finished, last=True)

    def _say(self, body: Body, *, last: bool = False) -> None:
        if not self._stop.is_set:
            self._emit(self._command.fence, self._command.operation, body, last=last)

    def _elapsed_ms(self) -> int:
        return round((time.monotonic() - self._asked_at) * 1000)
